package qr2

import (
	"errors"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// Texts that a refused host is sent. Some games show them to their user.
const (
	textUnknownGame = "Unknown game"
	textNoKey       = "Game has no key here"
	textBanned      = "Banned"
	textWrong       = "Invalid challenge response"
	textFull        = "Master server is full"
	textTooMany     = "Too many servers on this address"
	textReplaced    = "Master server is full, too many servers here"
	textMalformed   = "Malformed heartbeat"
)

func refusalSize(text string) int { return replyHeader + 1 + len(text) + 1 }

// introduce takes a heartbeat of a host that has to prove itself. listed: it is
// listed, or was when the list was saved.
func (s *Server) introduce(w netserve.PacketWriter, p netserve.Packet, key master.Key, listed bool) uplink.Drop {
	f, err := peek(p.Data)
	if f.state == stateLeaving && err == nil {
		return s.farewell(key)
	}
	// A heartbeat that is as long as its challenge cannot be used to flood others,
	// so it costs the address nothing that a real host there would lack.
	if !listed && len(p.Data) < challengeSize && !s.allow(key.Source.Addr(), time.Now()) {
		s.note(key.Source, string(f.game), verdicts.Limited)
		return uplink.Limited
	}
	if err != nil {
		s.note(key.Source, "", verdicts.Malformed)
		return uplink.Malformed
	}
	if s.opt.Banned.Has(key.Source.Addr()) {
		s.note(key.Source, string(f.game), verdicts.Banned)
		return s.reject(w, p, key.Instance, textBanned, uplink.Banned)
	}
	g, ok := s.opt.Games.LookupBytes(f.game)
	if !ok {
		s.note(key.Source, string(f.game), verdicts.UnknownGame)
		return s.reject(w, p, key.Instance, textUnknownGame, uplink.UnknownGame)
	}
	if !g.Usable() {
		s.note(key.Source, g.Name, verdicts.NoSecret)
		return s.reject(w, p, key.Instance, textNoKey, uplink.NoSecret)
	}
	return s.challenge(w, p, key, g, f.reported(key.Source.Addr(), p.Data[header:]))
}

// farewell takes the last heartbeat of a host that is restored or pending.
func (s *Server) farewell(key master.Key) uplink.Drop {
	if srv, ok := s.own(key); ok {
		s.leave(key, srv.Game)
		return uplink.NotDropped
	}
	s.mu.Lock()
	known := s.pending.Remove(key)
	s.mu.Unlock()
	if !known {
		return uplink.Unlisted
	}
	return uplink.NotDropped
}

// restoredKeepalive handles a keepalive of a host that is not listed, or only
// restored from the saved list. The latter is challenged at once: it knew its
// instance key, and its next heartbeat may be a minute away.
func (s *Server) restoredKeepalive(w netserve.PacketWriter, p netserve.Packet, key master.Key) uplink.Drop {
	srv, ok := s.own(key)
	if !ok || !srv.Restored {
		return uplink.Unlisted
	}
	g, ok := s.opt.Games.Lookup(srv.Game)
	if !ok || !g.Usable() {
		return uplink.UnknownGame
	}
	return s.challenge(w, p, key, g, reported{})
}

// challenge starts or continues with a verification. said is the content of a
// heartbeat, empty for other packets.
func (s *Server) challenge(w netserve.PacketWriter, p netserve.Packet, key master.Key, g games.Game, said reported) uplink.Drop {
	s.mu.Lock()
	h := s.pending.hear(key, p.To, len(p.Data), g, said, s.live.Load().MaxPending, time.Now())
	s.mu.Unlock()

	for range h.gone {
		s.opt.Metrics.Drop(uplink.TooManyPending.Error())
	}
	if h.fresh {
		s.note(key.Source, g.Name, verdicts.Heard)
	}
	if !h.send {
		return uplink.NoBudget
	}
	var buf [challengeSize]byte
	s.send(w, p, appendChallenge(buf[:0], key.Instance, h.challenge))
	s.metrics.challenges.Inc()
	s.note(key.Source, g.Name, verdicts.ChallengeSent)
	return uplink.NotDropped
}

// enter lists a host that has answered its challenge.
func (s *Server) enter(v *verified, now time.Time) error {
	srv, err := s.record(v, now)
	if err != nil {
		return err
	}
	return s.list.Put(srv)
}

// record makes the record of a host from the report that it was challenged for.
// A server that is listed already keeps its record. A restored server that was
// challenged on a keepalive has no other report. Every other server's reports were
// accepted.
func (s *Server) record(v *verified, now time.Time) (master.Server, error) {
	old, listed := s.own(v.Key)
	if listed && old.Game == v.Of.game.Name && (len(v.Of.said.text) == 0 || !old.Restored) {
		// The record is as new as the packet, or newer.
		srv := *old
		srv.Restored, srv.Seen, srv.Via, srv.Lifetime = false, now, v.Of.via, 0
		return srv, nil
	}
	if len(v.Of.said.text) == 0 {
		return master.Server{}, master.ErrNotListed
	}
	srv := master.Server{
		Key:    v.Key,
		Game:   v.Of.game.Name,
		Origin: Origin,
		Public: v.Key.Source,
		Via:    v.Of.via,
		NATNeg: v.Of.said.natNeg,
		Local:  v.Of.said.local,
		Seen:   now,
	}
	if listed {
		srv.Rules = old.Rules // its names will probably come again
	}
	srv.Country, srv.Region = s.opt.Locate.Of(v.Key.Source.Addr())
	s.source.Into(&srv, s.source.Text(v.Of.said.text))
	return srv, nil
}

// response checks the answer to a challenge.
func (s *Server) response(w netserve.PacketWriter, p netserve.Packet, key master.Key) uplink.Drop {
	now := time.Now()
	s.mu.Lock()
	v, budget, dropped := s.pending.answer(key, p.Data[header:], len(p.Data), now)
	tell := dropped == uplink.Wrong && s.live.Load().AddError && budget.Spend(refusalSize(textWrong), challengeSize)
	s.mu.Unlock()

	switch dropped {
	case uplink.Unexpected:
		return s.repeatedResponse(w, p, key)
	case uplink.Wrong:
		s.note(key.Source, v.Of.game.Name, verdicts.WrongResponse)
		if tell {
			s.refuse(w, p, key.Instance, textWrong)
		}
		return dropped
	default:
		return s.welcome(w, p, v, now)
	}
}

// repeatedResponse sends a listed server another confirmation: the first one
// may have been lost.
func (s *Server) repeatedResponse(w netserve.PacketWriter, p netserve.Packet, key master.Key) uplink.Drop {
	if srv, ok := s.own(key); !ok || srv.Restored || len(p.Data) < replyHeader {
		return uplink.Unexpected
	}
	s.reply(w, p, KindRegistered, key.Instance)
	return uplink.NotDropped
}

// welcome lists a verified host and sends it the confirmation, or the reason
// for a refusal.
func (s *Server) welcome(w netserve.PacketWriter, p netserve.Packet, v *verified, now time.Time) uplink.Drop {
	if s.opt.Banned.Has(v.Key.Source.Addr()) {
		return s.unwelcome(w, p, v, uplink.ErrBanned)
	}
	old, known := s.list.At(v.Key.Source)
	if err := s.enter(v, now); err != nil {
		return s.unwelcome(w, p, v, err)
	}
	if s.opt.Banned.Has(v.Key.Source.Addr()) { // since the first look
		s.list.Remove(v.Key)
		return s.unwelcome(w, p, v, uplink.ErrBanned)
	}
	s.metrics.registered.Inc()
	s.reply(w, p, KindRegistered, v.Key.Instance)
	restarted := known && old.Key != v.Key
	if restarted {
		s.note(v.Key.Source, v.Of.game.Name, verdicts.Restarted)
	}
	s.note(v.Key.Source, v.Of.game.Name, verdicts.Listed)
	s.mu.Lock()
	if restarted {
		s.messages.forget(old.Key)
	}
	s.probes.add(v.Key, v.Of.via, v.Of.game.QueryChallenge())
	s.mu.Unlock()
	return uplink.NotDropped
}

// refusalTexts are the texts for the reasons for which a verified host is not listed.
var refusalTexts = map[uplink.Drop]string{
	uplink.Banned: textBanned, uplink.Full: textFull, uplink.TooMany: textTooMany, uplink.Malformed: textMalformed,
}

// unwelcome sends a verified host the reason why it is not listed. Its address
// is proved, so the answer may be longer than the request.
func (s *Server) unwelcome(w netserve.PacketWriter, p netserve.Packet, v *verified, err error) uplink.Drop {
	if errors.Is(err, master.ErrNotListed) {
		return uplink.Unlisted // a restored server that expired; its next heartbeat is welcome
	}
	reason := uplink.WhyNot(err)
	verdict, _ := reason.Verdict()
	s.note(v.Key.Source, v.Of.game.Name, verdict)
	s.refuse(w, p, v.Key.Instance, refusalTexts[reason])
	return counted(reason)
}

// counted returns the reason under which a verified host is counted that is not listed.
func counted(reason uplink.Drop) uplink.Drop {
	if reason == uplink.TooMany {
		return uplink.Full
	}
	return reason
}

// reject refuses an unproved host, in no more bytes than it sent.
func (s *Server) reject(w netserve.PacketWriter, p netserve.Packet, instance uint32, text string, reason uplink.Drop) uplink.Drop {
	if refusalSize(text) <= len(p.Data) {
		s.refuse(w, p, instance, text)
	}
	return reason
}

func (s *Server) refuse(w netserve.PacketWriter, p netserve.Packet, instance uint32, text string) {
	if !s.live.Load().AddError {
		return
	}
	var buf [64]byte
	s.send(w, p, appendRefusal(buf[:0], instance, refusedGeneral, text))
	s.metrics.refusals.Inc()
}

// repeatChallenges sends the challenges that are due and forgets the hosts that
// did not answer.
func (s *Server) repeatChallenges(w netserve.PacketWriter, now time.Time) {
	s.mu.Lock()
	due, gone := s.pending.advance(now)
	s.mu.Unlock()

	for _, v := range gone {
		s.note(v.Key.Source, v.Of.game.Name, verdicts.NoAnswer)
	}
	var buf [challengeSize]byte
	for _, a := range due {
		s.out.Send(w, appendChallenge(buf[:0], a.key.Instance, a.text), a.via, a.key.Source)
		s.metrics.challenges.Inc()
	}
}
