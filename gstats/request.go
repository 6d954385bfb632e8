package gstats

import (
	"bytes"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// command is the kind of a request.
type command uint8

const (
	commandUnknown command = iota
	commandAuth
	commandAuthPlayer
	commandGetPID
	commandSet
	commandGet
	commandNewGame
	commandUpdate
	commandKeepAlive
)

// commandNames are the commands on the wire and in metrics.
var commandNames = [...]string{
	commandUnknown: "unknown", commandAuth: "auth", commandAuthPlayer: "authp", commandGetPID: "getpid",
	commandSet: "setpd", commandGet: "getpd", commandNewGame: "newgame", commandUpdate: "updgame", commandKeepAlive: "ka",
}

func commandOf(name []byte) command {
	for c := commandAuth; int(c) < len(commandNames); c++ {
		if string(name) == commandNames[c] {
			return c
		}
	}
	return commandUnknown
}

// number is a number of a request. The zero value is one that was not given.
type number struct {
	value int64
	given bool // it is there and a number
}

// request is a parsed message. The texts are parts of it.
type request struct {
	command command

	lid, pid number

	game, response           []byte
	port                     number // of the game; 0: it is no server
	nick, keyHash, authToken []byte

	kind, index, length, modified number
	merge                         bool
	keys                          []byte // each after 0x01; empty: the whole block
	data                          []byte
	hasData                       bool

	connID, session, challenge number
	done, diskLog              bool
	gameData                   []byte // backslash text with 0x01 for backslashes
}

// dataKey is the key whose value is not backslash text.
const dataKey = `\data\`

// splitData divides a body of commandSet into the fields and the data behind them.
func splitData(body []byte) (fields, data []byte, ok bool) {
	if !bytes.HasPrefix(body, []byte(`\setpd\`)) {
		return body, nil, false
	}
	fields, data, ok = bytes.Cut(body, []byte(dataKey))
	return fields, data, ok
}

// dataEnd returns where a body ends by the length of its data, 0 if it has none or no
// sensible length.
func dataEnd(body []byte) int {
	fields, data, ok := splitData(body)
	if !ok {
		return 0
	}
	f := gamespy.ScanFields(fields)
	for f.Next() {
		if string(f.Key()) != "length" {
			continue
		}
		if n := parseNumber(f.Value()); n.value > 0 {
			return len(body) - len(data) + int(n.value)
		}
		break
	}
	return 0
}

// parseRequest reads a body. Of a key that is there more than once the first counts.
func parseRequest(body []byte) (r request) {
	fields, data, hasData := splitData(body)
	r.data, r.hasData = data, hasData
	f := gamespy.ScanFields(fields)
	if !f.Next() {
		return r
	}
	r.command = commandOf(f.Key())
	var seen [17]bool
	for f.Next() {
		r.set(f.Key(), f.Value(), &seen)
	}
	return r
}

// set stores a field. seen are the fields that were there.
func (r *request) set(key, value []byte, seen *[17]bool) {
	first := func(i int) bool {
		was := seen[i]
		seen[i] = true
		return !was
	}
	text := func(i int, to *[]byte) {
		if first(i) {
			*to = value
		}
	}
	num := func(i int, to *number) {
		if first(i) {
			*to = parseNumber(value)
		}
	}
	switch string(key) {
	case "lid":
		num(0, &r.lid)
	case "pid":
		num(1, &r.pid)
	case "gamename":
		text(2, &r.game)
	case "response", "resp":
		text(3, &r.response)
	case "nick":
		text(4, &r.nick)
	case "keyhash":
		text(5, &r.keyHash)
	case "authtoken":
		text(6, &r.authToken)
	case "ptype":
		num(7, &r.kind)
	case "dindex":
		num(8, &r.index)
	case "length":
		num(9, &r.length)
	case "mod":
		num(10, &r.modified)
	case "keys":
		text(11, &r.keys)
	case "connid":
		num(12, &r.connID)
	case "sesskey":
		num(13, &r.session)
	case "challenge":
		num(14, &r.challenge)
	case "gamedata":
		text(15, &r.gameData)
	case "port":
		num(16, &r.port)
	case "kv":
		r.merge = string(value) == "1"
	case "done":
		r.done = string(value) == "1"
	case "dl":
		r.diskLog = string(value) == "1"
	}
}

// parseNumber reads a number of 32 bits with or without a sign.
func parseNumber(b []byte) number {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || n < math.MinInt32 || n > math.MaxUint32 {
		return number{}
	}
	return number{n, true}
}

// inInt32 reports whether the number is a signed one of 32 bits.
func (n number) inInt32() bool { return n.given && n.value <= math.MaxInt32 }

// word returns the 32 bits of a number, signed.
func (n number) word() int32 { return int32(uint32(n.value)) }

// split yields the parts of a list in which 0x01 stands before each part. They share the
// memory of the list.
func split(list string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for list != "" {
			if list[0] == listMark {
				list = list[1:]
			}
			end := strings.IndexByte(list, listMark)
			if end < 0 {
				end = len(list)
			}
			if !yield(list[:end]) {
				return
			}
			list = list[end:]
		}
	}
}

// listMark stands for backslashes in lists and in the data of games.
const listMark = 0x01
