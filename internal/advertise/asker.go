package advertise

import (
	"net/netip"
	"slices"

	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/master"
)

// Asker is the network position of a client. Equal Askers get the same
// addresses, so that lists can be shared between them. The zero Asker gets
// every address unchanged.
type Asker struct {
	facts    *facts
	loopback bool       // on this machine
	trial    bool       // a self-test
	here     netip.Addr // our address on the asker's network; zero: not on one of ours
	private  bool       // the asker's address there is private
	nets     [2]network // private networks of the asker
}

// network is a private network of an asker. The zero network is none.
type network struct {
	prefix netip.Prefix
	ruled  bool // prefix is that of a rule
}

// nearBits is the assumed prefix length of a network without a rule: an asker
// and a server whose private addresses agree in so many bits are on one
// network.
const nearBits = 24

// Outside returns the Asker of clients that are on no network of ours.
func (t *Table) Outside() Asker {
	if t == nil {
		return Asker{}
	}
	return Asker{facts: t.now.Load()}
}

// Asker returns the Asker for a source address, for answers without the local
// addresses of servers. Sources in private networks without servers count as
// outside, so that forged sources do not multiply cached answers.
func (t *Table) Asker(source netip.Addr) Asker {
	a := t.Browser(source, netip.Addr{})
	for i, n := range a.nets {
		if a.here.IsValid() || !n.ruled && n.prefix.IsValid() && !t.registry.Near(n.prefix.Addr()) {
			a.nets[i] = network{}
		}
	}
	return a
}

// Browser returns the Asker for a source address and the address named in the
// request, zero if there is none. A client on this machine that names an
// address asks on behalf of another machine.
func (t *Table) Browser(source, named netip.Addr) Asker {
	if t == nil {
		return Asker{}
	}
	f := t.now.Load()
	source, named = source.Unmap(), named.Unmap()
	named = usable(named)
	if source.IsLoopback() {
		if !named.IsValid() || named.IsLoopback() {
			return Asker{facts: f, loopback: true, trial: master.IsTrial(source)}
		}
		source = netip.Addr{}
	}
	a := Asker{facts: f}
	for i, at := range [...]netip.Addr{named, source} {
		a.nets[i] = f.network(at)
	}
	for _, at := range [...]netip.Addr{source, named} {
		if here := hostnet.For(at, f.own); here.IsValid() {
			a.here, a.private = here, master.IsPrivate(at)
			break
		}
	}
	return a
}

// usable returns an IPv4 address that a machine can have, else the zero one.
func usable(a netip.Addr) netip.Addr {
	if !a.Is4() || a.IsUnspecified() || a.IsMulticast() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return netip.Addr{}
	}
	return a
}

// network returns the private network of an address: the narrowest of ours, that
// of a rule, or the next 256 addresses.
func (f *facts) network(a netip.Addr) network {
	if !master.IsPrivate(a) || a.IsLoopback() {
		return network{}
	}
	if here := hostnet.For(a, f.own); here.IsValid() {
		for _, own := range f.own {
			if own.Addr() == here && own.Prefix.Contains(a) {
				return network{prefix: own.Prefix.Masked()}
			}
		}
	}
	if r, ok := f.rule(a); ok && r.From.IsValid() {
		return network{r.From, true}
	}
	near, _ := a.Prefix(nearBits)
	return network{prefix: near}
}

// Given returns the address that the asker gets for the public address of a
// server. The port stays.
func (a Asker) Given(public netip.AddrPort) netip.AddrPort {
	at := public.Addr()
	if a.facts == nil || a.loopback || !master.IsPrivate(at) {
		return public
	}
	switch {
	case a.here.IsValid() && at.IsLoopback():
		return netip.AddrPortFrom(a.here, public.Port())
	case !at.IsLoopback() && (a.private || a.near(at)):
		return public
	}
	if r, ok := a.facts.rule(at); ok {
		return netip.AddrPortFrom(r.As, public.Port())
	}
	return public
}

// near reports whether a private server is on a network of the asker.
func (a Asker) near(server netip.Addr) bool {
	for _, n := range a.nets {
		if !n.prefix.Contains(server) {
			continue
		}
		if r, ok := a.facts.rule(server); !ok || !r.From.IsValid() || !n.ruled || r.From == n.prefix {
			return true // no rule sets the server apart
		}
	}
	return false
}

// Local returns the local address of a server that the asker most likely
// reaches: one in the asker's network, else the first; ok is false if there is
// none. Loopback addresses are for askers on this machine only.
func (a Asker) Local(local []netip.AddrPort) (at netip.AddrPort, ok bool) {
	for _, n := range a.nets {
		for _, at := range local {
			if n.prefix.Contains(at.Addr()) {
				return at, true
			}
		}
	}
	for _, at := range local {
		if usable(at.Addr()).IsValid() && (a.facts == nil || a.loopback || !at.Addr().IsLoopback()) {
			return at, true
		}
	}
	return netip.AddrPort{}, false
}

// Find returns the listed server that an asker means by an address: the one
// listed under it, else a private one for which Given returns it to this asker
// or to an asker outside.
func (a Asker) Find(r *master.Registry, asked netip.AddrPort) (*master.Server, bool) {
	r = a.In(r)
	if s, ok := r.Find(asked); ok || a.facts == nil {
		return s, ok
	}
	list := r.PrivateOn(asked.Port())
	for _, who := range [...]Asker{a, {facts: a.facts}} {
		i := slices.IndexFunc(list, func(s *master.Server) bool { return who.Given(s.Public) == asked })
		if i >= 0 {
			return list[i], true
		}
	}
	return nil, false
}

// Outside returns the Asker, under the same rules, of clients that are on no
// network of ours; a self-test remains one.
func (a Asker) Outside() Asker { return Asker{facts: a.facts, trial: a.trial} }

// IsTrial reports whether the asker is a self-test. Everything that it is shown comes from
// the list of In.
func (a Asker) IsTrial() bool { return a.trial }

// In returns the list in which the asker finds servers: r, or for a self-test the one of
// such servers.
func (a Asker) In(r *master.Registry) *master.Registry {
	if a.trial {
		return r.Trials()
	}
	return r
}
