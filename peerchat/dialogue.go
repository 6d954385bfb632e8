package peerchat

import (
	"bytes"
	"strings"
)

// shownParams is how many parameters of a command a recording shows. All of the others are
// shown.
var shownParams = map[string]int{
	"LOGIN": 2, "LOGINPREAUTH": 0, "CDKEY": 0, "REGISTERNICK": 2, "PASS": 0, "OPER": 0, "USER": 2, "JOIN": 1,
	"PRIVMSG": 1, "NOTICE": 1, "UTM": 1, "ATM": 1, "QUIT": 0, "AWAY": 0, "MODE": 2,
}

// blot overwrites proofs, keys of channels, and what players write to each other.
func blot(line []byte) {
	text := bytes.TrimRight(line, "\r\n")
	if len(text) > 0 && text[0] == ':' {
		_, text, _ = bytes.Cut(text, []byte{' '})
	}
	command, params, _ := bytes.Cut(bytes.TrimLeft(text, " "), []byte{' '})
	n, limited := shownParams[strings.ToUpper(string(command))]
	if !limited {
		return
	}
	for range n {
		params = bytes.TrimLeft(params, " ")
		if len(params) > 0 && params[0] == ':' {
			return // the rest is the last one that is shown
		}
		_, params, _ = bytes.Cut(params, []byte{' '})
	}
	for i, c := range params {
		if c != ' ' && c != ':' { // which say how many parameters there are
			params[i] = '*'
		}
	}
}

// proves reports that the answer to a line depends on what blot overwrites.
func proves(line []byte) bool {
	switch commandOf(line) {
	case "LOGIN", "LOGINPREAUTH", "CDKEY", "REGISTERNICK", "JOIN", "OPER":
		return true
	}
	return false
}

func enciphers(line []byte) bool {
	c := commandOf(line)
	return c == "CRYPT" || c == "705"
}

func commandOf(line []byte) string {
	words := bytes.Fields(line)
	if len(words) > 0 && words[0][0] == ':' {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	return strings.ToUpper(string(words[0]))
}
