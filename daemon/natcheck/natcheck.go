package natcheck

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/natneg"
)

// MaxServers is the number of addresses of a server that are used: natneg1 to natneg3.
const MaxServers = 3

// The pace of each phase.
const (
	again = 400 * time.Millisecond // after which unanswered packets are sent again
	tries = 6
)

// ErrNoAnswer reports that the first address of the server did not answer.
var ErrNoAnswer = errors.New("no answer")

// Net opens sockets.
type Net interface {
	// Open opens a socket. recv takes its datagrams; it must not keep data, and may be
	// called concurrently.
	Open(ctx context.Context, recv func(data []byte, from netip.AddrPort)) (Socket, error)
}

// Socket is an open socket. Its methods may be called concurrently.
type Socket interface {
	Addr() netip.AddrPort // of this computer, towards the server
	Send(data []byte, to netip.AddrPort)
	Close()
}

// Answer is how the test of a property went.
type Answer string

// The answers.
const (
	Yes       Answer = "yes"
	No        Answer = "no"
	NotTested Answer = "not tested"
)

// Mapping is the public port of one socket towards several partners.
type Mapping string

// The mappings.
const (
	MapsNothing    Mapping = "none"         // the public address and port are the computer's own
	MapsOnce       Mapping = "one port"     // for all partners that were tested
	MapsEach       Mapping = "each its own" // another port, or address, for each partner
	MappingUnknown Mapping = "not tested"   // there was one partner
)

// Filter is the kind of senders whose packets a router lets in.
type Filter string

// The filters.
const (
	LetsAllIn       Filter = "all"                    // an address that was never written to
	LetsAddressesIn Filter = "known addresses"        // another port of an address that was written to
	LetsPortsIn     Filter = "known ports"            // only answers
	LetsAtLeast     Filter = "known addresses or all" // the server has no other address to test it from
	FilterUnknown   Filter = "not tested"
)

// Seen is where an address of the server sees the first socket.
type Seen struct {
	From netip.AddrPort `json:"server"`
	At   netip.AddrPort `json:"seen"`
}

// Report holds the findings.
type Report struct {
	Local      netip.AddrPort `json:"local"`  // of the first socket
	Public     netip.AddrPort `json:"public"` // where natneg1 sees it
	Seen       []Seen         `json:"seen_from"`
	Translated bool           `json:"address_translation"`
	Mapping    Mapping        `json:"mapping"`
	Step       int            `json:"port_step,omitempty"` // from one partner to the next, if it is steady
	Addresses  int            `json:"public_addresses"`
	Filter     Filter         `json:"lets_in"`
	KeepsPort  bool           `json:"keeps_port"`
	Hairpin    Answer         `json:"hairpin"`
	Carrier    bool           `json:"carrier_address"` // the public address is one of a provider's own network
	Router     meeting.Router `json:"router"`
	CannotTell []string       `json:"cannot_tell,omitempty"` // with this server, in words
}

// run is a test under way.
type run struct {
	first, second Socket
	in            chan packet
	report        *Report
	abilities     natneg.Abilities
	able          bool // abilities are known
}

// packet is a datagram that came to one of the sockets.
type packet struct {
	second bool
	from   netip.AddrPort
	data   []byte
}

// maxIn bounds the datagrams that wait to be read; more are lost, as on the network.
const maxIn = 64

// Run tests with the addresses of a server, natneg1 first; equal ones count once. The
// error is ErrNoAnswer, that of ctx or of net.
func Run(ctx context.Context, net Net, servers []netip.AddrPort) (Report, error) {
	servers = distinct(servers)
	r := run{in: make(chan packet, maxIn), report: &Report{Hairpin: NotTested}}
	take := func(second bool) func([]byte, netip.AddrPort) {
		return func(data []byte, from netip.AddrPort) {
			select {
			case r.in <- packet{second, from, slices.Clone(data)}:
			default:
			}
		}
	}
	var err error
	if r.first, err = net.Open(ctx, take(false)); err != nil {
		return Report{}, err
	}
	defer r.first.Close()
	if r.second, err = net.Open(ctx, take(true)); err != nil {
		return Report{}, err
	}
	defer r.second.Close()
	r.report.Local = r.first.Addr()
	for _, phase := range []func(context.Context, []netip.AddrPort) error{r.reach, r.maps, r.filter, r.hairpin} {
		if err := phase(ctx, servers); err != nil {
			return Report{}, err
		}
	}
	r.report.conclude()
	return *r.report, nil
}

// distinct returns the first addresses without repetitions.
func distinct(servers []netip.AddrPort) (out []netip.AddrPort) {
	for _, s := range servers {
		if !slices.Contains(out, s) && len(out) < MaxServers {
			out = append(out, s)
		}
	}
	return out
}

// exchange repeats unanswered requests until take has returned true or all
// tries are over; done reports which it was.
func (r *run) exchange(ctx context.Context, send func(), take func(packet) bool) (done bool, err error) {
	for range tries {
		send()
		next := time.After(again)
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return false, context.Cause(ctx)
			case <-next:
				waiting = false
			case p := <-r.in:
				if take(p) {
					return true, nil
				}
			}
		}
	}
	return false, nil
}

// version of the protocol in which is asked: the first with all tests.
const version = 3

// check is an address check. The cookie distinguishes the answers.
func check(cookie uint32) []byte {
	h := natneg.Header{Version: version, Type: natneg.TypeAddressCheck, Cookie: cookie}
	return natneg.Check{Test: natneg.Test{PortType: natneg.PortNN1}}.AppendMarkedTo(h.AppendTo(nil))
}

// replied reads the answer to an address check.
func replied(p packet) (cookie uint32, seen netip.AddrPort, body []byte, ok bool) {
	h, body, err := natneg.ParseHeader(p.data)
	if err != nil || h.Type != natneg.TypeAddressReply {
		return 0, seen, nil, false
	}
	a, ok := natneg.ParseAddressReply(body)
	return h.Cookie, a.Seen, body, ok && a.Seen.Port() != 0
}

// reach asks natneg1 for the public address.
func (r *run) reach(ctx context.Context, servers []netip.AddrPort) error {
	if len(servers) == 0 {
		return ErrNoAnswer
	}
	done, err := r.exchange(ctx, func() { r.first.Send(check(0), servers[0]) }, func(p packet) bool {
		cookie, seen, body, ok := replied(p)
		if !ok || cookie != 0 || p.second {
			return false
		}
		r.report.Public = seen
		r.report.Seen = []Seen{{servers[0], seen}}
		r.abilities, r.able = natneg.ParseAbilities(body)
		return true
	})
	if err == nil && !done {
		err = fmt.Errorf("%w from UDP %s", ErrNoAnswer, servers[0])
	}
	return err
}

// maps asks the other addresses, and the second port of the first, for the public
// address of the same socket.
func (r *run) maps(ctx context.Context, servers []netip.AddrPort) error {
	asked := slices.Clone(servers)
	if r.abilities.Second != 0 {
		asked = append(asked, netip.AddrPortFrom(servers[0].Addr(), r.abilities.Second))
	}
	seen := make([]netip.AddrPort, len(asked))
	missing := len(asked) - 1
	if missing == 0 {
		return nil
	}
	_, err := r.exchange(ctx, func() {
		for i := 1; i < len(asked); i++ {
			if !seen[i].IsValid() {
				r.first.Send(check(uint32(i)), asked[i])
			}
		}
	}, func(p packet) bool {
		cookie, at, _, ok := replied(p)
		if ok && !p.second && cookie > 0 && int(cookie) < len(asked) && !seen[cookie].IsValid() {
			seen[cookie] = at
			missing--
		}
		return missing == 0
	})
	for i, at := range seen[1:] {
		if at.IsValid() {
			r.report.Seen = append(r.report.Seen, Seen{asked[i+1], at})
		}
	}
	return err
}

// natTest asks for a NAT test; 777 is the cookie of all of them.
func natTest(t natneg.PortType) []byte {
	h := natneg.Header{Version: version, Type: natneg.TypeNATTest, Cookie: 777}
	return natneg.Check{Test: natneg.Test{PortType: t}}.AppendTo(h.AppendTo(nil))
}

// filter asks natneg1 for the three NAT tests on the second socket, which writes to no
// other address.
func (r *run) filter(ctx context.Context, servers []netip.AddrPort) error {
	var got [natneg.PortNN3 + 1]bool
	over := func() bool {
		return got[natneg.PortNN1] && (got[natneg.PortNN2] || r.able && !r.abilities.FarAddress) && (got[natneg.PortNN3] || r.able && !r.abilities.AnotherPort)
	}
	_, err := r.exchange(ctx, func() {
		// Test 3 comes first: it shows the server which address counts as natneg2.
		for _, t := range []natneg.PortType{natneg.PortNN3, natneg.PortNN2, natneg.PortNN1} {
			if !got[t] {
				r.second.Send(natTest(t), servers[0])
			}
		}
	}, func(p packet) bool {
		h, body, err := natneg.ParseHeader(p.data)
		t, ok := natneg.ParseTest(body)
		if err == nil && ok && p.second && h.Type == natneg.TypeTest && t.PortType <= natneg.PortNN3 && r.honest(t.PortType, p.from, servers[0]) {
			got[t.PortType] = true
		}
		return over()
	})
	r.report.Filter = r.filterOf(got[natneg.PortNN1], got[natneg.PortNN2], got[natneg.PortNN3])
	return err
}

// honest reports whether the answer to a test comes from where it proves something: a server that
// is configured to answer test 2 nevertheless does so from its only address.
func (r *run) honest(t natneg.PortType, from, server netip.AddrPort) bool {
	switch t {
	case natneg.PortNN2:
		return from.Addr() != server.Addr()
	case natneg.PortNN3:
		return from != server
	default:
		return true
	}
}

// filterOf returns the filter by the tests that were answered.
func (r *run) filterOf(near, far, port bool) Filter {
	switch {
	case far:
		return LetsAllIn
	case port && !r.abilities.FarAddress:
		return LetsAtLeast
	case port:
		return LetsAddressesIn
	case !near || !r.able || !r.abilities.AnotherPort:
		return FilterUnknown
	default:
		return LetsPortsIn
	}
}

// hairpinWord begins the datagrams that a computer sends to its own public address.
const hairpinWord = "respawnd hairpin"

// hairpin sends from each socket to the public address of the other, as two players
// behind one router do: the first packets open the way for the next.
func (r *run) hairpin(ctx context.Context, servers []netip.AddrPort) error {
	if r.report.Public.Addr() == r.report.Local.Addr() {
		return nil // no router
	}
	var other netip.AddrPort
	r.report.Hairpin = No
	_, err := r.exchange(ctx, func() {
		r.second.Send([]byte(hairpinWord), r.report.Public)
		if other.IsValid() {
			r.first.Send([]byte(hairpinWord), other)
		} else {
			r.second.Send(check(0), servers[0])
		}
	}, func(p packet) bool {
		if cookie, seen, _, ok := replied(p); ok && cookie == 0 && p.second {
			other = seen
		}
		if string(p.data) == hairpinWord {
			r.report.Hairpin = Yes
		}
		return r.report.Hairpin == Yes
	})
	return err
}
