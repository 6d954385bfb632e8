package zanmaster

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Visibility says what happens to servers that do not enforce the ban list.
type Visibility uint8

// The visibilities.
const (
	Hide Visibility = iota // they are in no list at all; what the original does
	Show                   // they are listed like the others
	Mark                   // they are listed, and their record has a warning
)

// ParseVisibility returns the visibility for "hide", "show" or "mark".
func ParseVisibility(word string) (Visibility, error) {
	for _, v := range []Visibility{Hide, Show, Mark} {
		if v.String() == word {
			return v, nil
		}
	}
	return Hide, fmt.Errorf("%.20q is not hide, show or mark", word)
}

// String returns the word for v.
func (v Visibility) String() string {
	switch v {
	case Show:
		return "show"
	case Mark:
		return "mark"
	default:
		return "hide"
	}
}

// Defaults and bounds of Policy.
const (
	DefaultTimeout        = 70 * time.Second
	DefaultMaxPending     = 8192
	DefaultServersPerAddr = 10
	DefaultListWindow     = 10 * time.Second
	DefaultListsPerNet    = 256
	DefaultListsTotal     = 2000
)

// Policy is what an operator may change while the Server runs. Zero values
// mean the defaults.
type Policy struct {
	// NotEnforcing says what happens to servers that do not enforce the ban list.
	NotEnforcing Visibility
	// ServersPerAddr bounds the servers of an address that is not in
	// multiserver_whitelist.txt; 0: DefaultServersPerAddr, negative: no bound but
	// the registry's.
	ServersPerAddr int
	// Timeout is the silence after which a server leaves; 0: DefaultTimeout.
	// Servers send every 30 s.
	Timeout time.Duration
	// MaxPending bounds the servers that are being verified; 0:
	// DefaultMaxPending. When it is reached, others make room as package unproved
	// says, and are counted as dropped.
	MaxPending int

	// NoOldList leaves requests for the old form of the list unanswered.
	NoOldList bool
	// ListWindow is how long a launcher's address waits for its next list; 0:
	// DefaultListWindow, negative: it does not.
	ListWindow time.Duration
	// ListsPerNet is how many lists a /24 gets at once, and again over ten seconds; 0:
	// DefaultListsPerNet, negative: no bound.
	ListsPerNet int
	// ListsTotal bounds the lists in ten seconds to all addresses that have proved
	// nothing, which may be forged; 0: DefaultListsTotal, negative: no bound. An
	// address from which a server is listed has proved itself, and so has a trusted
	// one.
	ListsTotal int

	// AdvertiseAs is the address under which servers with a private or loopback
	// address are listed to everybody, with their own port; the zero Addr: under
	// their own, and Options.Addresses decides which one a launcher is given.
	AdvertiseAs netip.Addr
	// AllowServers and AllowLaunchers are the networks that may be listed and may
	// ask for the list; empty: everybody.
	AllowServers, AllowLaunchers []netip.Prefix

	// Unproved bounds the verification requests per address that are longer than
	// the challenge that asked for them, and the answers to an address that is
	// banned; nil: no bound.
	Unproved *netserve.Limiter
	// Trusted tells which addresses no bound per address binds; nil: none.
	Trusted func(netip.Addr) bool
}

func (p *Policy) withDefaults() *Policy {
	q := *p
	if q.ServersPerAddr == 0 {
		q.ServersPerAddr = DefaultServersPerAddr
	}
	if q.Timeout <= 0 {
		q.Timeout = DefaultTimeout
	}
	if q.MaxPending <= 0 {
		q.MaxPending = DefaultMaxPending
	}
	if q.ListWindow == 0 {
		q.ListWindow = DefaultListWindow
	}
	if q.ListsPerNet == 0 {
		q.ListsPerNet = DefaultListsPerNet
	}
	if q.ListsTotal == 0 {
		q.ListsTotal = DefaultListsTotal
	}
	q.AdvertiseAs = q.AdvertiseAs.Unmap()
	return &q
}

func (p *Policy) trusts(a netip.Addr) bool { return p.Trusted != nil && p.Trusted(a) }

// shows reports whether a server is listed.
func (p *Policy) shows(enforces bool) bool { return enforces || p.NotEnforcing != Hide }

// public returns the address under which a server is listed.
func (p *Policy) public(source netip.AddrPort) netip.AddrPort {
	if a := source.Addr(); p.AdvertiseAs.Is4() && (a.IsPrivate() || a.IsLoopback()) {
		return netip.AddrPortFrom(p.AdvertiseAs, source.Port())
	}
	return source
}
