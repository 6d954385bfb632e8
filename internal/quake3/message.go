package quake3

import (
	"bytes"
	"errors"
)

// prefix begins every message.
const prefix = "\xff\xff\xff\xff"

// MaxPacket is the length of the longest packet that a master reads, in bytes.
const MaxPacket = 2048

// ErrMalformed reports a message that cannot be read.
var ErrMalformed = errors.New("malformed message")

// Kind is the kind of a message: its word.
type Kind string

// The kinds.
const (
	KindOther         Kind = "" // a message with another word
	KindHeartbeat     Kind = "heartbeat"
	KindGetInfo       Kind = "getinfo"
	KindInfo          Kind = "infoResponse"
	KindGetStatus     Kind = "getstatus"
	KindStatus        Kind = "statusResponse"
	KindGetServers    Kind = "getservers"
	KindGetServersExt Kind = "getserversExt"
	KindServers       Kind = "getserversResponse"
	KindServersExt    Kind = "getserversExtResponse"
)

var kinds = []Kind{
	KindHeartbeat, KindGetInfo, KindInfo, KindGetStatus, KindStatus, KindGetServers, KindGetServersExt, KindServers, KindServersExt,
}

// Cut returns the kind of a message and the text after its word. ok is false if p is
// not a message.
func Cut(p []byte) (kind Kind, rest []byte, ok bool) {
	if len(p) <= len(prefix) || string(p[:len(prefix)]) != prefix {
		return KindOther, nil, false
	}
	p = p[len(prefix):]
	n := 0
	for n < len(p) && isLetter(p[n]) {
		n++
	}
	return kindOf(p[:n]), p[n:], true
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func kindOf(word []byte) Kind {
	for _, k := range kinds {
		if string(k) == string(word) {
			return k
		}
	}
	return KindOther
}

// MaxTag is the length of the longest tag of a heartbeat, in bytes.
const MaxTag = 63

// ParseHeartbeat returns the tag of a heartbeat, a part of rest, as Cut returns it. Text after the
// tag is ignored.
func ParseHeartbeat(rest []byte) (tag []byte, err error) {
	tag, _ = word(rest)
	if len(tag) == 0 || len(tag) > MaxTag {
		return nil, ErrMalformed
	}
	return tag, nil
}

// AppendHeartbeat appends a heartbeat.
func AppendHeartbeat(b []byte, tag string) []byte {
	return append(append(append(b, prefix+KindHeartbeat+" "...), tag...), '\n')
}

// AppendGetInfo appends a request for the info of a server. The challenge must have
// no space, quote, backslash, semicolon, slash or percent sign.
func AppendGetInfo(b, challenge []byte) []byte {
	return append(append(b, prefix+KindGetInfo+" "...), challenge...)
}

// AppendGetStatus appends a request for the status of a server.
func AppendGetStatus(b, challenge []byte) []byte {
	return append(append(b, prefix+KindGetStatus+" "...), challenge...)
}

// Challenge returns the challenge of a request for info or status, a part of rest,
// as Cut returns it. It may be empty.
func Challenge(rest []byte) []byte {
	c, _ := word(rest)
	return c
}

// word returns the first word of a text, and the rest. Line ends and NUL end
// a text.
func word(text []byte) (first, rest []byte) {
	text = bytes.TrimLeft(text, " ")
	n := bytes.IndexAny(text, " \r\n\x00")
	if n < 0 {
		return text, nil
	}
	if text[n] != ' ' {
		return text[:n], nil
	}
	return text[:n], text[n+1:]
}
