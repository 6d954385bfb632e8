package qr2

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// Bounds of the reachability probe, which is sent only to verified hosts.
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
	near     bool // it answered our other port; the other addresses are waited for
	prequery bool // it answers queries only after an address check: ask for that
	number   uint32
	tries    int
	due      time.Time
}

// waitingProbe is what is kept of a host until it is asked. It is small: after a start all of them
// wait.
type waitingProbe struct {
	source   ipv4Port
	via      [4]byte // zero: unknown
	instance uint32
	prequery bool
}

// ipv4Port is the source address of a host.
type ipv4Port struct {
	ip   [4]byte
	port uint16
}

// probeQueue holds the probes; Server.mu guards it. A host is in it at most
// once: waiting in fifo, or asked and in asked.
type probeQueue struct {
	fifo   []waitingProbe
	queued map[ipv4Port]struct{}
	asked  map[netip.AddrPort]*probeJob
	rounds time.Time // when all hosts were last queued
}

func newProbeQueue() probeQueue {
	return probeQueue{queued: make(map[ipv4Port]struct{}), asked: make(map[netip.AddrPort]*probeJob)}
}

// vantage is a socket on another address of ours than that of the intake. A host
// that answers it lets strangers in. One that answers another port of the address
// it reports to may do so because that address is let in.
type vantage struct {
	at netip.Addr
	w  netserve.PacketWriter
}

// seeing returns the vantages on addresses other than via, the one that the
// host reports to; none if that is unknown.
func seeing(all []vantage, via netip.Addr) (list []vantage) {
	if !via.IsValid() {
		return nil
	}
	for _, v := range all {
		if v.at != via {
			list = append(list, v)
		}
	}
	return list
}

func (s *Server) allVantages() []vantage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vantages
}

// add queues a host. If the queue is full, the findings about the host do not
// change.
func (q *probeQueue) add(k master.Key, via netip.Addr, prequery bool) {
	if !k.Source.Addr().Is4() {
		return // no such host can be listed
	}
	source := ipv4Port{k.Source.Addr().As4(), k.Source.Port()}
	if _, waits := q.queued[source]; waits || len(q.fifo) >= maxProbes {
		return
	}
	delete(q.asked, k.Source)
	q.queued[source] = struct{}{}
	w := waitingProbe{source: source, instance: k.Instance, prequery: prequery}
	if via.Is4() {
		w.via = via.As4()
	}
	q.fifo = append(q.fifo, w)
}

// next takes a host from those that wait.
func (q *probeQueue) next() probeJob {
	w := q.fifo[0]
	q.fifo = q.fifo[1:]
	delete(q.queued, w.source)
	if len(q.fifo) == 0 {
		q.fifo, q.queued = nil, make(map[ipv4Port]struct{}) // a long queue took memory
	}
	j := probeJob{key: master.Key{Source: netip.AddrPortFrom(netip.AddrFrom4(w.source.ip), w.source.port), Instance: w.instance}, prequery: w.prequery}
	if w.via != [4]byte{} {
		j.via = netip.AddrFrom4(w.via)
	}
	return j
}

// probe queries the hosts that are due and gives up those that never answered.
func (s *Server) probe(w netserve.PacketWriter, now time.Time) {
	s.queueAll(now)
	var out, over []probeJob
	s.mu.Lock()
	q, vantages := &s.probes, s.vantages
	for source, j := range q.asked {
		switch {
		case now.Before(j.due):
		case j.tries >= probeTries:
			over = append(over, *j)
			delete(q.asked, source)
		default:
			j.tries++
			j.due = now.Add(probeEvery)
			out = append(out, *j)
		}
	}
	for len(q.fifo) > 0 && len(out) < probeAtOnce && len(q.asked) < maxProbeWait {
		j := q.next()
		j.number, j.tries, j.due = rand.Uint32(), 1, now.Add(probeEvery) // it only distinguishes answers; the address is proved
		q.asked[j.key.Source] = &j
		out = append(out, j)
	}
	s.mu.Unlock()

	for i := range over {
		reached := master.ReachedNo
		if over[i].near {
			reached = master.ReachedPerhaps
		}
		s.found(over[i].key, reached)
	}
	for i := range out {
		s.ask(w, vantages, &out[i])
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
		if h.Origin != Origin || h.Restored || h.Node != "" {
			continue
		}
		g, _ := s.opt.Games.Lookup(h.Game)
		s.mu.Lock()
		s.probes.add(h.Key, h.Via, g.QueryChallenge())
		s.mu.Unlock()
	}
}

// Recheck queues a host to be probed at once. It returns false if hosts are not probed,
// or the host does not report to this node.
func (s *Server) Recheck(srv *master.Server) bool {
	if !s.opt.Probe || srv.Origin != Origin || srv.Restored || srv.Node != "" {
		return false
	}
	g, _ := s.opt.Games.Lookup(srv.Game)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.probes.add(srv.Key, srv.Via, g.QueryChallenge())
	return true
}

// ask sends the query "all keys", or the address check for hosts that answer no
// query without it, from each address that it has not answered.
func (s *Server) ask(w netserve.PacketWriter, vantages []vantage, j *probeJob) {
	var buf [replyHeader + 3]byte
	b := appendHeader(buf[:0], KindAvailable, j.number)
	if !j.prequery {
		b = appendHeader(buf[:0], KindQuery, j.number)
		b = append(b, 0xFF, 0xFF, 0xFF)
	}
	if !j.near {
		s.out.Send(w, b, j.via, j.key.Source)
		s.metrics.probes.sent.Inc()
	}
	for _, v := range seeing(vantages, j.via) {
		s.out.Send(v.w, b, v.at, j.key.Source)
		s.metrics.probes.sent.Inc()
	}
}

// probeHandler handles the packets of the probing sockets.
type probeHandler struct {
	s  *Server
	at netip.Addr // of a vantage; zero: it is the second socket
}

// ServePacket takes the answer of a host that was asked. Anything else is
// dropped.
func (h probeHandler) ServePacket(_ netserve.PacketWriter, p netserve.Packet) {
	if !h.s.probeReply(p, h.at) {
		h.s.opt.Metrics.Drop(uplink.Unexpected.Error())
	}
}

// probeReply takes a packet that came to the second socket or to the vantage at an
// address.
func (s *Server) probeReply(p netserve.Packet, at netip.Addr) bool {
	if len(p.Data) > 0 && p.Data[0] == '\\' {
		return s.text.probeReply(p, at)
	}
	if len(p.Data) < header {
		return false
	}
	kind, number := Kind(p.Data[0]), binary.BigEndian.Uint32(p.Data[1:])
	s.mu.Lock()
	j := s.probes.asked[p.From]
	if j == nil || j.number != number || (kind != KindQuery && kind != KindAvailable) || (!at.IsValid() && j.near) || (at.IsValid() && at == j.via) {
		s.mu.Unlock()
		return false
	}
	k, far := j.key, at.IsValid()
	over := far || len(seeing(s.vantages, j.via)) == 0
	if over {
		delete(s.probes.asked, p.From)
	}
	j.near = true
	s.mu.Unlock()
	switch {
	case far:
		s.found(k, master.ReachedDirect)
	case over:
		s.found(k, master.ReachedPerhaps)
	default:
		s.foundNear(k)
	}
	return true
}

// foundNear notes that a host answered the second socket, while the vantages may
// still learn more.
func (s *Server) foundNear(k master.Key) {
	if srv, ok := s.own(k); ok && srv.Findings.Reached < master.ReachedPerhaps {
		s.list.Report(k, master.Findings{Reached: master.ReachedPerhaps, Relayed: srv.Findings.Relayed})
	}
}

// found records the findings of a probe. A successful negotiation has priority
// over an answer to this daemon only.
func (s *Server) found(k master.Key, reached master.Reached) {
	srv, ok := s.own(k)
	if !ok {
		return
	}
	if reached == master.ReachedDirect || srv.Findings.Reached != master.ReachedNegotiated {
		s.list.Report(k, master.Findings{Reached: reached, Relayed: srv.Findings.Relayed})
	}
	if reached == master.ReachedNo {
		s.metrics.probes.silent.Inc()
	} else {
		s.metrics.probes.reachable.Inc()
	}
	s.note(k.Source, srv.Game, verdictOf(reached))
}

// verdictOf returns the verdict for the findings of a probe.
func verdictOf(reached master.Reached) verdicts.Verdict {
	switch reached {
	case master.ReachedDirect:
		return verdicts.Reachable
	case master.ReachedPerhaps:
		return verdicts.PerhapsReachable
	default:
		return verdicts.Unreachable
	}
}

// Negotiated records that players reached the host at an address by NAT
// negotiation. It applies only to hosts that claim to support it: reports of
// negotiations can be forged, and must not replace the direct way to a host.
func (s *Server) Negotiated(a netip.AddrPort) {
	srv, ok := s.list.At(a)
	if !ok || srv.Origin != Origin || !srv.NATNeg || srv.Findings.Reached >= master.ReachedNegotiated {
		return
	}
	s.list.Report(srv.Key, master.Findings{Reached: master.ReachedNegotiated})
	s.note(srv.Key.Source, srv.Game, verdicts.Negotiated)
}

// Relayed records that players reached the host at an address through a relay, after a
// NAT negotiation. Like Negotiated it replaces nothing better.
func (s *Server) Relayed(a netip.AddrPort) {
	srv, ok := s.list.At(a)
	if !ok || srv.Origin != Origin || !srv.NATNeg || srv.Findings.Relayed || srv.Findings.Reached >= master.ReachedNegotiated {
		return
	}
	s.list.Report(srv.Key, master.Findings{Reached: srv.Findings.Reached, Relayed: true})
	s.note(srv.Key.Source, srv.Game, verdicts.ReachedByRelay)
}
