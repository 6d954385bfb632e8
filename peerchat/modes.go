package peerchat

import (
	"strings"
)

// channelFlags are the modes of a channel in the order in which numModes lists
// them: invite only, private, secret, moderated, no messages from outside, topic
// for operators only, password, limit, operators obey the limit. The parameters of
// k and l follow in the same order.
const channelFlags = "ipsmntkle"

// maxModes is the maximum number of changes in a MODE.
const maxModes = 32

type modeChange struct {
	add    bool
	letter byte
	arg    string
}

// isQuery reports whether c is a request for the bans, not a change.
func (c modeChange) isQuery() bool { return c.letter == 'b' && c.arg == "" }

// parseModes reads the letters of a MODE, among which signs may stand anywhere,
// as in -i+p-s-m+n+t+l+e, and takes their arguments in turn: b, k, o and v have
// one, and +l. Without a sign letters are set. The argument of -k is
// optional; the default is *. b without an argument requests the bans. Arguments
// left over are ignored.
//
// It returns false for more than maxModes changes, for characters other than letters, and
// for an argument that is missing or cannot be written back into a MODE.
func parseModes(text string, args []string) ([]modeChange, bool) {
	if text == "" {
		return nil, false
	}
	var changes []modeChange
	add := true
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '+' || c == '-':
			add = c == '+'
			continue
		case !isLetter(c) || len(changes) == maxModes:
			return nil, false
		}
		change := modeChange{add: add, letter: c}
		switch {
		case !takesArgument(change):
		case len(args) > 0:
			change.arg, args = args[0], args[1:]
			if !validArgument(change.arg) {
				return nil, false
			}
		case c == 'k' && !add:
			change.arg = "*"
		case c != 'b':
			return nil, false
		}
		changes = append(changes, change)
	}
	return changes, true
}

// appendModes appends a space, the letters, each with its sign, their arguments and
// the end of the line. Clients want no colon in front and a sign first. Without any
// change, or with queries only, it appends a plus.
func appendModes(dst []byte, changes []modeChange) []byte {
	dst = append(dst, ' ')
	none := true
	for _, c := range changes {
		if c.isQuery() {
			continue
		}
		sign := byte('-')
		if c.add {
			sign = '+'
		}
		dst = append(dst, sign, c.letter)
		none = false
	}
	if none {
		dst = append(dst, '+')
	}
	for _, c := range changes {
		if takesArgument(c) && !c.isQuery() {
			dst = appendParam(append(dst, ' '), c.arg)
		}
	}
	return appendEnd(dst)
}

// takesArgument reports whether a change has an argument.
func takesArgument(c modeChange) bool {
	switch c.letter {
	case 'b', 'k', 'o', 'v':
		return true
	case 'l':
		return c.add
	}
	return false
}

// validArgument reports whether s can stand among the parameters of a line.
func validArgument(s string) bool {
	return s != "" && s[0] != ':' && !strings.ContainsAny(s, " \r\n\x00")
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
