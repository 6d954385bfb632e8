package valvemaster

import (
	"bytes"
	"errors"
	"strconv"
)

// Heartbeat is the report that a server sends every few minutes, as text.
//
//	offset size
//	     0    2  '0' 0A
//	     2    -  \key\value pairs
//	     -    -  0A; left out by some engines
//
// All but the challenge may be missing. The slices are parts of the parsed
// packet. Unknown keys are ignored.
type Heartbeat struct {
	Challenge             uint32
	Protocol              int
	Players, MaxPlayers   int
	Bots                  int
	GameDir, Map          []byte
	Type, OS              []byte // one letter: d, l or p; l, w or m
	Password, Secure, LAN bool
	Version, Product      []byte
	Region                byte // 255: none
}

// maxPairs bounds the pairs of a heartbeat that are read. Engines send about 20.
const maxPairs = 64

var errNotWritable = errors.New("a value has a character that cannot be written")

// ParseHeartbeat parses the data after the kind. A challenge is required.
func ParseHeartbeat(body []byte) (Heartbeat, error) {
	h := Heartbeat{Region: AnyRegion}
	rest := bytes.Trim(body, "\n\x00")
	if len(rest) == 0 || rest[0] != '\\' {
		return h, errMalformed
	}
	rest = rest[1:]
	challenged := false
	for range maxPairs {
		if len(rest) == 0 {
			break
		}
		var key, value []byte
		key, rest, _ = bytes.Cut(rest, []byte{'\\'})
		value, rest, _ = bytes.Cut(rest, []byte{'\\'})
		if string(key) == "challenge" {
			var ok bool
			if h.Challenge, ok = parseChallenge(value); !ok || challenged {
				return h, errMalformed
			}
			challenged = true
			continue
		}
		h.set(key, value)
	}
	if !challenged {
		return h, errMalformed
	}
	return h, nil
}

// set stores a value. Invalid numbers become 0.
func (h *Heartbeat) set(key, value []byte) {
	switch string(key) {
	case "protocol":
		h.Protocol = parseCount(value)
	case "players":
		h.Players = parseCount(value)
	case "max":
		h.MaxPlayers = parseCount(value)
	case "bots":
		h.Bots = parseCount(value)
	case "gamedir":
		h.GameDir = value
	case "map":
		h.Map = value
	case "type":
		h.Type = value
	case "os":
		h.OS = value
	case "password":
		h.Password = isOne(value)
	case "secure":
		h.Secure = isOne(value)
	case "lan":
		h.LAN = isOne(value)
	case "version":
		h.Version = value
	case "product":
		h.Product = value
	case "region":
		h.Region = AnyRegion
		if n, rest, ok := parseDigits(value, 3); ok && len(rest) == 0 && n <= 255 {
			h.Region = byte(n)
		}
	}
}

func isOne(value []byte) bool { return string(value) == "1" }

func parseCount(value []byte) int {
	n, rest, ok := parseDigits(value, 9)
	if !ok || len(rest) > 0 {
		return 0
	}
	return int(n)
}

// parseChallenge reads a challenge. Engines write it with a sign or without.
func parseChallenge(value []byte) (uint32, bool) {
	if n, err := strconv.ParseUint(string(value), 10, 32); err == nil {
		return uint32(n), true
	}
	n, err := strconv.ParseInt(string(value), 10, 32)
	return uint32(n), err == nil
}

// AppendTo appends the message, or returns an error if a value has a backslash
// or a control character.
func (h Heartbeat) AppendTo(b []byte) ([]byte, error) {
	for _, v := range [][]byte{h.GameDir, h.Map, h.Type, h.OS, h.Version, h.Product} {
		if bytes.ContainsFunc(v, func(r rune) bool { return r == '\\' || r < ' ' }) {
			return b, errNotWritable
		}
	}
	b = append(b, byte(KindHeartbeat), '\n')
	number := func(key string, n int) { b = appendDecimal(append(append(append(b, '\\'), key...), '\\'), n) }
	flag := func(key string, on bool) {
		if number(key, 0); on {
			b[len(b)-1] = '1'
		}
	}
	text := func(key string, value []byte) {
		b = append(append(append(append(b, '\\'), key...), '\\'), value...)
	}
	number("protocol", h.Protocol)
	number("challenge", int(h.Challenge))
	number("players", h.Players)
	number("max", h.MaxPlayers)
	number("bots", h.Bots)
	text("gamedir", h.GameDir)
	text("map", h.Map)
	text("type", h.Type)
	flag("password", h.Password)
	text("os", h.OS)
	flag("secure", h.Secure)
	flag("lan", h.LAN)
	text("version", h.Version)
	number("region", int(h.Region))
	text("product", h.Product)
	return append(b, '\n'), nil
}
