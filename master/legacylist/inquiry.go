package legacylist

import (
	"slices"
	"strings"
)

// Mode is the form of a list.
type Mode string

// The modes. Any other one counts as Plain.
const (
	Plain   Mode = ""       // addresses as text
	Compact Mode = "cmp"    // addresses as 6 bytes each
	Info    Mode = "info2"  // a table of servers
	Groups  Mode = "groups" // a table of rooms
)

func parseMode(s string) Mode {
	switch m := Mode(strings.ToLower(s)); m {
	case Compact, Info, Groups:
		return m
	default:
		return Plain
	}
}

// unreal is the game whose first version identifies itself and sends no
// request.
const unreal = "unreal"

// inquiry is the parsed request of a client, which one message or several may
// carry.
type inquiry struct {
	introduced bool // it named its own game
	engine     string
	validate   string
	enctype    string // as sent; empty if it was not

	listed bool // it requested a list
	mode   Mode
	game   string // the game whose servers it requests; empty: engine
	filter string

	games    []string // another master asks for the servers of these; none: it is no other master
	identity string   // of that master
}

// wants reports whether another master asks for the servers of a game.
func (r *inquiry) wants(game string) bool {
	return slices.Contains(r.games, allShared) || slices.Contains(r.games, game)
}

// wanted returns the game whose servers are requested, in lower case.
func (r *inquiry) wanted() string {
	if r.game == "" {
		return r.engine
	}
	return r.game
}

// take parses one message. Fields may come in any order, but after list
// gamename means the wanted game. Unknown fields are ignored.
func (r *inquiry) take(text string) {
	_, rest, _ := strings.Cut(text, `\`)
	for rest != "" {
		var key string
		key, rest, _ = strings.Cut(rest, `\`)
		key = strings.ToLower(strings.Trim(key, blanks))
		if key == "" || key == "basic" {
			continue // a backslash too many, or a key without a value
		}
		value, after, _ := strings.Cut(rest, `\`)
		if key == "list" && isKey(value) {
			value, after = "", rest // the mode was left out
		}
		rest = after
		r.set(key, strings.Trim(value, blanks))
	}
}

// blanks are the characters that clients put around their messages.
const blanks = "\r\n "

// isKey reports whether a text is a key, which means that the mode was left
// out.
func isKey(s string) bool {
	return strings.EqualFold(s, "gamename") || strings.EqualFold(s, "where")
}

func (r *inquiry) set(key, value string) {
	switch key {
	case "gamename":
		value = strings.ToLower(value)
		if r.listed {
			r.game = value
		} else {
			r.engine, r.introduced = value, true
		}
	case "validate":
		r.validate = value
	case "enctype":
		r.enctype = value
	case "list":
		r.listed, r.mode = true, parseMode(value)
	case "where":
		r.filter = value
	case "sync":
		r.listed, r.games = true, strings.Fields(strings.ToLower(value))
	case "msid":
		r.identity = value
	}
}
