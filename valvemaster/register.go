package valvemaster

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// answerTimeout is the time after its first heartbeat from which a server
// without an A2S answer gets a verdict.
const answerTimeout = 15 * time.Second

// challenge answers a server that wants to send a heartbeat.
func (s *Server) challenge(w netserve.PacketWriter, p netserve.Packet, body []byte, now time.Time) (dropped uplink.Drop) {
	r, err := ParseChallengeRequest(body)
	a := p.From.Addr()
	switch {
	case err != nil:
		return uplink.Malformed
	case s.opt.Banned.Has(a):
		s.note(p.From, verdicts.Banned)
		return uplink.Banned
	}
	taken, known := s.taken(p.From)
	if live := s.live.Load(); !s.opt.Trusted.Has(a) && !live.unproved.Allow(a, now) {
		s.noteStranger(p.From, verdicts.Limited)
		return uplink.Limited
	}
	c := Challenge{s.tokens.token(p.From, taken, slotOf(s.since(now))), r.Nonce, r.HasNonce}
	var buf [maxChallenge]byte
	s.reply(w, p, c.AppendTo(buf[:0]))
	s.metrics.challenges.Inc()
	if !known {
		s.note(p.From, verdicts.ChallengeSent)
	}
	return uplink.NotDropped
}

// taken returns the number of accepted heartbeats of a source, and whether it
// is known.
func (s *Server) taken(a netip.AddrPort) (n uint32, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.hosts.Get(a); ok {
		return h.taken, true
	}
	return 0, false
}

// heartbeat accepts a heartbeat and watches its server.
func (s *Server) heartbeat(p netserve.Packet, body []byte, now time.Time) (dropped uplink.Drop) {
	if s.opt.Banned.Has(p.From.Addr()) {
		s.note(p.From, verdicts.Banned)
		return uplink.Banned
	}
	h, err := ParseHeartbeat(body)
	if err != nil {
		s.noteStranger(p.From, verdicts.Malformed)
		return uplink.Malformed
	}
	first, dropped := s.take(p.From, h, now)
	switch dropped {
	case uplink.NotDropped:
		if first {
			s.metrics.registered.Inc()
			s.note(p.From, verdicts.Asked)
		}
	case uplink.Limited, uplink.Wrong:
		s.noteStranger(p.From, verdictOn(dropped))
	default:
		s.note(p.From, verdictOn(dropped))
	}
	return dropped
}

// take checks the challenge of a heartbeat, and notes its server.
func (s *Server) take(a netip.AddrPort, hb Heartbeat, now time.Time) (first bool, dropped uplink.Drop) {
	live, at := s.live.Load(), s.since(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	h, known := s.hosts.Get(a)
	var taken uint32
	if known {
		taken = h.taken
	}
	if dropped = s.prove(a, taken, hb.Challenge, live, now); dropped != uplink.NotDropped {
		return false, dropped
	}
	if !known {
		limit := live.MaxPerAddr
		if s.opt.Trusted.Has(a.Addr()) {
			limit = 0
		}
		if dropped = s.hosts.Refusal(a.Addr(), limit); dropped != uplink.NotDropped {
			return false, dropped
		}
	}
	if !s.opt.Targets.Watch(a) {
		return false, uplink.NeverAsked
	}
	if !known {
		h = &host{first: at, region: AnyRegion}
		s.hosts.Put(a, h)
	}
	if h.region != hb.Region {
		s.lister.move(a)
	}
	h.seen, h.region = at, hb.Region
	h.taken++
	return !known, uplink.NotDropped
}

// prove returns why a challenge is not accepted. Guesses are
// rationed like everything that proves nothing.
func (s *Server) prove(a netip.AddrPort, taken, challenge uint32, live *live, now time.Time) (dropped uplink.Drop) {
	switch {
	case s.tokens.valid(a, taken, challenge, s.since(now)):
		return uplink.NotDropped
	case !s.opt.Trusted.Has(a.Addr()) && !live.unproved.Allow(a.Addr(), now):
		return uplink.Limited
	default:
		return uplink.Wrong
	}
}

// goodbye removes a server whose goodbye has a proof. See "Servers" in doc.go.
func (s *Server) goodbye(p netserve.Packet, body []byte, now time.Time) (dropped uplink.Drop) {
	g, err := ParseGoodbye(body)
	switch {
	case err != nil:
		return uplink.Malformed
	case !g.HasChallenge:
		return uplink.Goodbye
	}
	if dropped = s.leave(p.From, g.Challenge, now); dropped == uplink.NotDropped {
		s.note(p.From, verdicts.Left)
	}
	return dropped
}

func (s *Server) leave(a netip.AddrPort, challenge uint32, now time.Time) (dropped uplink.Drop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, known := s.hosts.Get(a)
	if !known {
		return uplink.Goodbye
	}
	if dropped = s.prove(a, h.taken, challenge, s.live.Load(), now); dropped == uplink.NotDropped {
		s.forget(a, h)
	}
	return dropped
}

func verdictOn(dropped uplink.Drop) verdicts.Verdict {
	if v, ok := dropped.Verdict(); ok && dropped != uplink.Wrong {
		return v
	}
	return verdicts.StaleChallenge
}

// adopt watches the servers that were listed before the start and proved their
// address then.
func (s *Server) adopt(now time.Time) {
	at := s.since(now)
	for _, srv := range s.list.All() {
		a := srv.Key.Source
		if srv.Origin != Origin || srv.Node != "" || !a.Addr().Is4() || s.opt.Banned.Has(a.Addr()) {
			continue
		}
		s.mu.Lock()
		if _, known := s.hosts.Get(a); !known && s.hosts.Refusal(a.Addr(), 0) == uplink.NotDropped && s.opt.Targets.Watch(a) {
			s.hosts.Put(a, &host{first: at, seen: at, region: AnyRegion})
		}
		s.mu.Unlock()
	}
}

// look removes servers that were silent for too long or have been banned, and
// records verdicts on servers that do not answer, or no longer do.
func (s *Server) look(at time.Duration) {
	timeout := s.live.Load().Timeout
	var said []verdicts.Noted
	defer func() { s.opt.Verdicts.NoteAll(serviceName, "", said) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	for a, h := range s.hosts.All() {
		switch {
		case s.opt.Banned.Has(a.Addr()):
			s.forget(a, h)
			said = append(said, verdicts.Noted{Addr: a, Verdict: verdicts.Banned})
			continue
		case at-h.seen >= timeout:
			s.forget(a, h)
			said = append(said, verdicts.Noted{Addr: a, Verdict: verdicts.Expired})
			continue
		}
		switch listed := s.listed(a); {
		case listed:
			h.listed, h.told = true, false
		case s.opt.Targets.Answers(a):
			h.listed = false // and the reason has been noted
		case h.listed || !h.told && at-h.first >= answerTimeout:
			said = append(said, verdicts.Noted{Addr: a, Verdict: verdicts.Unanswered})
			h.listed, h.told = false, true
		}
	}
}

func (s *Server) forget(a netip.AddrPort, h *host) {
	s.hosts.Remove(a)
	if h.region != AnyRegion {
		s.lister.move(a)
	}
	s.opt.Targets.Unwatch(a)
}

// listed reports whether a server is in the list because it answers A2S.
func (s *Server) listed(a netip.AddrPort) bool {
	srv, ok := s.list.At(a)
	return ok && !srv.Restored && srv.SpeaksA2S()
}

// Waiting is a server that sends heartbeats and is not in the list.
type Waiting struct {
	Addr        netip.AddrPort
	Answers     bool      // when it is asked; so the list does not take it
	First, Seen time.Time // its first heartbeat, and the last
}

// Waiting returns the servers that send heartbeats and are not in the list, in
// no particular order.
func (s *Server) Waiting() (list []Waiting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for a, h := range s.hosts.All() {
		if !s.listed(a) {
			list = append(list, Waiting{a, s.opt.Targets.Answers(a), s.start.Add(h.first), s.start.Add(h.seen)})
		}
	}
	return list
}

// regionOf returns the region in a server's heartbeat.
func (s *Server) regionOf(a netip.AddrPort) byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.hosts.Get(a); ok {
		return h.region
	}
	return AnyRegion
}

func (s *Server) countHosts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hosts.Len()
}

// note notes a verdict. The game is known only from A2S.
func (s *Server) note(a netip.AddrPort, v verdicts.Verdict) {
	s.opt.Verdicts.Note(serviceName, a, "", v)
}

// noteStranger is note for a packet that may be forged: it does not replace
// verdicts on a known server.
func (s *Server) noteStranger(a netip.AddrPort, v verdicts.Verdict) {
	if _, known := s.taken(a); !known {
		s.note(a, v)
	}
}
