package quake2

import (
	"bytes"
	"errors"

	"github.com/respawnd/respawnd/internal/ascii"
)

// prefix begins most messages.
const prefix = "\xff\xff\xff\xff"

// MaxPacket is the length of the longest packet that a master reads, in bytes.
const MaxPacket = 2048

// ErrMalformed reports a message that cannot be read.
var ErrMalformed = errors.New("malformed message")

// Kind is the kind of a message.
type Kind uint8

// The kinds. A message with another word is KindOther.
const (
	KindOther     Kind = iota
	KindPing           // is the master there?
	KindAck            // yes
	KindHeartbeat      // a status follows
	KindShutdown       // of a server
	KindQuery          // a request for the list
	KindStatus         // a request for the status
	KindPrint          // a status follows
	KindServers        // a list
)

var words = [...]string{
	KindPing: "ping", KindAck: "ack", KindHeartbeat: "heartbeat", KindShutdown: "shutdown", KindQuery: "query", KindStatus: "status",
	KindPrint: "print", KindServers: "servers",
}

// getServers is another word of KindQuery, of Quake III's family with a text behind it.
const getServers = "getservers"

// Cut returns the kind of a message and the text after its word. ok is false if p is not a
// message, or one of Quake III's family.
func Cut(p []byte) (kind Kind, rest []byte, ok bool) {
	text, marked := bytes.CutPrefix(p, []byte(prefix))
	n := bytes.IndexFunc(text, func(r rune) bool { return r <= ' ' })
	if n < 0 {
		n = len(text)
	}
	word, rest := text[:n], text[n:]
	switch {
	case !marked:
		return KindQuery, nil, string(word) == words[KindQuery] && blank(rest)
	case ascii.EqualFold(string(word), getServers):
		return KindQuery, nil, blank(rest)
	}
	for k, w := range words {
		if w == "" || !ascii.EqualFold(string(word), w) {
			continue
		}
		if Kind(k) == KindHeartbeat && !bytes.HasPrefix(rest, []byte("\n\\")) {
			return KindOther, nil, false
		}
		return Kind(k), rest, true
	}
	return KindOther, nil, false
}

// blank reports whether a text has nothing but ends.
func blank(text []byte) bool { return len(bytes.Trim(text, " \r\n\x00")) == 0 }

// AppendPing appends the question whether the master is there.
func AppendPing(b []byte) []byte { return append(b, prefix+"ping"...) }

// AppendAck appends the answer to a ping or heartbeat.
func AppendAck(b []byte) []byte { return append(b, prefix+"ack"...) }

// AppendShutdown appends the message of a server that stops.
func AppendShutdown(b []byte) []byte { return append(b, prefix+"shutdown"...) }

// AppendQuery appends a request for the list.
func AppendQuery(b []byte) []byte { return append(b, "query"...) }

// AppendAskStatus appends a request for the status of a server.
func AppendAskStatus(b []byte) []byte { return append(b, prefix+"status\n"...) }
