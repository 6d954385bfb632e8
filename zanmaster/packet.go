package zanmaster

import (
	"time"

	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/zandronum"
)

const (
	// maxPacket is the size of the largest datagram that is looked at.
	maxPacket = 1500
	// maxMessage is the size of the largest message that is looked at. None
	// that makes sense has a tenth of it.
	maxMessage = 1024
)

// ServePacket handles one datagram. It touches memory only.
func (s *Server) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	if reason := s.handle(w, p); reason != uplink.NotDropped {
		s.opt.Metrics.Drop(reason.Error())
		s.explain(p, reason)
	}
}

// handle returns why the packet was dropped.
func (s *Server) handle(w netserve.PacketWriter, p netserve.Packet) (dropped uplink.Drop) {
	switch {
	case len(p.Data) == 0:
		return uplink.Empty
	case len(p.Data) > maxPacket:
		return uplink.Oversized
	case !p.From.Addr().Is4() || p.From.Port() == 0:
		return uplink.Foreign
	}
	buf := s.buffers.Get().(*[maxMessage]byte)
	defer s.buffers.Put(buf)
	message := zandronum.Decode(buf[:0], p.Data, maxMessage)
	if len(message) == 0 {
		return uplink.Empty
	}
	now := time.Now()
	kind, body := zandronum.ParseKind(message)
	if s.banned(p.From.Addr(), now) {
		return s.refuseBanned(w, p, kind, now)
	}
	switch kind {
	case zandronum.KindChallenge:
		return s.challenge(w, p, zandronum.ParseChallenge(body), now)
	case zandronum.KindVerification:
		return s.verification(w, p, body, now)
	case zandronum.KindReceipt:
		return s.receipt(p.From, zandronum.ParseReceipt(body))
	case zandronum.KindListRequest:
		s.metrics.received.list.Inc()
		return s.launcher(w, p, zandronum.ParseListRequest(body), now)
	case zandronum.KindQuery:
		s.metrics.received.oldList.Inc()
		return s.oldLauncher(w, p, now)
	default:
		s.gate.garbage(p.From, s.since(now))
		return uplink.UnknownKind
	}
}

// refuseBanned answers a banned address, whatever it sent, unless that was an answer:
// two masters that ban each other, or an echo, would never stop. For the same
// reason it is done at the rate of strangers.
func (s *Server) refuseBanned(w netserve.PacketWriter, p netserve.Packet, kind zandronum.Kind, now time.Time) uplink.Drop {
	if kind == zandronum.KindChallenge {
		s.note(p.From, verdicts.Banned)
	}
	s.gate.refused(p.From.Addr(), s.since(now))
	if !zandronum.IsAnswer(kind) && s.live.Load().unproved.Allow(p.From.Addr(), now) {
		s.answer(w, p, zandronum.AnswerBanned)
		s.metrics.answers.banned.Inc()
	}
	return uplink.Banned
}

// since is the time on the clock of the gate.
func (s *Server) since(now time.Time) time.Duration { return now.Sub(s.start) }

// answer sends one of the answers that are only a number, unless it is longer
// than the question.
func (s *Server) answer(w netserve.PacketWriter, p netserve.Packet, a zandronum.Answer) {
	if b := s.answers[a]; len(b) <= len(p.Data) {
		s.out.Send(w, b, p.To, p.From)
	}
}

// explain notes the reason for which a packet was dropped if it has no verdict
// yet; otherwise the operator would look for a network problem. The verdict on
// a listed server stays, since the packet may be forged, unless its reports are too
// long. A packet that decodes to nothing may be a launcher's, so it gets a verdict
// only if it is recognised.
func (s *Server) explain(p netserve.Packet, reason uplink.Drop) {
	switch reason {
	case uplink.Oversized:
		s.foreign.Note(p.From, verdicts.TooLong)
		return
	case uplink.Empty, uplink.UnknownKind, uplink.Malformed:
	default:
		return
	}
	if _, listed := s.list.At(p.From); listed || len(p.Data) == 0 {
		return
	}
	switch {
	case s.foreign.Foreign(p.From, p.Data, foreign.Zandronum):
	case reason == uplink.UnknownKind:
		s.foreign.Note(p.From, verdicts.NotUnderstood)
	case reason == uplink.Malformed:
		s.foreign.Note(p.From, verdicts.Malformed)
	}
}
