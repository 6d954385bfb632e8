package qr2

import (
	"encoding/binary"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// This file is the host's side of the protocol, for the self-test and for
// tests.

// Reply is a packet from a master as a host reads it.
type Reply struct {
	Kind Kind
	Key  uint32 // instance key; for queries the key of the asker
	Body []byte // part of the packet
}

// ParseReply reads a packet from a master. ok is false for packets that a host
// would drop.
func ParseReply(p []byte) (r Reply, ok bool) {
	if len(p) < replyHeader || p[0] != 0xFE || p[1] != 0xFD {
		return r, false
	}
	return Reply{Kind(p[2]), binary.BigEndian.Uint32(p[3:]), p[replyHeader:]}, true
}

// Rule is a name and a value of a heartbeat.
type Rule struct{ Name, Value string }

// AppendResponse appends the answer to the challenge in the body of a Reply.
func AppendResponse(b []byte, instance uint32, secret string, challenge []byte) []byte {
	text, _, _ := cutText(challenge)
	b = appendHostHeader(b, KindChallenge, instance)
	b = gamespy.AppendResponse(b, secret, string(text))
	return append(b, 0)
}

// AppendReceipt appends the receipt of the client message in the body of a
// Reply.
func AppendReceipt(b []byte, instance uint32, message []byte) []byte {
	b = appendHostHeader(b, KindReceipt, instance)
	return append(b, message[:min(4, len(message))]...)
}

// AppendKeepalive appends a keepalive.
func AppendKeepalive(b []byte, instance uint32) []byte {
	return appendHostHeader(b, KindKeepalive, instance)
}

func appendHostHeader(b []byte, k Kind, instance uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, byte(k)), instance)
}
