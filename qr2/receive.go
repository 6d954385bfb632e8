package qr2

import (
	"encoding/binary"
	"net/netip"

	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// This file receives packets. Those of listed hosts are handled in listed.go,
// those of others in register.go, the text protocol in qr1.go.

// ServePacket handles one datagram. It touches memory only.
func (s *Server) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	if reason := s.handle(w, p); reason != uplink.NotDropped {
		s.opt.Metrics.Drop(reason.Error())
		s.explain(p, reason)
	}
}

// handle returns why the packet was dropped.
func (s *Server) handle(w netserve.PacketWriter, p netserve.Packet) (dropped uplink.Drop) {
	b := p.Data
	switch {
	case len(b) == 0:
		return uplink.Empty
	case len(b) > MaxPacket:
		return uplink.Oversized
	case !p.From.Addr().Is4() || p.From.Port() == 0:
		return uplink.Foreign
	case b[0] == '\\':
		return s.text.handle(w, p)
	case b[0] == ';':
		return uplink.CDKey
	case b[0] == 0xFE:
		return uplink.Ours
	case b[0] > byte(KindRegistered) && s.opt.Guests.Serve(w, p):
		return uplink.NotDropped
	case query.IsText(b): // an answer without its first backslash
		return s.text.answer(w, p)
	case b[0] > byte(KindRegistered):
		return uplink.Foreign
	case len(b) < header:
		return uplink.Short
	}
	key := master.Key{Source: p.From, Instance: binary.BigEndian.Uint32(b[1:])}
	switch Kind(b[0]) {
	case KindKeepalive:
		return s.keepalive(w, p, key)
	case KindHeartbeat:
		return s.heartbeat(w, p, key)
	case KindChallenge:
		return s.response(w, p, key)
	case KindReceipt:
		return s.receipt(p, key)
	case KindAvailable:
		return s.available(w, p)
	case KindQuery, KindEcho, KindRefusal, KindEchoReply, KindMessage, KindRegistered:
		return uplink.Unexpected
	default:
		return uplink.UnknownKind
	}
}

// explain notes the reason for which a packet was dropped if it has no verdict
// yet; otherwise the operator would look for a network problem. The verdict on
// a listed server stays, since the packet may be forged; but reports that are too
// long are why it is going to expire.
func (s *Server) explain(p netserve.Packet, reason uplink.Drop) {
	switch reason {
	case uplink.Oversized:
		s.foreign.Note(p.From, verdicts.TooLong)
		return
	case uplink.Foreign, uplink.Short, uplink.UnknownKind, uplink.CDKey, uplink.Ours, uplink.Malformed, uplink.Unexpected, uplink.Unlisted:
	default:
		return
	}
	if _, listed := s.list.At(p.From); listed {
		return
	}
	switch {
	case s.foreign.Foreign(p.From, p.Data, foreign.QR2, foreign.QR1):
	case reason == uplink.Unlisted && Kind(p.Data[0]) == KindKeepalive:
		s.foreign.Note(p.From, verdicts.KeepaliveAlone)
	case reason == uplink.Unlisted && Kind(p.Data[0]) == KindHeartbeat:
		s.foreign.Note(p.From, verdicts.Left)
	case reason == uplink.Foreign, reason == uplink.Short, reason == uplink.UnknownKind, reason == uplink.Ours,
		reason == uplink.Malformed && Kind(p.Data[0]) == KindAvailable:
		s.foreign.Note(p.From, verdicts.NotUnderstood)
	}
}

// reply answers a packet with one that has no body.
func (s *Server) reply(w netserve.PacketWriter, p netserve.Packet, k Kind, instance uint32) {
	buf := s.replies.Get().(*[replyHeader]byte)
	s.send(w, p, appendHeader(buf[:0], k, instance))
	s.replies.Put(buf)
}

// send answers a packet from the address that it was sent to.
func (s *Server) send(w netserve.PacketWriter, p netserve.Packet, reply []byte) {
	s.out.Send(w, reply, p.To, p.From)
}

func (s *Server) note(a netip.AddrPort, game string, v verdicts.Verdict) {
	s.opt.Verdicts.Note(serviceName, a, game, v)
}
