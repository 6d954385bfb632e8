package qr2

import (
	"encoding/binary"
	"net/netip"
)

// Kind is the first byte of a host's packet and the third of ours.
type Kind byte

// The packet kinds. See the table in the package comment.
const (
	KindQuery      Kind = 0x00
	KindChallenge  Kind = 0x01
	KindEcho       Kind = 0x02
	KindHeartbeat  Kind = 0x03
	KindRefusal    Kind = 0x04
	KindEchoReply  Kind = 0x05
	KindMessage    Kind = 0x06
	KindReceipt    Kind = 0x07
	KindKeepalive  Kind = 0x08
	KindAvailable  Kind = 0x09
	KindRegistered Kind = 0x0A
)

// Sizes of the wire format, in bytes.
const (
	// MaxPacket is the largest packet that is taken from a host. The original
	// clients send up to 2,048.
	MaxPacket = 4096
	// MaxReply is the largest packet that a host can receive whole.
	MaxReply = 255
	// MaxMessage is the largest client message that fits MaxReply.
	MaxMessage = MaxReply - replyHeader - 4

	header      = 5 // kind, instance key
	replyHeader = 7 // FE FD, kind, key
)

// refusedGeneral is the code of every refusal of ours. The host hands code and
// text to the game unchanged.
const refusedGeneral = 1

// appendHeader starts a packet to a host.
//
//	offset size
//	     0    2  FE FD
//	     2    1  kind
//	     3    4  instance key; for queries a key of our own
func appendHeader(b []byte, k Kind, key uint32) []byte {
	b = append(b, 0xFE, 0xFD, byte(k))
	return binary.BigEndian.AppendUint32(b, key)
}

// appendChallenge appends a complete challenge packet. The NUL must be its last
// byte: the host looks there for it.
func appendChallenge(b []byte, instance uint32, text string) []byte {
	b = appendHeader(b, KindChallenge, instance)
	b = append(b, text...)
	return append(b, 0)
}

// appendRefusal appends a complete 0x04 packet.
func appendRefusal(b []byte, instance uint32, code byte, text string) []byte {
	b = appendHeader(b, KindRefusal, instance)
	b = append(b, code)
	b = append(b, text...)
	return append(b, 0)
}

// appendMessage appends a complete client message.
func appendMessage(b []byte, instance, key uint32, data []byte) []byte {
	b = appendHeader(b, KindMessage, instance)
	b = binary.BigEndian.AppendUint32(b, key)
	return append(b, data...)
}

// appendAvailable appends the answer to the availability check, which has no
// key.
func appendAvailable(b []byte, disabled uint32) []byte {
	b = append(b, 0xFE, 0xFD, byte(KindAvailable))
	return binary.BigEndian.AppendUint32(b, disabled)
}

const hexDigits = "0123456789ABCDEF"

// appendChallengeText appends random, options, and the host's address as we see
// it. The host reads options and address from the end of the text.
func appendChallengeText(b []byte, random string, options byte, host netip.AddrPort) []byte {
	b = append(b, random...)
	b = appendHex(b, options)
	for _, octet := range host.Addr().As4() {
		b = appendHex(b, octet)
	}
	b = appendHex(b, byte(host.Port()>>8))
	return appendHex(b, byte(host.Port()))
}

func appendHex(b []byte, v byte) []byte {
	return append(b, hexDigits[v>>4], hexDigits[v&15])
}

// parseAvailable returns the game name of an availability check.
//
//	offset size
//	     0    1  09
//	     1    4  unused; not always zero
//	     5    -  game name, NUL
func parseAvailable(p []byte) (game []byte, ok bool) {
	if len(p) < header+2 || Kind(p[0]) != KindAvailable {
		return nil, false
	}
	game, _, ok = cutText(p[header:])
	return game, ok && len(game) > 0
}

// cutText cuts p at its first NUL.
func cutText(p []byte) (text, rest []byte, ok bool) {
	for i, c := range p {
		if c == 0 {
			return p[:i], p[i+1:], true
		}
	}
	return nil, nil, false
}
