package valvemaster

import (
	"net/netip"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/uplink"
)

// The cost of requests is the comparison of conditions with servers.
const (
	// workPerSecond is the number of comparisons per second for unproved
	// sources: nothing else bounds forged addresses. With the most expensive
	// filters it is about a tenth of a core.
	workPerSecond = 2_000_000
	// pageWork is the number of comparisons included in a page; for each
	// further pageWork another page is taken from the budgets.
	pageWork = 50_000
)

// request is the memory that a list request needs.
type request struct {
	filter  filter
	servers [MaxEntries]netip.AddrPort
	packet  [maxList]byte
}

// listRequest answers a browser with a page.
func (s *Server) listRequest(w netserve.PacketWriter, p netserve.Packet, body []byte, now time.Time) (dropped uplink.Drop) {
	r, err := ParseListRequest(body)
	a := p.From.Addr()
	switch {
	case err != nil:
		return uplink.Malformed
	case s.opt.Banned.Has(a):
		return uplink.Banned
	}
	live, at := s.live.Load(), s.since(now)
	trusted := s.opt.Trusted.Has(a)
	step := s.walks.next(p.From, r.Seed, trusted, at)
	switch {
	case trusted:
	case !step.proved && !live.unproved.Allow(a, now):
		return uplink.Limited
	case !live.allowPage(a, now):
		return uplink.NoBudget
	}
	q := s.requests.Get().(*request)
	defer s.requests.Put(q)
	if err := q.filter.parse(r.Filter); err != nil {
		return uplink.FilterTooBig
	}
	s.metrics.unknownKeys.Add(float64(q.filter.unknown))
	if !step.proved && !s.work.left(at) {
		return uplink.Busy
	}
	if q.filter.keyed {
		s.keyed(w, p, q, r, step.proved, now)
		return uplink.NotDropped
	}
	page, looked := s.page(q, a, r, step, at)
	work := looked * q.filter.work()
	if !step.proved {
		s.work.spend(work)
	}
	if !trusted {
		s.walks.sent(p.From, r.Seed, page.continuation(), step, at)
		for range work / pageWork {
			live.allowPage(a, now) // if the budget is used up, the next request is refused
		}
	}
	s.reply(w, p, page.AppendTo(q.packet[:0]))
	if step.proved {
		s.metrics.pages.full.Inc()
	} else {
		s.metrics.pages.small.Inc()
	}
	return uplink.NotDropped
}

const (
	// maxKeyed is the maximum number of servers in the answer to a keyed
	// request.
	maxKeyed = 1400
	// keyedFactor is the maximum ratio of the lengths of a full page and its
	// request, for an unproved address: requests of Xash3D have some 60 to 150
	// bytes, forged ones may have 19.
	keyedFactor = 16
	// keySlots is the length of a keyed page without servers, in servers: header,
	// key and end mark.
	keySlots = 3
)

// keyed answers the browser of Xash3D. It requests only the first page and
// sends nothing back that proves its address, so an unproved address gets one
// packet: a full one within the budget, else a small page. An address that is
// trusted, or on a walk, gets several.
func (s *Server) keyed(w netserve.PacketWriter, p netserve.Packet, q *request, r ListRequest, proved bool, now time.Time) {
	live, a := s.live.Load(), p.From.Addr()
	left, size := mostSmall-1, s.metrics.pages.small
	switch {
	case proved:
		left, size = maxKeyed, s.metrics.pages.full
	case live.allowKeyed(a, now):
		left, size = min(mostKeyed, keyedFactor*len(p.Data)/entrySize-keySlots), s.metrics.pages.full
	}
	list := s.viewFor(a, s.since(now))
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

// viewFor returns the list for an asker.
func (s *Server) viewFor(a netip.Addr, at time.Duration) *view {
	who := s.opt.Addresses.Asker(a)
	if who.IsTrial() {
		return s.trials.current(at)
	}
	return s.lister.current(at).givenTo(who)
}

// page makes the page for a request and returns the number of servers compared.
func (s *Server) page(q *request, from netip.Addr, r ListRequest, step step, at time.Duration) (l List, looked int) {
	// As many as the page holds if it is the last; if more follow, where it ends
	// is chosen.
	v := s.viewFor(from, at)
	servers, more, looked := v.page(q.servers[:0], step.most(), r.Seed, r.Region, &q.filter)
	if more {
		servers = servers[:min(len(servers), step.size)]
	}
	return List{servers, !more}, looked
}

func (s *Server) packets(who advertise.Asker) (list [][]byte) {
	v := s.lister.current(s.since(time.Now())).givenTo(who)
	var all []netip.AddrPort
	for _, e := range v.entries {
		all = append(all, e.addr)
	}
	for {
		n := min(len(all), MaxEntries-1) // the last one has an end mark too
		list = append(list, List{all[:n], n == len(all)}.AppendTo(nil))
		if all = all[n:]; len(all) == 0 {
			return list
		}
	}
}

// continuation returns the seed of the next page, the zero AddrPort if there is
// none.
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
