package peerchat

import (
	"bytes"
)

// maxParams is the number of parameters of a line that are read; no command has
// more than five.
const maxParams = 16

// message is a line of a client.
type message struct {
	command string // in capitals
	params  []string
}

// commands are the names that clients send, for parseLine to find without
// allocating.
var commands = func() map[string]string {
	known := make(map[string]string)
	for _, c := range []string{
		"ADMIN", "ATM", "AWAY", "CAP", "CDKEY", "CRYPT", "GETCHANKEY", "GETCKEY", "GETKEY", "GETUDPRELAY", "INFO", "INVITE",
		"ISON", "JOIN", "KICK", "KILL", "LIST", "LISTLIMIT", "LOGIN", "LOGINPREAUTH", "LUSERS", "MODE", "MOTD", "NAMES",
		"NICK", "NOTICE", "OPER", "PART", "PASS", "PING", "PONG", "PRIVMSG", "QUIT", "REGISTERNICK", "SETCHANKEY",
		"SETCKEY", "SETGROUP", "SETKEY", "STATS", "TIME", "TOPIC", "USER", "USERHOST", "USRIP", "UTM", "VERSION", "WHO",
		"WHOIS", "WHOWAS",
	} {
		known[c] = c
	}
	return known
}()

// parseLine reads a line without its end. A prefix is skipped: a client speaks
// for itself only. Parameters are separated by one or more spaces; one that
// begins with a colon is the rest of the line. No byte of them changes. Those
// after the maxParams-th are dropped. It returns false if there is no command.
//
// Each parameter is a string of its own: to keep one does not keep the line.
func parseLine(line []byte) (message, bool) {
	line = trimSpaces(line)
	if len(line) > 0 && line[0] == ':' {
		_, line, _ = bytes.Cut(line, []byte{' '})
	}
	name, rest := cutWord(trimSpaces(line))
	if len(name) == 0 || name[0] == ':' {
		return message{}, false
	}
	var found [maxParams]string
	n := 0
	for rest = trimSpaces(rest); len(rest) > 0 && n < maxParams; n++ {
		if rest[0] == ':' {
			found[n] = string(rest[1:])
			n++
			break
		}
		var word []byte
		word, rest = cutWord(rest)
		found[n] = string(word)
		rest = trimSpaces(rest)
	}
	m := message{command: commandName(name)}
	if n > 0 {
		m.params = append(make([]string, 0, n), found[:n]...)
	}
	return m, true
}

func commandName(name []byte) string {
	var buf [16]byte
	upper := buf[:0]
	for _, c := range name {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper = append(upper, c)
	}
	if known, ok := commands[string(upper)]; ok {
		return known
	}
	return string(upper)
}

// cutWord returns the part of b before the first space, and the rest.
func cutWord(b []byte) (word, rest []byte) {
	if i := bytes.IndexByte(b, ' '); i >= 0 {
		return b[:i], b[i:]
	}
	return b, nil
}

// trimSpaces returns b without the spaces it begins with.
func trimSpaces(b []byte) []byte {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	return b
}
