package zanmaster

import (
	"errors"
	"net/netip"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
)

// challenge takes the message with which a server announces itself, which is
// its heartbeat too.
func (s *Server) challenge(w netserve.PacketWriter, p netserve.Packet, c zandronum.Challenge, now time.Time) uplink.Drop {
	if s.heartbeat(p, c, now) {
		s.metrics.received.heartbeat.Inc()
		return uplink.NotDropped
	}
	s.metrics.received.challenge.Inc()
	if refused := s.refusal(p.From.Addr(), now); refused != uplink.NotDropped {
		s.noteDrop(p.From, refused)
		s.gate.refused(p.From.Addr(), s.since(now))
		s.answer(w, p, zandronum.AnswerBanned)
		s.metrics.answers.banned.Inc()
		return refused
	}
	if c.Outdated() {
		s.note(p.From, verdicts.Outdated)
		s.gate.refused(p.From.Addr(), s.since(now))
		return uplink.Outdated
	}
	if len(c.Verification) > maxVerification {
		return uplink.Malformed
	}
	return s.introduce(w, p, c, now)
}

// refusal returns why an address that is not banned may not be listed.
func (s *Server) refusal(a netip.Addr, now time.Time) uplink.Drop {
	switch {
	case s.blocked(a, now):
		return uplink.Blocked
	case !covers(s.live.Load().AllowServers, a):
		return uplink.NotAllowed
	default:
		return uplink.NotDropped
	}
}

// heartbeat handles the heartbeat of a known server. It returns false if the
// server is unknown, was restarted, or was removed from the list.
func (s *Server) heartbeat(p netserve.Packet, c zandronum.Challenge, now time.Time) bool {
	var n notes
	defer func() { s.noteAll(n) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	h, known := s.hosts.known.Get(p.From)
	if !known || !c.Complete || !sameVerification(h.verification, c.Verification) {
		return false
	}
	if h.listed && !s.list.Touch(h.key(), Origin, now) {
		s.hosts.removeHost(h.addr)
		return false
	}
	h.seen, h.via = now, p.To
	if h.enforces != c.Enforces || (!h.listed && s.live.Load().shows(h.enforces)) {
		h.enforces = c.Enforces
		s.place(h, &n)
	}
	return true
}

// introduce starts the verification of a server, or continues with it. One that
// is listed already stays so meanwhile.
func (s *Server) introduce(w netserve.PacketWriter, p netserve.Packet, c zandronum.Challenge, now time.Time) uplink.Drop {
	live, a := s.live.Load(), p.From.Addr()
	most := bounds{servers: s.serversPerAddr(a, now), pending: live.MaxPending}
	if !s.free(a, now) {
		most.requests = live.unproved
	}
	var coded [maxRequest]byte
	s.mu.Lock()
	request, gone, dropped := s.hosts.introduce(coded[:0], p, c, most, now)
	s.mu.Unlock()
	for range gone {
		s.opt.Metrics.Drop(uplink.TooManyPending.Error())
	}
	if dropped != uplink.NotDropped {
		s.noteDrop(p.From, dropped)
		return dropped
	}
	s.out.Send(w, request, p.To, p.From)
	s.metrics.requests.Inc()
	s.note(p.From, verdicts.ChallengeSent)
	return uplink.NotDropped
}

// serversPerAddr returns the maximum number of servers of an address; 0: no
// limit.
func (s *Server) serversPerAddr(a netip.Addr, now time.Time) int {
	if live := s.live.Load(); !s.free(a, now) {
		return live.ServersPerAddress
	}
	return 0
}

// free reports whether no bound per address binds an address.
func (s *Server) free(a netip.Addr, now time.Time) bool {
	return s.opt.Trusted.Has(a) || s.access.Load().multi.has(a, now)
}

// verification takes a server's answer and lists it.
func (s *Server) verification(w netserve.PacketWriter, p netserve.Packet, body []byte, now time.Time) uplink.Drop {
	s.metrics.received.verification.Inc()
	got, ok := zandronum.ParseVerification(body)
	if !ok {
		return uplink.Malformed
	}
	h, first, dropped := s.verify(p, got, now)
	if dropped != uplink.NotDropped {
		return dropped
	}
	s.metrics.registered.Inc()
	if h.listed {
		s.note(p.From, verdicts.Listed)
	} else {
		s.note(p.From, verdicts.Hidden)
	}
	s.metrics.bans.sent.Inc()
	s.writeBans(w, first)
	if !h.push.whole {
		s.wakeUp()
	}
	return uplink.NotDropped
}

// verify checks an answer, makes the server a known one, and returns a copy of
// it with the first part of its ban list.
func (s *Server) verify(p netserve.Packet, got zandronum.Verification, now time.Time) (h host, first banPacket, dropped uplink.Drop) {
	var said notes
	defer func() { s.noteAll(said) }()
	limit := s.serversPerAddr(p.From.Addr(), now)
	s.mu.Lock()
	defer s.mu.Unlock()
	n, dropped := s.hosts.answer(p.From, p.To, got, limit, now, &said)
	if dropped != uplink.NotDropped {
		return h, first, dropped
	}
	if dropped := s.place(n, &said); dropped != uplink.NotDropped {
		return h, first, dropped
	}
	s.hosts.addHost(n)
	first, _ = n.push.next(n, s.access.Load(), now)
	return *n, first, uplink.NotDropped
}

func (h *host) key() master.Key { return master.Key{Source: h.addr} }

// place lists or removes a known server according to the configuration, and
// returns the reason if it could not be listed. Server.mu is held.
func (s *Server) place(h *host, n *notes) (dropped uplink.Drop) {
	live := s.live.Load()
	if !live.shows(h.enforces) {
		if h.listed {
			s.list.Remove(h.key())
			h.listed = false
			n.add(h.addr, verdicts.Hidden)
		}
		return uplink.NotDropped
	}
	srv, err := s.record(h, live)
	if err == nil {
		err = s.list.Put(srv)
	}
	h.listed = err == nil
	switch {
	case err == nil:
		return uplink.NotDropped
	case errors.Is(err, master.ErrFull):
		n.add(h.addr, verdicts.ListFull)
		return uplink.Full
	case errors.Is(err, master.ErrTooManyHere):
		n.add(h.addr, verdicts.TooManyHere)
		return uplink.TooMany
	default:
		s.opt.Log.Debug().Stringer("peer", h.addr).Err(err).Msg("server not listed")
		n.add(h.addr, verdicts.Limited)
		return uplink.Full
	}
}

// slack is the additional lifetime of a server in the registry: known servers
// are removed by expire.
const slack = 10 * time.Second

// record makes the record of a server, keeping earlier findings.
func (s *Server) record(h *host, live *live) (master.Server, error) {
	srv := master.Server{
		Key: h.key(), Game: zandronum.Game, Origin: Origin,
		Public: live.public(h.addr), Via: h.via, Seen: h.seen, First: h.first, Lifetime: live.Timeout + slack,
	}
	old, known := s.list.At(h.addr)
	known = known && old.Key == srv.Key && old.Game == srv.Game && old.Origin == srv.Origin
	names := []string{zandronum.RuleEnforces, zandronum.RuleRevision}
	values := []string{"0", strconv.FormatUint(uint64(h.revision), 10)}
	if h.enforces {
		values[0] = "1"
	} else if live.marks(h.enforces) {
		names, values = append(names, zandronum.RuleWarning), append(values, "does not enforce the ban list")
	}
	if known {
		for name, value := range old.Rules.All() {
			if name != zandronum.RuleEnforces && name != zandronum.RuleRevision && name != zandronum.RuleWarning {
				names, values = append(names, name), append(values, value)
			}
		}
		srv.Findings, srv.First, srv.Country, srv.Region = old.Findings, old.First, old.Country, old.Region
	} else {
		srv.Country, srv.Region = s.opt.Locate.Of(h.addr.Addr())
	}
	var report master.Report
	kept := s.list.Names(names)
	for i, value := range values {
		if _, slot := kept.ReportedName(i); slot >= 0 {
			report.Rule([]byte(value))
		}
	}
	report.SetRules(kept)
	err := report.Into(&srv)
	if known {
		srv.Players, srv.Teams = old.Players, old.Teams
	}
	return srv, err
}

// expire forgets the servers that were silent for too long.
func (s *Server) expire(now time.Time) {
	timeout := s.live.Load().Timeout
	var n notes
	defer func() { s.noteAll(n) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hosts.expire(now, timeout, &n) {
		s.list.Remove(h.key())
	}
}

// Expired notes that the registry dropped a silent server. The owner of the
// registry calls it.
func (s *Server) Expired(srv *master.Server) { s.note(srv.Key.Source, verdicts.Expired) }

// Replaced handles that the registry dropped a server for a newcomer. The
// protocol cannot inform the server. The owner of the registry calls it.
func (s *Server) Replaced(srv *master.Server) { s.note(srv.Key.Source, verdicts.Replaced) }

// enforce applies bans and configuration to the known servers.
func (s *Server) enforce() {
	now := time.Now()
	reason := func(a netip.Addr) uplink.Drop {
		switch {
		case !a.Is4():
			return uplink.NotDropped
		case s.banned(a, now):
			return uplink.Banned
		default:
			return s.refusal(a, now)
		}
	}
	var n notes
	for _, srv := range s.list.RemoveFunc(func(srv *master.Server) bool {
		return srv.Origin == Origin && reason(srv.Key.Source.Addr()) != uplink.NotDropped
	}) {
		n.drop(srv.Key.Source, reason(srv.Key.Source.Addr()))
	}
	live, version := s.live.Load(), s.access.Load().version
	s.mu.Lock()
	for a, h := range s.hosts.known.All() {
		refused := reason(a.Addr())
		switch {
		case refused != uplink.NotDropped:
			s.hosts.removeHost(a)
			if !h.listed {
				n.drop(a, refused)
			}
		case s.misplaced(h, live):
			s.place(h, &n)
		}
		if refused == uplink.NotDropped && h.push.has != version {
			s.hosts.behind[a] = h
		}
	}
	for c := range s.hosts.pending.All() {
		if reason(c.addr.Addr()) != uplink.NotDropped {
			s.hosts.pending.Remove(c)
		}
	}
	s.mu.Unlock()
	s.noteAll(n)
	s.wakeUp()
}

// misplaced reports whether the listing of a server does not match the
// configuration.
func (s *Server) misplaced(h *host, live *live) bool {
	if !h.listed || !live.shows(h.enforces) {
		return h.listed != live.shows(h.enforces)
	}
	srv, ok := s.list.Get(h.key())
	if !ok {
		return false // its next heartbeat finds out
	}
	_, warned := srv.Rules.Get(zandronum.RuleWarning)
	return srv.Public != live.public(h.addr) || warned != live.marks(h.enforces)
}

// receipt notes that a ban list has come.
func (s *Server) receipt(from netip.AddrPort, verification []byte) uplink.Drop {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, known := s.hosts.known.Get(from)
	if !known || !sameVerification(h.verification, verification) || !h.push.received() {
		return uplink.Unexpected
	}
	s.metrics.bans.received.Inc()
	return uplink.NotDropped
}
