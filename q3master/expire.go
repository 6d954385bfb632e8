package q3master

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

const (
	// tickEvery is the interval of expiry and of questions to restored servers.
	tickEvery = time.Second
	// checkEvery is the interval of the comparison with the list of servers.
	checkEvery = 10 * time.Second
	// greetAtOnce is the number of restored servers that are asked in one tick.
	greetAtOnce = 500
	// greetTimes is how often each is waited for, listedLife long.
	greetTimes = 3
)

// restored is a server of the saved list that is to be asked.
type restored struct {
	addr netip.AddrPort
	via  netip.Addr
	tag  string
}

// adopt begins to count the servers of the saved list, and returns them.
func (s *Server) adopt() (list []restored) {
	for _, srv := range s.opt.Registry.All() {
		if srv.Origin != master.FromQuake3 || srv.Node != "" {
			continue
		}
		unknown := srv.Game
		if _, known := s.opt.Games.Lookup(srv.Game); known {
			unknown = ""
		}
		tag, _ := srv.Rules.Get(quake3.RuleTag)
		s.mu.Lock()
		s.hosts.add(srv.Public, unknown)
		s.mu.Unlock()
		list = append(list, restored{srv.Public, srv.Via, tag})
	}
	return list
}

// greeting asks restored servers for their info, a part of them in each tick.
type greeting struct {
	list  []restored
	next  int // into list
	times int
	again time.Time // when the list begins again
}

// step asks the next servers.
func (g *greeting) step(s *Server, w netserve.PacketWriter, now time.Time) {
	if g.times >= greetTimes || now.Before(g.again) {
		return
	}
	for range greetAtOnce {
		if g.next == len(g.list) {
			g.next, g.again = 0, now.Add(listedLife)
			if g.times++; g.times >= greetTimes {
				g.list = nil
			}
			return
		}
		r := g.list[g.next]
		g.next++
		if srv, ok := s.opt.Registry.Get(keyOf(r.addr)); ok && srv.Restored && !s.opt.Banned.Has(r.addr.Addr()) {
			s.challenge(w, r.addr, r.via, r.tag, now)
		}
	}
}

// expire asks listed servers again that are silent, removes those that did not
// answer at all, and notes the others that did not answer.
func (s *Server) expire(w netserve.PacketWriter, now time.Time) {
	s.mu.Lock()
	gone, again := s.hosts.expire(now)
	s.mu.Unlock()
	for _, q := range again {
		s.ask(w, q.addr, q.via, q.challenge)
	}
	for _, a := range gone {
		srv, ok := s.opt.Registry.Get(keyOf(a))
		switch {
		case !ok:
			s.note(a, "", verdicts.NoAnswer)
		case srv.Restored: // it has until the end of master.restore_for
		case s.opt.Registry.Remove(srv.Key):
			s.left(srv, verdicts.Expired)
		}
	}
}

// check forgets the servers that left the list, and removes those that may no
// longer be in it: of banned addresses, and of games that are no longer allowed.
func (s *Server) check() {
	live := s.live.Load()
	why := func(srv *master.Server) drop {
		name, _ := srv.Rules.Get(quake3.RuleGame)
		switch {
		case srv.Origin != master.FromQuake3:
			return notDropped
		case s.opt.Banned.Has(srv.Key.Source.Addr()):
			return dropBanned
		case !live.allows(srv.Game, name):
			return dropGame
		default:
			return notDropped
		}
	}
	for _, srv := range s.opt.Registry.RemoveFunc(func(srv *master.Server) bool { return why(srv) != notDropped }) {
		if v, ok := why(srv).verdict(); ok {
			s.note(srv.Key.Source, srv.Game, v)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for a := range s.hosts.known {
		if srv, ok := s.opt.Registry.At(a); !ok || srv.Origin != master.FromQuake3 {
			s.hosts.remove(a)
		}
	}
}
