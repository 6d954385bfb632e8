package valvemaster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"strconv"
)

// Kind is the first byte of a message.
type Kind byte

// The kinds of message.
const (
	KindChallengeRequest Kind = 'q' // game server to master
	KindChallenge        Kind = 's' // master to game server
	KindHeartbeat        Kind = '0' // game server to master
	KindGoodbye          Kind = 'b' // game server to master
	KindListRequest      Kind = '1' // browser to master
	KindList             Kind = 'f' // master to browser
)

// prefix marks messages that belong to no connection.
var prefix = []byte{0xFF, 0xFF, 0xFF, 0xFF}

var errMalformed = errors.New("malformed message")

// ParseKind returns the kind of a message and the rest. ok is false for a
// message without a kind.
func ParseKind(p []byte) (k Kind, body []byte, ok bool) {
	p = bytes.TrimPrefix(p, prefix)
	if len(p) == 0 {
		return 0, nil, false
	}
	return Kind(p[0]), p[1:], true
}

// appendHeader begins an answer.
func appendHeader(b []byte, k Kind) []byte { return append(append(b, prefix...), byte(k), '\n') }

// parseAnswer returns the data after the header of an answer.
func parseAnswer(p []byte, k Kind) (body []byte, ok bool) {
	if len(p) < 6 || !bytes.HasPrefix(p, prefix) || Kind(p[4]) != k || p[5] != '\n' {
		return nil, false
	}
	return p[6:], true
}

// isEnd reports whether the rest is only an end mark of engines.
func isEnd(b []byte) bool { return len(bytes.Trim(b, "\n\x00")) == 0 }

// ChallengeRequest is sent by a server before each heartbeat.
//
//	offset size
//	     0    1  'q'
//	     1    1  FF; left out by some engines
//	     2    4  nonce, to be sent back; left out by most
type ChallengeRequest struct {
	Nonce    uint32
	HasNonce bool
}

// ParseChallengeRequest parses the data after the kind.
func ParseChallengeRequest(body []byte) (ChallengeRequest, error) {
	switch {
	case len(body) == 5 && body[0] == 0xFF:
		return ChallengeRequest{binary.LittleEndian.Uint32(body[1:]), true}, nil
	case len(body) > 0 && body[0] == 0xFF && isEnd(body[1:]), isEnd(body):
		return ChallengeRequest{}, nil
	default:
		return ChallengeRequest{}, errMalformed
	}
}

// AppendTo appends the message.
func (r ChallengeRequest) AppendTo(b []byte) []byte {
	b = append(b, byte(KindChallengeRequest), 0xFF)
	if r.HasNonce {
		b = binary.LittleEndian.AppendUint32(b, r.Nonce)
	}
	return b
}

// Challenge answers a ChallengeRequest.
//
//	offset size
//	     0    6  FF FF FF FF 's' 0A
//	     6    4  challenge, to be sent back in the heartbeat
//	    10    4  nonce of the request, if it had one
type Challenge struct {
	Challenge uint32
	Nonce     uint32
	HasNonce  bool
}

// maxChallenge is the size of the longest Challenge.
const maxChallenge = 14

// ParseChallenge reads a whole message.
func ParseChallenge(p []byte) (Challenge, error) {
	body, ok := parseAnswer(p, KindChallenge)
	if !ok || (len(body) != 4 && len(body) != 8) {
		return Challenge{}, errMalformed
	}
	c := Challenge{Challenge: binary.LittleEndian.Uint32(body)}
	if len(body) == 8 {
		c.Nonce, c.HasNonce = binary.LittleEndian.Uint32(body[4:]), true
	}
	return c, nil
}

// AppendTo appends the message.
func (c Challenge) AppendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(appendHeader(b, KindChallenge), c.Challenge)
	if c.HasNonce {
		b = binary.LittleEndian.AppendUint32(b, c.Nonce)
	}
	return b
}

// Goodbye is sent by a server when it stops.
//
//	offset size
//	     0    2  'b' 0A
//	     2    -  \challenge\ and a challenge; engines send none
type Goodbye struct {
	Challenge    uint32
	HasChallenge bool
}

var challengeKey = []byte(`\challenge\`)

// ParseGoodbye parses the data after the kind.
func ParseGoodbye(body []byte) (Goodbye, error) {
	rest := bytes.Trim(body, "\n\x00")
	if len(rest) == 0 {
		return Goodbye{}, nil
	}
	text, has := bytes.CutPrefix(rest, challengeKey)
	c, ok := parseChallenge(text)
	if !has || !ok {
		return Goodbye{}, errMalformed
	}
	return Goodbye{c, true}, nil
}

// AppendTo appends the message.
func (g Goodbye) AppendTo(b []byte) []byte {
	b = append(b, byte(KindGoodbye), '\n')
	if g.HasChallenge {
		b = appendDecimal(append(b, challengeKey...), g.Challenge)
	}
	return b
}

// ListRequest requests a page of the list.
//
//	offset size
//	     0    1  '1'
//	     1    1  region; 255: all
//	     2    -  seed, "a.b.c.d:port", NUL-terminated: the last server of the page
//	             before, 0.0.0.0:0 for the first
//	     -    -  filter, NUL-terminated; see "Filters" in doc.go
type ListRequest struct {
	Region byte
	Seed   netip.AddrPort
	Filter []byte // part of the packet that it was parsed from
}

// Start is the seed of the first page, and the end mark of the last.
var Start = netip.AddrPortFrom(netip.IPv4Unspecified(), 0)

// ParseListRequest parses the data after the kind. The filter's end mark may be
// missing. Without a filter, some versions of qstat send a stray byte in place
// of the end of the seed; it is ignored.
func ParseListRequest(body []byte) (ListRequest, error) {
	if len(body) < 2 {
		return ListRequest{}, errMalformed
	}
	text, filter, ended := bytes.Cut(body[1:], []byte{0})
	seed, rest, ok := parseAddrPort(text)
	if !ok || !ended || len(rest) > 1 {
		return ListRequest{}, errMalformed
	}
	filter, _, _ = bytes.Cut(filter, []byte{0})
	return ListRequest{Region: body[0], Seed: seed, Filter: filter}, nil
}

// AppendTo appends the message. The filter must not hold a NUL.
func (r ListRequest) AppendTo(b []byte) []byte {
	b = append(b, byte(KindListRequest), r.Region)
	b = append(r.Seed.AppendTo(b), 0)
	return append(append(b, r.Filter...), 0)
}

// parseAddrPort reads "a.b.c.d:port" at the beginning of text.
func parseAddrPort(text []byte) (a netip.AddrPort, rest []byte, ok bool) {
	var ip [4]byte
	rest = text
	for i := range ip {
		var n uint64
		if n, rest, ok = parseDigits(rest, 3); !ok || n > 255 {
			return a, nil, false
		}
		ip[i] = byte(n)
		separator := byte('.')
		if i == 3 {
			separator = ':'
		}
		if len(rest) == 0 || rest[0] != separator {
			return a, nil, false
		}
		rest = rest[1:]
	}
	port, rest, ok := parseDigits(rest, 5)
	if !ok || port > 65535 {
		return a, nil, false
	}
	return netip.AddrPortFrom(netip.AddrFrom4(ip), uint16(port)), rest, true
}

// parseDigits reads a number of one to most digits at the beginning of text.
func parseDigits(text []byte, most int) (n uint64, rest []byte, ok bool) {
	i := 0
	for i < len(text) && i < most && '0' <= text[i] && text[i] <= '9' {
		n = n*10 + uint64(text[i]-'0')
		i++
	}
	return n, text[i:], i > 0
}

const (
	// MaxEntries is the maximum number of entries of a page, its end mark
	// included.
	MaxEntries = 231
	// entrySize is the size of one of them.
	entrySize = 6
	// maxList is the size of the largest page.
	maxList = 6 + MaxEntries*entrySize
)

// List is a page of the list.
//
//	offset size
//	     0    6  FF FF FF FF 'f' 0A
//	     6    6  each server: address, port; big-endian
//	     -    6  zeros on the last page
type List struct {
	Servers []netip.AddrPort // IPv4
	Last    bool
}

// ParseList reads a whole message.
func ParseList(p []byte) (List, error) {
	body, ok := parseAnswer(p, KindList)
	if !ok || len(p) > maxList {
		return List{}, errMalformed
	}
	return parseEntries(body)
}

// parseEntries reads the servers of a page.
func parseEntries(body []byte) (l List, err error) {
	if len(body)%entrySize != 0 {
		return List{}, errMalformed
	}
	for ; len(body) > 0; body = body[entrySize:] {
		a := netip.AddrPortFrom(netip.AddrFrom4([4]byte(body)), binary.BigEndian.Uint16(body[4:]))
		if l.Last {
			return List{}, errMalformed
		}
		if l.Last = a == Start; !l.Last {
			l.Servers = append(l.Servers, a)
		}
	}
	return l, nil
}

// AppendTo appends the message.
func (l List) AppendTo(b []byte) []byte { return l.appendEntries(appendHeader(b, KindList)) }

// appendEntries appends the servers of a page.
func (l List) appendEntries(b []byte) []byte {
	for _, a := range l.Servers {
		b = appendEntry(b, a)
	}
	if l.Last {
		b = appendEntry(b, Start)
	}
	return b
}

// The sizes of a keyed list, whose packets are not longer than others.
const (
	keyMark   = 0x7F
	keyEnd    = 8
	keySize   = 6
	mostKeyed = MaxEntries - 2 // servers in a packet; the key and the end mark have room too
)

// KeyedList is a page of the list for Xash3D, which sends a random key with its
// request and takes no answer without it.
//
//	offset size
//	     0    6  FF FF FF FF 'f' 0A
//	     6    1  7F
//	     7    4  key of the request
//	    11    1  8
//	    12    6  each server, and zeros on the last page; see List
type KeyedList struct {
	Key uint32
	List
}

// ParseKeyedList reads a whole message.
func ParseKeyedList(p []byte) (l KeyedList, err error) {
	body, ok := parseAnswer(p, KindList)
	if !ok || len(body) < keySize || body[0] != keyMark || body[keySize-1] != keyEnd || len(p) > maxList {
		return KeyedList{}, errMalformed
	}
	l.Key = binary.LittleEndian.Uint32(body[1:])
	l.List, err = parseEntries(body[keySize:])
	return l, err
}

// AppendTo appends the message.
func (l KeyedList) AppendTo(b []byte) []byte {
	b = append(appendHeader(b, KindList), keyMark)
	b = append(binary.LittleEndian.AppendUint32(b, l.Key), keyEnd)
	return l.appendEntries(b)
}

func appendEntry(b []byte, a netip.AddrPort) []byte {
	ip := a.Addr().As4()
	return binary.BigEndian.AppendUint16(append(b, ip[:]...), a.Port())
}

// appendDecimal appends a number as text.
func appendDecimal[T ~int | ~uint8 | ~uint32](b []byte, n T) []byte {
	return strconv.AppendInt(b, int64(n), 10)
}
