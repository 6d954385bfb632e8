package qr2

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// Bounds of the reachability probe. It is sent to verified hosts alone.
const (
	probeTries   = 3
	probeEvery   = 2 * time.Second // between tries
	probeAgain   = 5 * time.Minute // between two looks at the same host
	probeAtOnce  = 50              // probes sent per tick: 500 a second
	maxProbes    = 200_000         // hosts waiting to be probed
	maxProbeWait = 4096            // hosts that were asked and have not answered
)

// probeJob is one host to be asked.
type probeJob struct {
	key      master.Key
	via      netip.Addr
	prequery bool // it answers queries only after an address check: ask for that
	number   uint32
	tries    int
	due      time.Time
}

// probeQueue holds the probes; Server.mu guards it. A host is in it at most
// once: waiting in fifo, or asked and in asked.
type probeQueue struct {
	fifo   []probeJob
	queued map[netip.AddrPort]bool
	asked  map[netip.AddrPort]*probeJob
	rounds time.Time // when all hosts were last queued
}

func newProbeQueue() probeQueue {
	return probeQueue{queued: make(map[netip.AddrPort]bool), asked: make(map[netip.AddrPort]*probeJob)}
}

// add queues a host. When the queue is full the host keeps what is known of it.
func (q *probeQueue) add(k master.Key, via netip.Addr, prequery bool, now time.Time) {
	if len(q.fifo) >= maxProbes || q.queued[k.Source] {
		return
	}
	delete(q.asked, k.Source)
	q.queued[k.Source] = true
	q.fifo = append(q.fifo, probeJob{key: k, via: via, prequery: prequery, due: now})
}

// probe asks the hosts that are due and gives up those that never answered.
func (s *Server) probe(w netserve.PacketWriter, now time.Time) {
	s.queueAll(now)
	var out []probeJob
	var silent []master.Key
	s.mu.Lock()
	q := &s.probes
	for source, j := range q.asked {
		switch {
		case now.Before(j.due):
		case j.tries >= probeTries:
			silent = append(silent, j.key)
			delete(q.asked, source)
		default:
			j.tries++
			j.due = now.Add(probeEvery)
			out = append(out, *j)
		}
	}
	for len(q.fifo) > 0 && len(out) < probeAtOnce && len(q.asked) < maxProbeWait {
		j := q.fifo[0]
		q.fifo = q.fifo[1:]
		delete(q.queued, j.key.Source)
		j.number, j.tries, j.due = rand.Uint32(), 1, now.Add(probeEvery) // it only tells answers apart; the address is proved
		q.asked[j.key.Source] = &j
		out = append(out, j)
	}
	s.mu.Unlock()

	for _, k := range silent {
		s.found(k, false)
	}
	for i := range out {
		s.ask(w, &out[i])
	}
}

// queueAll queues every host again from time to time: a router may have been
// set up since.
func (s *Server) queueAll(now time.Time) {
	s.mu.Lock()
	first := s.probes.rounds.IsZero()
	due := !first && now.Sub(s.probes.rounds) >= probeAgain
	if first || due {
		s.probes.rounds = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	for _, h := range s.list.All() {
		if h.Origin != master.FromQR2 || h.Restored {
			continue
		}
		g, _ := s.opt.Games.Lookup(h.Game)
		s.mu.Lock()
		s.probes.add(h.Key, h.Via, g.QueryChallenge(), now)
		s.mu.Unlock()
	}
}

// ask sends the query "all keys", or the address check for hosts that answer no
// query without it.
func (s *Server) ask(w netserve.PacketWriter, j *probeJob) {
	var buf [replyHeader + 3]byte
	b := appendHeader(buf[:0], KindAvailable, j.number)
	if !j.prequery {
		b = appendHeader(buf[:0], KindQuery, j.number)
		b = append(b, 0xFF, 0xFF, 0xFF)
	}
	s.write(w, j.via, j.key.Source, b)
	s.metrics.probes.sent.Inc()
}

// probeHandler takes what comes to the second socket.
type probeHandler struct{ s *Server }

// ServePacket takes the answer of a host that was asked. Anything else is
// dropped.
func (h probeHandler) ServePacket(_ netserve.PacketWriter, p netserve.Packet) {
	if !h.s.probeReply(p) {
		h.s.opt.Metrics.Drop(dropUnexpected)
	}
}

func (s *Server) probeReply(p netserve.Packet) bool {
	if len(p.Data) > 0 && p.Data[0] == '\\' {
		return s.text.probeReply(p)
	}
	if len(p.Data) < header {
		return false
	}
	kind, number := Kind(p.Data[0]), binary.BigEndian.Uint32(p.Data[1:])
	s.mu.Lock()
	j := s.probes.asked[p.From]
	ok := j != nil && j.number == number && (kind == KindQuery || kind == KindAvailable)
	if ok {
		delete(s.probes.asked, p.From)
	}
	s.mu.Unlock()
	if ok {
		s.found(j.key, true)
	}
	return ok
}

// found notes what a probe learned.
func (s *Server) found(k master.Key, reachable bool) {
	srv, ok := s.own(k)
	if !ok {
		return
	}
	f := srv.Findings
	f.Reachable = reachable
	s.list.Report(k, f)
	v := verdicts.Unreachable
	if reachable {
		v = verdicts.Reachable
		s.metrics.probes.reachable.Inc()
	} else {
		s.metrics.probes.silent.Inc()
	}
	s.note(k.Source, srv.Game, v)
}
