package quickmatch

import (
	"net/netip"
	"strings"
)

// line is a line of chat.
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
