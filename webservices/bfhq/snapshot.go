package bfhq

import (
	"errors"
	"strings"

	"github.com/respawnd/respawnd/internal/stats"
)

// Bounds of a round as it is sent.
const (
	maxSnapshot = 1 << 20   // bytes
	maxPairs    = 128 << 10 // keys
	maxPlayers  = 256       // in a round, with those who left; a server has 64 places
)

// The reasons for which a round is refused.
var (
	errIncomplete = errors.New("the list has no end (EOF)")
	errPlayers    = errors.New("the list has too many players or keys")
	errSnapshot   = errors.New("the list is not that of a round")
)

// parseSnapshot reads a round as servers of a game post it: prefix and name of the server or
// of the map, then keys and values, which are returned in their order: keys repeat. Names may
// hold backslashes, which are not escaped: that of a server ends where gameport begins, and
// name_N where t_N does.
func parseSnapshot(by *rules, body string) (pairs []stats.Pair, err error) {
	body = strings.TrimRight(body, "\r\n\x00 ")
	if !strings.Contains(body, `\EOF\1`) {
		return nil, errIncomplete
	}
	i := strings.Index(body, `\`+by.first+`\`)
	if i < 0 || strings.ContainsRune(body, 0) {
		return nil, errSnapshot
	}
	if by == battlefield2142 {
		pairs = append(pairs, stats.Pair{Key: keyMap, Value: body[strings.LastIndexByte(body[:i], '\\')+1 : i]})
	}
	complete := false
	for rest := body[i+1:]; rest != ""; {
		var p stats.Pair
		p.Key, rest, _ = strings.Cut(rest, `\`)
		p.Value, rest = cutValue(p.Key, rest)
		complete = complete || p.Key == "EOF" && p.Value == "1"
		if len(pairs) == maxPairs {
			return nil, errPlayers
		}
		pairs = append(pairs, p)
	}
	if !complete {
		return nil, errIncomplete
	}
	return pairs, nil
}

func cutValue(key, rest string) (value, after string) {
	if number, ok := strings.CutPrefix(key, "name_"); ok {
		next := `\t_` + number + `\`
		if i := strings.Index(rest[:min(len(rest), maxName+len(next))], next); i >= 0 {
			return rest[:i], rest[i+1:]
		}
	}
	value, after, _ = strings.Cut(rest, `\`)
	return value, after
}

const keyMap = "mapname"

// maxName is how far the end of a name is looked for, in bytes.
const maxName = 256
