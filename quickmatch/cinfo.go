package quickmatch

import (
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Bounds of a CINFO.
const (
	maxCInfo = 1024 // bytes
	maxMaps  = 256
	maxPings = 32
	// maxWiden is the longest time after which a search is widened.
	maxWiden = time.Hour
)

// cinfo describes the match that a player looks for.
type cinfo struct {
	pool
	widen                 time.Duration // 0: not by itself
	pointsMin, pointsMax  int32         // percent of the own points; 0: no bound
	points                int32
	discons, disconMax    int32 // 0: no bound
	pings                 []byte
	address               netip.Addr // as the player says; may be zero
	written               uint32     // the address as the player wrote it
	side, color, nat      int32
	maps                  []bool
	deviation, pointRange int32  // of Red Alert 3: how far points may differ
	mate                  string // of Red Alert 3: who plays in the same team
}

// pool holds the values that players of one match have in common.
type pool struct {
	ladder   int32 // 0: none
	password uint32
	players  int
	exe, ini uint32
}

// problem is why a CINFO is refused, as the answer has it.
type problem string

// The problems.
const (
	badCInfo problem = "MBOT:BADCINFO"
	badMaps  problem = "MBOT:BADMAPS"
	badPings problem = "MBOT:BADPINGS"
)

// parseCInfo reads the text of a CINFO: pairs of a key and a value, with a backslash in
// front of each, in place of the values of c. unknown are keys that are skipped.
func parseCInfo(c cinfo, text string) (_ cinfo, unknown []string, bad problem) {
	if len(text) > maxCInfo {
		return c, nil, badCInfo
	}
	fields := strings.Split(strings.TrimPrefix(text, `\`), `\`)
	if len(fields)%2 != 0 {
		return c, nil, badCInfo
	}
	ok := true
	number := func(s string) int32 {
		n, err := strconv.ParseInt(s, 10, 32)
		ok = ok && err == nil
		return int32(n)
	}
	word := func(s string) uint32 { // with a sign or without
		n, err := strconv.ParseInt(s, 10, 64)
		ok = ok && err == nil && n >= -1<<31 && n < 1<<32
		return uint32(n)
	}
	for i := 0; i < len(fields); i += 2 {
		value := fields[i+1]
		switch fields[i] {
		case "Widen":
			c.widen = min(max(0, time.Duration(number(value))*time.Second), maxWiden)
		case "LadID":
			c.ladder = number(value)
		case "LadPass":
			c.password = word(value)
		case "PointsMin":
			c.pointsMin = number(value)
		case "PointsMax":
			c.pointsMax = number(value)
		case "Points":
			c.points = number(value)
		case "PointsStddev":
			c.deviation = number(value)
		case "PointRange":
			c.pointRange = number(value)
		case "teammate1":
			c.mate = value
		case "Discons":
			c.discons = number(value)
		case "DisconMax":
			c.disconMax = number(value)
		case "NumPlayers":
			c.players = int(number(value))
		case "Pings":
			pings, err := hex.DecodeString(value)
			if err != nil || len(pings) > maxPings {
				return c, nil, badPings
			}
			c.pings = pings
		case "IP":
			if v := word(value); v != 0 {
				c.written, c.address = v, netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
			}
		case "Side":
			c.side = number(value)
		case "Color":
			c.color = number(value)
		case "NAT":
			c.nat = number(value)
		case "EXE":
			c.exe = word(value)
		case "INI":
			c.ini = word(value)
		case "Maps":
			maps, good := parseMaps(value)
			if !good {
				return c, nil, badMaps
			}
			c.maps = maps
		default:
			unknown = append(unknown, fields[i])
		}
	}
	switch {
	case !ok || c.players != 2 && c.players != 4 && c.players != 6 && c.players != 8:
		return c, nil, badCInfo
	case c.maps == nil:
		return c, nil, badMaps
	}
	return c, unknown, ""
}

// parseMaps reads a digit for each map. At least one must be wanted.
func parseMaps(s string) (maps []bool, ok bool) {
	if len(s) > maxMaps || strings.Trim(s, "01") != "" || !strings.Contains(s, "1") {
		return nil, false
	}
	for i := range len(s) {
		maps = append(maps, s[i] == '1')
	}
	return maps, true
}

type line struct {
	nick    string     // of its author; empty: the service
	host    netip.Addr // of the author; zero: not known
	command string
	params  []string
}

// maxParams bounds the parameters of a line.
const maxParams = 15

// parseLine reads a line without its end. ok is false if it has no command.
func parseLine(s string) (l line, ok bool) {
	if rest, prefixed := strings.CutPrefix(s, ":"); prefixed {
		var prefix string
		prefix, s, _ = strings.Cut(rest, " ")
		if nick, user, isUser := strings.Cut(prefix, "!"); isUser {
			l.nick = nick
			l.host, _ = netip.ParseAddr(user[strings.LastIndexByte(user, '@')+1:])
		}
	}
	for s = strings.TrimLeft(s, " "); s != "" && len(l.params) < maxParams; s = strings.TrimLeft(s, " ") {
		if last, isLast := strings.CutPrefix(s, ":"); isLast && l.command != "" {
			l.params = append(l.params, last)
			break
		}
		var word string
		word, s, _ = strings.Cut(s, " ")
		if l.command == "" {
			l.command = word
		} else {
			l.params = append(l.params, word)
		}
	}
	return l, l.command != ""
}

// param returns a parameter, "" if there are fewer.
func (l *line) param(i int) string {
	if i < len(l.params) {
		return l.params[i]
	}
	return ""
}
