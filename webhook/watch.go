package webhook

import (
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// settle is how long a server may be away before it is reported down: hosts restart
// between two rounds.
const settle = time.Minute

// serverKey identifies a server. After a change of its game it is another one.
type serverKey struct {
	origin *master.Origin
	public netip.AddrPort
	game   string
}

type banKey struct {
	prefix netip.Prefix
	scope  storage.Scope
}

// absence is how a server left.
type absence struct {
	since  time.Time
	orphan bool // its node was gone
}

// watch is the last known state of the list and the bans. It belongs to the
// goroutine of Dispatcher.Run.
type watch struct {
	dispatcher *Dispatcher
	workers    []*worker
	serial     uint64
	servers    map[serverKey]*master.Server
	away       map[serverKey]absence // of servers that left
	bans       map[banKey]storage.Ban
	chatBans   map[storage.ChatRuleKey]storage.ChatRule
	rooms      map[string]time.Time // chat rooms that were reported, and when
}

// newWatch returns the current state of the list and the bans.
func newWatch(d *Dispatcher) *watch {
	w := &watch{dispatcher: d, servers: make(map[serverKey]*master.Server), away: make(map[serverKey]absence), bans: make(map[banKey]storage.Ban), rooms: make(map[string]time.Time)}
	w.serial = d.opt.Registry.LastSerial() // before the list is read
	for _, h := range d.opt.Registry.All() {
		w.servers[keyOf(h.Server)] = h.Server
	}
	for _, b := range d.opt.Bans() {
		w.bans[banKey{b.Prefix, b.Scope}] = b
	}
	w.chatBans = chatBans(d.opt.Rules(), time.Now())
	return w
}

func keyOf(s *master.Server) serverKey { return serverKey{s.Origin, s.Public, s.Game} }

// seed gives a new worker the current state without sending events.
func (w *watch) seed(to *worker) {
	for k, s := range w.servers {
		if h := to.sender.hook; h.High > 0 && s.Population() >= h.High {
			to.high[k] = true
		}
	}
}

// read applies the changes of the list.
func (w *watch) read(now time.Time) {
	changes, serial, ok := w.dispatcher.opt.Registry.Changes("", w.serial, nil)
	w.serial = serial
	if !ok {
		w.readAll(now)
		return
	}
	seen := make(map[serverKey]bool, len(changes))
	for _, c := range changes {
		k := serverKey{c.Origin, c.Public, c.Game}
		if seen[k] {
			continue
		}
		seen[k] = true
		s, listed := w.dispatcher.opt.Registry.Find(c.Public)
		if !listed || keyOf(s) != k {
			s = nil
		}
		w.update(k, s, now)
	}
}

// readAll compares the whole list: more changed than the change log holds.
func (w *watch) readAll(now time.Time) {
	listed := make(map[serverKey]bool)
	for _, h := range w.dispatcher.opt.Registry.All() {
		k := keyOf(h.Server)
		listed[k] = true
		w.update(k, h.Server, now)
	}
	for k := range w.servers {
		if !listed[k] {
			w.update(k, nil, now)
		}
	}
}

// update applies the current state of a server; nil: it is not listed.
func (w *watch) update(k serverKey, s *master.Server, now time.Time) {
	_, known := w.servers[k]
	switch {
	case s == nil && !known:
		return
	case s == nil:
		if _, away := w.away[k]; !away {
			w.away[k] = absence{now, w.orphaned(w.servers[k])}
		}
		return
	case !known && s.Node == "":
		w.report(ServerUp, s, now)
	}
	delete(w.away, k)
	w.servers[k] = s
	players := s.Population()
	for _, to := range w.workers {
		h := to.sender.hook
		switch {
		case h.High <= 0:
		case !to.high[k] && players >= h.High:
			to.high[k] = true
			w.sendOwn(to, PlayersHigh, s, now)
		case to.high[k] && players <= h.Low:
			delete(to.high, k)
			w.sendOwn(to, PlayersLow, s, now)
		}
	}
}

// sendOwn is send for a server of this node. The node of another one sends it.
func (w *watch) sendOwn(to *worker, kind Kind, s *master.Server, now time.Time) {
	if s.Node == "" {
		w.send(to, kind, s, now)
	}
}

// orphaned reports whether a server is of a node that is gone, and cannot send that the
// server left.
func (w *watch) orphaned(s *master.Server) bool {
	bus := w.dispatcher.opt.Cluster
	return s.Node != "" && bus != nil && !slices.Contains(bus.Nodes(), s.Node)
}

// mine reports whether this node sends what is about something that all nodes notice.
func (d *Dispatcher) mine(key string) bool {
	bus := d.opt.Cluster
	return bus == nil || bus.Owner("webhook/"+key) == bus.Self()
}

// nextSettled returns a channel that receives when the next absent server counts
// as down. stop must be called.
func (w *watch) nextSettled() (c <-chan time.Time, stop func()) {
	if w == nil || len(w.away) == 0 {
		return nil, func() {}
	}
	var first time.Time
	for _, a := range w.away {
		if first.IsZero() || a.since.Before(first) {
			first = a.since
		}
	}
	timer := time.NewTimer(time.Until(first.Add(settle)))
	return timer.C, func() { timer.Stop() }
}

// settle reports the servers that did not come back.
func (w *watch) settle(now time.Time) {
	for k, a := range w.away {
		if now.Sub(a.since) < settle {
			continue
		}
		if s := w.servers[k]; s.Node == "" || a.orphan && w.dispatcher.mine(s.ID()) {
			w.report(ServerDown, s, now)
		}
		delete(w.away, k)
		delete(w.servers, k)
		for _, to := range w.workers {
			delete(to.high, k)
		}
	}
}

// readBans applies the changes of the bans.
func (w *watch) readBans() {
	if w == nil {
		return
	}
	now := time.Now()
	next := make(map[banKey]storage.Ban)
	for _, b := range w.dispatcher.opt.Bans() {
		k := banKey{b.Prefix, b.Scope}
		next[k] = b
		if before, known := w.bans[k]; !known || !sameBan(before, b) {
			w.reportBan(BanAdded, b, now)
		}
	}
	for k, b := range w.bans {
		if _, still := next[k]; !still {
			w.reportBan(BanRemoved, b, now)
		}
	}
	w.bans = next
}

func sameBan(a, b storage.Ban) bool {
	return a.Reason == b.Reason && a.By == b.By && a.Added.Equal(b.Added) && a.Expires.Equal(b.Expires)
}

// report queues an event about a server for every worker whose hook is for it.
func (w *watch) report(kind Kind, s *master.Server, now time.Time) {
	for _, to := range w.workers {
		w.send(to, kind, s, now)
	}
}

func (w *watch) send(to *worker, kind Kind, s *master.Server, now time.Time) {
	if to.sender.hook.wants(kind, s.Game) {
		out := describe(s, w.dispatcher.opt.Title(s.Game), w.dispatcher.opt.Colours(s.Game))
		out.Address = w.dispatcher.opt.Addresses.Outside().Given(s.Public).String()
		to.offer(Event{Kind: kind, Time: stamp(now), Server: out})
	}
}

func (w *watch) reportBan(kind Kind, b storage.Ban, now time.Time) {
	if !w.dispatcher.mine("ban/" + b.Prefix.String()) {
		return
	}
	for _, to := range w.workers {
		if to.sender.hook.wants(kind, "") {
			to.offer(Event{Kind: kind, Time: stamp(now), Ban: describeBan(b)})
		}
	}
}

// stamp returns the time of an event in its wire format.
func stamp(now time.Time) time.Time { return now.UTC().Truncate(time.Second) }
