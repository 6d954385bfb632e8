package valvemaster

import (
	"net/netip"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Holding conditions against servers is what requests cost us.
const (
	// workPerSecond is how many of them are held against servers in a second for
	// sources that proved nothing: forged addresses are bound by nothing
	// else. With the costliest filters it is about a tenth of a core.
	workPerSecond = 2_000_000
	// pageWork is how many come with a page; for each as many more another page is
	// taken from the budgets.
	pageWork = 50_000
)

// request is the memory that a list request needs.
type request struct {
	filter  filter
	servers [MaxEntries]netip.AddrPort
	packet  [maxList]byte
}

// listRequest answers a browser with a page.
func (s *Server) listRequest(w netserve.PacketWriter, p netserve.Packet, body []byte, now time.Time) (dropped drop) {
	r, err := ParseListRequest(body)
	a := p.From.Addr()
	switch {
	case err != nil:
		return dropMalformed
	case s.opt.Banned.Has(a):
		return dropBanned
	}
	live, at := s.live.Load(), s.since(now)
	trusted := s.opt.Trusted.Has(a)
	step := s.walks.next(p.From, r.Seed, trusted, at)
	switch {
	case trusted:
	case !step.proved && !live.unproved.Allow(a, now):
		return dropLimited
	case !live.allowPage(a, now):
		return dropNoBudget
	}
	q := s.requests.Get().(*request)
	defer s.requests.Put(q)
	if err := q.filter.parse(r.Filter); err != nil {
		return dropFilter
	}
	s.metrics.unknownKeys.Add(float64(q.filter.unknown))
	if !step.proved && !s.work.left(at) {
		return dropBusy
	}
	if q.filter.keyed {
		s.keyed(w, p, q, r, step.proved, now)
		return notDropped
	}
	page, looked := s.page(q, a, r, step, at)
	work := looked * q.filter.work()
	if !step.proved {
		s.work.spend(work)
	}
	if !trusted {
		s.walks.sent(p.From, r.Seed, page.continuation(), step, at)
		for range work / pageWork {
			live.allowPage(a, now) // if there is none left, the next request finds out
		}
	}
	s.reply(w, p, page.AppendTo(q.packet[:0]))
	if step.proved {
		s.metrics.pages.full.Inc()
	} else {
		s.metrics.pages.small.Inc()
	}
	return notDropped
}

const (
	// maxKeyed is how many servers a keyed request is answered with.
	maxKeyed = 1400
	// keyedFactor is how many times longer than its request a full page is at most,
	// for an address that proved nothing: requests of Xash3D have some 60 to 150
	// bytes, those of forgers may have 19.
	keyedFactor = 16
	// keySlots is the length of a keyed page without servers, in servers: header,
	// key and end mark.
	keySlots = 3
)

// keyed answers the browser of Xash3D. It asks for the first page alone and sends
// nothing back that proves its address, so one that proved nothing by other means
// gets one packet: a full one while the budget of these lasts, a small page
// beyond it. An address that is trusted, or on a walk, gets several.
func (s *Server) keyed(w netserve.PacketWriter, p netserve.Packet, q *request, r ListRequest, proved bool, now time.Time) {
	live, a := s.live.Load(), p.From.Addr()
	left, size := mostSmall-1, s.metrics.pages.small
	switch {
	case proved:
		left, size = maxKeyed, s.metrics.pages.full
	case live.allowKeyed(a, now):
		left, size = min(mostKeyed, keyedFactor*len(p.Data)/entrySize-keySlots), s.metrics.pages.full
	}
	list := s.lister.current(s.since(now)).givenTo(s.opt.Addresses.Asker(a))
	for seed, more := r.Seed, true; more; {
		var servers []netip.AddrPort
		var looked int
		servers, more, looked = list.page(q.servers[:0], min(left, mostKeyed), seed, r.Region, &q.filter)
		if !proved {
			s.work.spend(looked * q.filter.work())
		}
		l := KeyedList{q.filter.key, List{servers, !more}}
		s.reply(w, p, l.AppendTo(q.packet[:0]))
		size.Inc()
		left -= len(servers)
		if !more || left == 0 || (!s.opt.Trusted.Has(a) && !live.allowPage(a, now)) {
			return
		}
		seed = servers[len(servers)-1]
	}
}

// page makes the page for a request and tells how many servers were looked at.
func (s *Server) page(q *request, from netip.Addr, r ListRequest, step step, at time.Duration) (l List, looked int) {
	// As many as the page holds if it is the last; if more follow, where it ends
	// is chosen.
	v := s.lister.current(at).givenTo(s.opt.Addresses.Asker(from))
	servers, more, looked := v.page(q.servers[:0], step.most(), r.Seed, r.Region, &q.filter)
	if more {
		servers = servers[:min(len(servers), step.size)]
	}
	return List{servers, !more}, looked
}

// continuation returns the seed that asks for the page behind this one, the zero
// AddrPort if there is none.
func (l List) continuation() netip.AddrPort {
	if l.Last || len(l.Servers) == 0 {
		return netip.AddrPort{}
	}
	return l.Servers[len(l.Servers)-1]
}

// allowance is an amount of work per second.
type allowance struct {
	perSecond int

	mu   sync.Mutex // guards the fields below
	have int
	at   time.Duration
}

func newAllowance(perSecond int) *allowance { return &allowance{perSecond: perSecond, have: perSecond} }

// left reports whether there is anything left.
func (a *allowance) left(now time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if passed := now - a.at; passed > 0 {
		gained := int(min(passed, time.Second).Seconds() * float64(a.perSecond))
		a.have = min(a.have+gained, a.perSecond)
		a.at = now
	}
	return a.have > 0
}

// spend takes work that was done, which may be more than there was.
func (a *allowance) spend(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.have -= n
}
