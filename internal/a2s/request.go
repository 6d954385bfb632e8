package a2s

import (
	"bytes"
	"encoding/binary"
)

// NoChallenge is the challenge of a request whose sender has none yet.
const NoChallenge uint32 = 0xFFFFFFFF

const infoText = "Source Engine Query\x00"

// Request is a query of a client.
//
//	offset size
//	     0    4  -1
//	     4    1  kind
//	     5   20  InfoRequest alone: "Source Engine Query", NUL
//	     -    4  challenge; PlayersRequest and RulesRequest without one have -1
//	             there, the others leave it out
//
// Bytes that follow are ignored.
type Request struct {
	Kind      Kind
	Challenge uint32 // NoChallenge: none
}

// AppendRequest appends a whole request.
func AppendRequest(dst []byte, q Request) []byte {
	dst = appendHeader(dst, q.Kind)
	if q.Kind == InfoRequest {
		dst = append(dst, infoText...)
	}
	if q.Challenge != NoChallenge || q.Kind == PlayersRequest || q.Kind == RulesRequest {
		dst = appendUint32(dst, q.Challenge)
	}
	return dst
}

// ParseRequest reads a request as servers do: one without challenge has
// NoChallenge, and surplus bytes are ignored. The error is ErrForeign for other
// packets and other kinds, ErrMalformed for an InfoRequest without its text.
func ParseRequest(packet []byte) (Request, error) {
	if len(packet) <= headerSize || binary.LittleEndian.Uint32(packet) != headerSingle {
		return Request{}, ErrForeign
	}
	q := Request{Kind: Kind(packet[headerSize]), Challenge: NoChallenge}
	rest := packet[headerSize+1:]
	switch q.Kind {
	case InfoRequest:
		var ok bool
		if rest, ok = bytes.CutPrefix(rest, []byte(infoText)); !ok {
			return Request{}, ErrMalformed
		}
	case PlayersRequest, RulesRequest, ChallengeRequest, PingRequest:
	default:
		return Request{}, ErrForeign
	}
	if len(rest) >= 4 {
		q.Challenge = binary.LittleEndian.Uint32(rest)
	}
	return q, nil
}

// AppendChallenge appends the answer that issues a challenge.
//
//	offset size
//	     0    4  -1
//	     4    1  KindChallenge
//	     5    4  challenge
func AppendChallenge(dst []byte, challenge uint32) []byte {
	return appendUint32(appendHeader(dst, KindChallenge), challenge)
}

// ParseChallenge reads the body of a KindChallenge. The error is ErrMalformed.
func ParseChallenge(body []byte) (challenge uint32, err error) {
	if len(body) < 4 {
		return 0, ErrMalformed
	}
	return binary.LittleEndian.Uint32(body), nil
}

// The texts of the answers to a PingRequest.
const (
	PingGoldSource = ""
	PingSource     = "00000000000000"
)

// ParsePing reads the body of a KindPing. The text has no meaning, and may be
// cut or missing.
func ParsePing(body []byte) (text string) {
	p, _, _ := bytes.Cut(body, []byte{0})
	return string(p)
}
