package quake3

import (
	"bytes"
	"strconv"
)

// MaxGame is the length of the longest name of a game, in bytes.
const MaxGame = 63

// maxOptions bounds the words behind the protocol of a request that are read.
const maxOptions = 16

// Request is a request for a list. The slices are parts of the packet.
type Request struct {
	Ext         bool   // getserversExt
	Game        []byte // empty: the game is that of the protocol
	Protocol    int
	Empty, Full bool   // empty and full servers are wanted too
	GameType    []byte // only servers of this type; nil: all
	IPv4, IPv6  bool   // of getserversExt: only these; none or both: all
}

// ParseRequest parses the result of Cut for a request; ext is set for KindGetServersExt,
// which must name its game. Unknown options are ignored.
func ParseRequest(rest []byte, ext bool) (Request, error) {
	r := Request{Ext: ext}
	if len(rest) == 0 || rest[0] != ' ' {
		return Request{}, ErrMalformed
	}
	first, rest := word(rest)
	protocol, ok := parseProtocol(first)
	if ext || !ok {
		r.Game = first
		first, rest = word(rest)
		protocol, ok = parseProtocol(first)
	}
	if !ok || len(r.Game) > MaxGame || (r.Game != nil && len(r.Game) == 0) {
		return Request{}, ErrMalformed
	}
	r.Protocol = protocol
	for range maxOptions {
		var option []byte
		if option, rest = word(rest); len(option) == 0 && len(rest) == 0 {
			break
		}
		r.set(option)
	}
	return r, nil
}

// parseProtocol reads a whole number.
func parseProtocol(text []byte) (int, bool) {
	n, err := strconv.ParseInt(string(text), 10, 32)
	return int(n), err == nil
}

// set applies an option. Of several types of game the last one counts.
func (r *Request) set(option []byte) {
	switch string(option) {
	case "empty":
		r.Empty = true
	case "full":
		r.Full = true
	case "ffa":
		r.GameType = []byte("0")
	case "tourney":
		r.GameType = []byte("1")
	case "team":
		r.GameType = []byte("3")
	case "ctf":
		r.GameType = []byte("4")
	case "ipv4":
		r.IPv4 = true
	case "ipv6":
		r.IPv6 = true
	default:
		if t, ok := bytes.CutPrefix(option, []byte("gametype=")); ok {
			r.GameType = t
		}
	}
}

// AppendTo appends the request.
func (r Request) AppendTo(b []byte) []byte {
	b = append(b, prefix...)
	if r.Ext {
		b = append(b, KindGetServersExt...)
	} else {
		b = append(b, KindGetServers...)
	}
	b = append(b, ' ')
	if len(r.Game) > 0 {
		b = append(append(b, r.Game...), ' ')
	}
	b = strconv.AppendInt(b, int64(r.Protocol), 10)
	for _, o := range []struct {
		set  bool
		word string
	}{{r.IPv4, " ipv4"}, {r.IPv6, " ipv6"}, {r.Empty, " empty"}, {r.Full, " full"}} {
		if o.set {
			b = append(b, o.word...)
		}
	}
	if r.GameType != nil {
		b = append(append(b, " gametype="...), r.GameType...)
	}
	return b
}
