package quake3

import (
	"bytes"
	"strconv"
)

// MaxPlayers is the number of players of a statusResponse that are read.
const MaxPlayers = 256

// Player is a player of a statusResponse. Name is a part of the packet, colour
// codes included.
type Player struct {
	Score, Ping int
	Name        []byte
}

// Status is a statusResponse. Its slices are parts of the packet.
type Status struct {
	Text    []byte // the rules; see Pairs
	Players []Player
}

// ParseStatus parses the result of Cut for a statusResponse. Lines that are not those
// of players are left out.
func ParseStatus(rest []byte) (Status, error) {
	rest = bytes.TrimLeft(rest, "\r\n ")
	if len(rest) == 0 || rest[0] != '\\' {
		return Status{}, ErrMalformed
	}
	var s Status
	s.Text, rest, _ = bytes.Cut(rest, []byte{'\n'})
	for len(rest) > 0 && len(s.Players) < MaxPlayers {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		if p, ok := parsePlayer(line); ok {
			s.Players = append(s.Players, p)
		}
	}
	return s, nil
}

// parsePlayer reads the line of a player. DarkPlaces puts the team between ping and
// name.
func parsePlayer(line []byte) (p Player, ok bool) {
	score, rest := word(line)
	ping, rest := word(rest)
	var err error
	if p.Score, err = strconv.Atoi(string(score)); err != nil {
		return Player{}, false
	}
	if p.Ping, err = strconv.Atoi(string(ping)); err != nil {
		return Player{}, false
	}
	begin, end := bytes.IndexByte(rest, '"'), bytes.LastIndexByte(rest, '"')
	if begin < 0 || end == begin || end-begin-1 > MaxValue {
		return Player{}, false
	}
	p.Name = rest[begin+1 : end]
	return p, true
}

// AppendStatus appends a statusResponse with pairs, key and value in turn. They and
// the names of players must have no line end, pairs no backslash.
func AppendStatus(b []byte, players []Player, pairs ...string) []byte {
	b = append(appendPairs(append(b, prefix+KindStatus+"\n"...), pairs), '\n')
	for _, p := range players {
		b = append(strconv.AppendInt(b, int64(p.Score), 10), ' ')
		b = append(strconv.AppendInt(b, int64(p.Ping), 10), " \""...)
		b = append(append(b, p.Name...), "\"\n"...)
	}
	return b
}
