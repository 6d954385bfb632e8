package probe

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/wake"
	"github.com/respawnd/respawnd/master"
)

// Times and bounds of name resolution.
const (
	// LookupEvery is the interval at which host names are resolved again.
	LookupEvery = 5 * time.Minute

	retryEvery    = 30 * time.Second // names that could not be resolved
	shareEvery    = 2 * time.Second  // looks at the servers that other nodes list
	unlistedFor   = 2 * time.Minute  // after which a server of another node is queried here, too
	lookupTime    = 5 * time.Second
	lookupsAtOnce = 8
)

// Named is a server that an operator named.
type Named struct {
	Protocol Protocol
	Address  string // host:port; the host may be a name
	Game     string // under which it is listed; empty: the server names it
}

// Lookup returns the addresses of a host; Resolver.LookupNetIP of package net
// does, asked for "ip4".
type Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

// Share shares out the servers among the nodes of a cluster. Its methods may be called
// concurrently.
type Share interface {
	// Mine reports whether this node queries the server named with an address.
	Mine(address string) bool
	// Changed returns a channel that is closed when results of Mine may have changed.
	Changed() <-chan struct{}
}

// Statics watches the servers that an operator named, under origin static. It
// resolves the names of their hosts regularly in a goroutine of its own. All
// methods may be called concurrently.
//
// In a cluster each server is queried by one node. The one that did so before continues
// until another lists the server, so that it stays in the lists. One that none lists for
// unlistedFor is queried by every node that knows it: the configuration of the node that
// should do so may lack it.
type Statics struct {
	prober *Prober
	share  Share // nil: this node is alone
	lookup Lookup
	log    zerolog.Logger
	wake   chan struct{} // of capacity 1

	mu       sync.Mutex // guards the fields below
	named    []Named
	resolved map[string]netip.Addr        // by host name; zero: no address
	refused  map[netip.AddrPort]string    // servers that are not queried, with the logged reason
	absent   map[netip.AddrPort]time.Time // servers of other nodes that none lists: since when
}

// NewStatics returns Statics without servers. A nil Share is that of a node that is
// alone.
func NewStatics(p *Prober, lookup Lookup, share Share, log zerolog.Logger) *Statics {
	return &Statics{
		prober: p, lookup: lookup, share: share, log: log, wake: make(chan struct{}, 1),
		resolved: make(map[string]netip.Addr), absent: make(map[netip.AddrPort]time.Time),
	}
}

// Set replaces the servers. Those with an address are watched at once, those
// with a name as soon as Run has resolved it.
func (s *Statics) Set(list []Named) {
	s.mu.Lock()
	s.named = slices.Clone(list)
	s.apply()
	s.mu.Unlock()
	wake.Up(s.wake)
}

// Run resolves names until ctx ends.
func (s *Statics) Run(ctx context.Context) {
	tick := time.NewTicker(retryEvery)
	defer tick.Stop()
	last := time.Now()
	var shared <-chan time.Time
	if s.share != nil {
		t := time.NewTicker(shareEvery)
		defer t.Stop()
		shared = t.C
	}
	for {
		again := false
		var changed <-chan struct{}
		if s.share != nil {
			changed = s.share.Changed()
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
			s.reapply()
			continue
		case <-shared:
			s.reapply()
			continue
		case <-s.wake:
		case now := <-tick.C:
			if again = now.Sub(last) >= LookupEvery; again {
				last = now
			}
		}
		s.look(ctx, again)
	}
}

// reapply shares out the servers again.
func (s *Statics) reapply() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apply()
}

// here reports whether this node queries a server now; watched, whether it did so far.
// s.mu is held.
func (s *Statics) here(n Named, at netip.AddrPort, watched bool, now time.Time) bool {
	if s.share == nil || s.share.Mine(n.Address) {
		delete(s.absent, at)
		return true
	}
	if old, listed := s.prober.opt.Registry.AtAny(at); listed && old.Node != "" {
		delete(s.absent, at)
		return false
	}
	since, known := s.absent[at]
	if !known {
		since = now
		s.absent[at] = now
	}
	return watched || now.Sub(since) >= unlistedFor
}

// look resolves the names without an address, or all of them again.
func (s *Statics) look(ctx context.Context, again bool) {
	var g errgroup.Group
	g.SetLimit(lookupsAtOnce)
	for _, host := range s.hosts(again) {
		g.Go(func() error { s.resolve(ctx, host); return nil })
	}
	_ = g.Wait() // none of them returns an error
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apply()
}

// hosts returns the names to resolve, and drops those that are no longer used.
func (s *Statics) hosts(again bool) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := make(map[string]bool)
	var list []string
	for _, n := range s.named {
		host, _, _ := net.SplitHostPort(n.Address)
		if _, err := netip.ParseAddr(host); err == nil || wanted[host] {
			continue
		}
		wanted[host] = true
		if a := s.resolved[host]; again || !a.IsValid() {
			list = append(list, host)
		}
	}
	for host := range s.resolved {
		if !wanted[host] {
			delete(s.resolved, host)
		}
	}
	return list
}

// resolve resolves one name. The present address is kept if the name still has
// it, else the first one is used. After an error nothing changes.
func (s *Statics) resolve(ctx context.Context, host string) {
	bounded, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	found, err := s.lookup(bounded, host)
	for i := range found {
		found[i] = found[i].Unmap()
	}
	found = slices.DeleteFunc(found, func(a netip.Addr) bool { return !a.Is4() })
	if err == nil && len(found) == 0 {
		err = errNoAddress
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, known := s.resolved[host]
	if err != nil {
		if ctx.Err() == nil && (!known || old.IsValid()) {
			s.log.Warn().Str("host", host).Err(err).Msg("the name of a game server's host cannot be looked up")
		}
		if !known {
			s.resolved[host] = netip.Addr{}
		}
		return
	}
	if !slices.Contains(found, old) {
		slices.SortFunc(found, netip.Addr.Compare)
		s.resolved[host] = found[0]
		s.log.Info().Str("host", host).Stringer("address", found[0]).Msg("looked up the host of a game server")
	}
}

var errNoAddress = errors.New("it has no IPv4 address")

// address returns the address of a server; ok is false if it is unknown.
func (s *Statics) address(n Named) (a netip.AddrPort, ok bool) {
	host, text, err := net.SplitHostPort(n.Address)
	port, errPort := strconv.ParseUint(text, 10, 16)
	if err != nil || errPort != nil {
		return a, false
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		ip = s.resolved[host]
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(port)), ip.IsValid()
}

// State is the state of a server that an operator named.
type State struct {
	Address string         // as the operator wrote it
	At      netip.AddrPort // zero: its host name has no address yet
	Answers bool           // it answered the last query
	Why     string         // reason for which it is not listed; empty: listed, or unknown
}

// States returns the states of the servers, in the order of Set.
func (s *Statics) States() []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]State, 0, len(s.named))
	for _, n := range s.named {
		st := State{Address: n.Address}
		at, ok := s.address(n)
		switch reason, refused := s.refused[at]; {
		case !ok:
			st.Why = "the name of its host has no IPv4 address here"
		case refused:
			st.At, st.Why = at, reason
		default:
			st.At = at
			st.Answers, st.Why = s.prober.stateOf(at)
		}
		list = append(list, st)
	}
	return list
}

// stateOf returns whether a server answered the last query, and the reason for
// which it is not in the list, if known.
func (p *Prober) stateOf(a netip.AddrPort) (answers bool, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.table.targets[a]
	if t == nil || t.protocol() == 0 {
		if srv, listed := p.opt.Registry.AtAny(a); listed && srv.Node != "" {
			return true, ""
		}
	}
	if p.bans(a.Addr()) && (t == nil || t.owner == nil) {
		return false, verdicts.Banned.String()
	}
	if t == nil || t.asked.IsZero() {
		return false, "not asked yet"
	}
	if t.listed == "" && t.owner == nil && t.noted {
		why = t.verdict.String()
	}
	return t.answered && !t.denied, why
}

// apply watches the named servers, and no others. s.mu is held.
func (s *Statics) apply() {
	watched, now := s.prober.Watched(master.Static), time.Now()
	asked := make(map[netip.AddrPort]bool, len(watched))
	for _, old := range watched {
		asked[old.Address] = true
	}
	want, named := make(map[netip.AddrPort]Target, len(s.named)), make(map[netip.AddrPort]bool, len(s.named))
	for _, n := range s.named {
		a, ok := s.address(n)
		if !ok {
			continue
		}
		named[a] = true
		if s.here(n, a, asked[a], now) {
			want[a] = Target{Address: a, Protocol: n.Protocol, Game: n.Game, Origin: master.Static}
		}
	}
	maps.DeleteFunc(s.absent, func(a netip.AddrPort, _ time.Time) bool { return !named[a] })
	for _, old := range watched {
		if next, ok := want[old.Address]; !ok {
			s.prober.Unwatch(old.Address, master.Static)
		} else if next == old {
			delete(want, old.Address)
		}
	}
	refused := make(map[netip.AddrPort]string)
	for _, t := range want {
		err := s.prober.Watch(t)
		if err == nil {
			continue
		}
		refused[t.Address] = err.Error()
		if s.refused[t.Address] == err.Error() {
			continue // logged once only
		}
		s.log.Warn().Stringer("address", t.Address).Err(err).Msg("a game server that was named is not asked")
		s.prober.opt.Verdicts.Note(serviceName, t.Address, t.Game, verdicts.NeverAsked)
	}
	s.refused = refused
}
