package zanmaster

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/zandronum"
)

// The waits of the original count whole seconds of its clock, which makes them
// inexact: a launcher that waits ten seconds is always served. So ours are a
// little shorter, or longer.
const (
	windowGrace  = 100 * time.Millisecond
	silence      = 3100 * time.Millisecond // after an answer "too soon"
	garbageWait  = 10*time.Second - windowGrace
	budgetWindow = uplink.BudgetWindow

	mostAddrs   = 1 << 17 // addresses that are remembered
	mostGarbage = 1 << 13
)

// gate bounds the traffic to launchers: a list is hundreds of times longer than its
// request, whose source may be forged. It does not apply to game servers.
type gate struct {
	mu sync.Mutex // guards the fields below

	window  time.Duration           // 0: addresses do not wait
	served  *recent[uint32]         // addresses that got a list, or are refused anyway
	silent  *recent[uint32]         // addresses that asked too soon
	noise   *recent[netip.AddrPort] // sources of unknown messages
	perNet  int                     // lists for a /24; 0: any number
	nets    *netserve.Limiter       // of lists for a /24
	total   int                     // lists for all that proved nothing; 0: any number
	ofAll   int
	allFrom time.Duration
}

func newGate() *gate {
	return &gate{
		served: newRecent[uint32](0, mostAddrs),
		silent: newRecent[uint32](silence, mostAddrs),
		noise:  newRecent[netip.AddrPort](garbageWait, mostGarbage),
	}
}

func (g *gate) takeOver(c *Config) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.perNet != c.ListsPerNet { // otherwise the spent budget is lost
		g.perNet, g.nets = c.ListsPerNet, uplink.PerWindow(c.ListsPerNet, 24)
	}
	g.window, g.total = c.ListWindow, c.ListsTotal
	g.served.life = max(g.window-windowGrace, g.window/2)
}

// garbage silences a source, address and port, for a while. If it silenced the
// whole address, one forged packet would block all launchers there.
func (g *gate) garbage(a netip.AddrPort, now time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.noise.add(a, now)
}

// refused makes an address wait for its next list as if it had got one.
func (g *gate) refused(a netip.Addr, now time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.window > 0 {
		g.served.add(number(a), now)
	}
}

// The decisions of the gate.
type decision uint8

const (
	admit   decision = iota
	tooSoon          // say so
	keepSilent
)

// knock decides about a request before its content counts. An address that asks
// too soon is answered once.
func (g *gate) knock(a netip.AddrPort, now time.Duration) decision {
	key := number(a.Addr())
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.noise.has(a, now), g.silent.has(key, now):
		return keepSilent
	case g.window > 0 && g.served.has(key, now):
		g.silent.add(key, now)
		return tooSoon
	default:
		return admit
	}
}

// spend takes a list from the budgets and reports whether they allow it. free
// addresses never wait; they and proved ones do not use the total budget. at is
// now on the clock of the gate.
func (g *gate) spend(a netip.Addr, free, proved bool, now time.Time, at time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at-g.allFrom >= budgetWindow {
		g.allFrom, g.ofAll = at, 0
	}
	bound := g.total > 0 && !free && !proved
	switch {
	case bound && g.ofAll >= g.total:
		return false
	case !free && !g.nets.Allow(a, now):
		return false
	}
	if bound {
		g.ofAll++
	}
	if !free && g.window > 0 {
		g.served.add(number(a), at)
	}
	return true
}

// admits decides about a request and answers it if it is refused. wrong means
// that its version is.
func (s *Server) admits(w netserve.PacketWriter, p netserve.Packet, wrong bool, now time.Time) (dropped uplink.Drop) {
	live := s.live.Load()
	a, at := p.From.Addr(), s.since(now)
	free := s.opt.Trusted.Has(a)
	if !free {
		switch s.gate.knock(p.From, at) {
		case keepSilent:
			return uplink.Silenced
		case tooSoon:
			return s.refuse(w, p, zandronum.AnswerTooSoon, uplink.TooSoon)
		case admit:
		}
	}
	switch {
	case !covers(live.AllowLaunchers, a):
		return s.refuse(w, p, zandronum.AnswerBanned, uplink.NotAllowed)
	case wrong:
		return s.refuse(w, p, zandronum.AnswerWrongVersion, uplink.WrongVersion)
	case !s.gate.spend(a, free, s.list.HasAt(a), now, at):
		return s.refuse(w, p, zandronum.AnswerTooSoon, uplink.NoBudget)
	default:
		return uplink.NotDropped
	}
}

func (s *Server) refuse(w netserve.PacketWriter, p netserve.Packet, a zandronum.Answer, reason uplink.Drop) uplink.Drop {
	switch a {
	case zandronum.AnswerTooSoon:
		s.metrics.answers.tooSoon.Inc()
	case zandronum.AnswerBanned:
		s.metrics.answers.banned.Inc()
	case zandronum.AnswerWrongVersion:
		s.metrics.answers.wrongVersion.Inc()
	default:
	}
	s.answer(w, p, a)
	return reason
}

// launcher answers a request for the list.
func (s *Server) launcher(w netserve.PacketWriter, p netserve.Packet, version uint16, now time.Time) uplink.Drop {
	if dropped := s.admits(w, p, version != zandronum.ListVersion, now); dropped != uplink.NotDropped {
		return dropped
	}
	s.metrics.answers.list.Inc()
	for _, b := range s.listsFor(p.From.Addr()).packets {
		s.out.Send(w, b, p.To, p.From)
	}
	return uplink.NotDropped
}

// oldLauncher answers a request for the old form of the list.
func (s *Server) oldLauncher(w netserve.PacketWriter, p netserve.Packet, now time.Time) uplink.Drop {
	if !s.live.Load().OldList {
		return uplink.OldListOff
	}
	if dropped := s.admits(w, p, false, now); dropped != uplink.NotDropped {
		return dropped
	}
	s.metrics.answers.oldList.Inc()
	l := s.listsFor(p.From.Addr())
	list, left := l.oldForm()
	s.capped(&s.tellOld, l, left, 1)
	s.out.Send(w, list, p.To, p.From)
	return uplink.NotDropped
}

func (s *Server) lists() *lists {
	l, left := s.lister.current()
	s.capped(&s.tell, l, left, zandronum.MaxListPackets)
	return l
}

func (s *Server) listsFor(asker netip.Addr) *lists {
	who := s.opt.Addresses.Asker(asker)
	if who.IsTrial() {
		l, _ := s.trials.current()
		return l
	}
	l, left := s.lists().givenTo(who)
	s.capped(&s.tell, l, left, zandronum.MaxListPackets)
	return l
}

// capped counts a list that was made without the servers that had no room in
// its packets, and logs it from time to time.
func (s *Server) capped(tell *rate.Sometimes, l *lists, left, packets int) {
	if left == 0 {
		return
	}
	s.metrics.capped.Inc()
	tell.Do(func() {
		s.opt.Log.Warn().Int("servers", l.servers).Int("left_out", left).Int("packets", packets).
			Msg("list too long for launchers: its end is not sent")
	})
}

// recent remembers keys for a fixed time, at most a fixed number of them: when
// it is full, the oldest is removed. The caller must synchronize access. Times
// are those of Server.now.
type recent[K comparable] struct {
	life time.Duration
	most int

	keys  map[K]time.Duration // when it was added
	queue []added[K]          // in the order in which they were added, from first on
	first int
}

type added[K comparable] struct {
	key K
	at  time.Duration
}

func newRecent[K comparable](life time.Duration, most int) *recent[K] {
	return &recent[K]{life: life, most: most, keys: make(map[K]time.Duration)}
}

// has reports whether k was added and not forgotten.
func (r *recent[K]) has(k K, now time.Duration) bool {
	at, ok := r.keys[k]
	return ok && now-at < r.life
}

// add remembers k from now on. One that is remembered already keeps its time.
func (r *recent[K]) add(k K, now time.Duration) {
	r.forget(now)
	if _, ok := r.keys[k]; ok {
		return
	}
	if len(r.keys) >= r.most {
		r.drop()
	}
	r.keys[k] = now
	r.queue = append(r.queue, added[K]{k, now})
}

// forget drops the expired keys.
func (r *recent[K]) forget(now time.Duration) {
	for r.first < len(r.queue) && now-r.queue[r.first].at >= r.life {
		r.drop()
	}
}

// drop forgets the key that was added first.
func (r *recent[K]) drop() {
	delete(r.keys, r.queue[r.first].key)
	r.first++
	if r.first > len(r.queue)/2 {
		n := copy(r.queue, r.queue[r.first:])
		r.queue, r.first = r.queue[:n], 0
	}
}
