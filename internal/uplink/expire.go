package uplink

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

const (
	// TickEvery is the interval of expiry and of questions to restored servers.
	TickEvery = time.Second
	// checkEvery is the interval of the comparison with the list of servers.
	checkEvery = 10 * time.Second
	// greetAtOnce is the number of restored servers that are asked in one tick.
	greetAtOnce = 500
	// GreetTimes is how often each is waited for, ListedLife long.
	GreetTimes = 3
)

// restored is a server of the saved list that is to be asked.
type restored struct {
	addr  netip.AddrPort
	via   netip.Addr
	about string
}

// adopt begins to count the servers of the saved list, and returns them.
func (k *Keeper) adopt() (list []restored) {
	for _, srv := range k.opt.Registry.All() {
		if srv.Origin != k.opt.Origin || srv.Node != "" {
			continue
		}
		unknown := srv.Game
		if _, known := k.opt.Games.Lookup(srv.Game); known {
			unknown = ""
		}
		k.mu.Lock()
		k.hosts.add(srv.Public, unknown)
		k.mu.Unlock()
		list = append(list, restored{srv.Public, srv.Via, k.about(srv.Server)})
	}
	return list
}

// Greeting asks the servers of the saved list, a part of them in each tick.
type Greeting struct {
	keeper *Keeper
	list   []restored
	w      netserve.PacketWriter
	next   int // into list
	times  int
	again  time.Time // when the list begins again
}

// Greet begins to count the servers of the saved list, which are asked through w.
func (k *Keeper) Greet(w netserve.PacketWriter) *Greeting {
	return &Greeting{keeper: k, list: k.adopt(), w: w}
}

// Step asks the next servers.
func (g *Greeting) Step(now time.Time) {
	k := g.keeper
	if g.times >= GreetTimes || now.Before(g.again) {
		return
	}
	for range greetAtOnce {
		if g.next == len(g.list) {
			g.next, g.again = 0, now.Add(ListedLife)
			if g.times++; g.times >= GreetTimes {
				g.list = nil
			}
			return
		}
		r := g.list[g.next]
		g.next++
		if srv, ok := k.opt.Registry.Get(k.KeyOf(r.addr)); ok && srv.Restored && !k.opt.Banned.Has(r.addr.Addr()) {
			k.Challenge(g.w, 0, r.addr, r.via, r.about, now)
		}
	}
}

// Expire is called by Run: it queries silent servers again, removes those
// that did not answer at all, and notes the others that did not answer. w is that of the
// first port.
func (k *Keeper) Expire(w netserve.PacketWriter, now time.Time) {
	k.mu.Lock()
	gone, again := k.hosts.expire(now)
	k.mu.Unlock()
	for _, q := range again {
		k.ask(k.way(w, q.Of.port), &q, now)
	}
	for _, v := range gone {
		srv, ok := k.opt.Registry.Get(k.KeyOf(v.Source))
		switch {
		case !ok:
			k.note(v.Source, "", verdicts.NoAnswer)
		case srv.Restored: // it has until the end of master.restore_for
		case k.opt.Registry.Remove(srv.Key):
			k.left(srv, verdicts.Expired)
		}
	}
}

// Check is called by Run: it forgets the servers that left the list, and removes those that may no
// longer be in it: of banned addresses, and of games that are no longer allowed.
func (k *Keeper) Check() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for a := range k.hosts.known.All() {
		srv, ok := k.opt.Registry.At(a)
		if !ok || srv.Origin != k.opt.Origin {
			k.hosts.remove(a)
			continue
		}
		if v, drop := k.mayStay(srv).Verdict(); drop && k.opt.Registry.Remove(srv.Key) {
			k.note(a, srv.Game, v)
			k.hosts.remove(a)
		}
	}
}

// mayStay returns why a server may no longer be in the list, NotDropped if it may.
func (k *Keeper) mayStay(srv *master.Server) Drop {
	switch {
	case k.opt.Banned.Has(srv.Key.Source.Addr()):
		return Banned
	case k.opt.Stays != nil && !k.opt.Stays(srv):
		return UnknownGame
	default:
		return NotDropped
	}
}
