package quake3

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
)

// Bounds of the pairs of an info string. Further ones are not read.
const (
	// MaxPairs is the number of pairs that are read. Games send up to about 120.
	MaxPairs = 256
	// MaxValue is the length of the longest key and value in bytes; longer ones are
	// left out, key and value.
	MaxValue = 255
)

// Pairs returns the keys and values of an info string, such as the result of Cut for an
// infoResponse, in their order. They are parts of text. A line end or NUL ends the string.
func Pairs(text []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		rest := bytes.TrimLeft(text, "\r\n ")
		if end := bytes.IndexAny(rest, "\n\x00"); end >= 0 {
			rest = rest[:end]
		}
		for n := 0; n < MaxPairs && len(rest) > 0 && rest[0] == '\\'; n++ {
			var key, value []byte
			key, rest, _ = bytes.Cut(rest[1:], []byte{'\\'})
			if i := bytes.IndexByte(rest, '\\'); i >= 0 {
				value, rest = rest[:i], rest[i:]
			} else {
				value, rest = rest, nil
			}
			if len(key) == 0 || len(key) > MaxValue || len(value) > MaxValue {
				continue
			}
			if !yield(key, value) {
				return
			}
		}
	}
}

// Info holds the values that a server must report to be listed. The slices are parts of
// the packet.
type Info struct {
	Challenge  []byte
	Protocol   int
	GameType   []byte // one word; "0" if the server does not say
	Clients    int
	MaxClients int    // not 0
	GameName   []byte // one word; empty if the server does not say
}

// ParseInfo parses the result of Cut for an infoResponse. Of several values of a key
// the first counts.
func ParseInfo(rest []byte) (Info, error) { return parseInfo(rest, false) }

// parseInfo is ParseInfo. lenient servers leave out the number of players while it is 0.
func parseInfo(rest []byte, lenient bool) (Info, error) {
	var values [6][]byte // in the order of infoKeys; nil: missing
	for key, value := range Pairs(rest) {
		if i := slices.Index(infoKeys, string(key)); i >= 0 && values[i] == nil {
			values[i] = value
		}
	}
	i := Info{Challenge: values[0], GameType: values[2], GameName: values[5]}
	protocol, err := strconv.ParseInt(string(values[1]), 0, 32)
	switch {
	case err != nil, len(i.Challenge) == 0, values[4] == nil && !lenient:
		return Info{}, ErrMalformed
	case bytes.IndexByte(i.GameType, ' ') >= 0, bytes.IndexByte(i.GameName, ' ') >= 0:
		return Info{}, ErrMalformed
	}
	if i.GameType == nil {
		i.GameType = []byte("0")
	}
	i.Protocol, i.MaxClients, i.Clients = int(protocol), number(values[3]), number(values[4])
	if i.MaxClients == 0 {
		return Info{}, ErrMalformed
	}
	return i, nil
}

// infoKeys are the keys of an Info.
var infoKeys = []string{"challenge", "protocol", "gametype", "sv_maxclients", "clients", "gamename"}

// number reads a count; other texts are 0.
func number(text []byte) int {
	n, err := strconv.ParseUint(string(text), 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

// AppendInfo appends an infoResponse with pairs, key and value in turn. They must
// have no backslash and no line end.
func AppendInfo(b []byte, pairs ...string) []byte {
	return appendPairs(append(b, prefix+KindInfo+"\n"...), pairs)
}

func appendPairs(b []byte, pairs []string) []byte {
	for _, s := range pairs {
		b = append(append(b, '\\'), s...)
	}
	return b
}
