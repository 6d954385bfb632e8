package gpcm

import (
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/storage"
)

// Limits of texts, in bytes, from the buffers of the clients.
const (
	maxStatusText = 255
	maxGameText   = 32
	maxLocation   = 255
)

// appendPair appends a key with a value of ours, which needs no care.
func appendPair(b []byte, key, value string) []byte {
	b = append(b, '\\')
	b = append(b, key...)
	b = append(b, '\\')
	return append(b, value...)
}

func appendNumber[N ~int | ~int32 | ~int64 | ~uint8 | ~uint32](b []byte, key string, n N) []byte {
	return strconv.AppendInt(appendPair(b, key, ""), int64(n), 10)
}

// appendText appends a key with any text: characters that would break the
// message are replaced, and a space is appended to a key word, because clients
// take a value between two backslashes for a key.
func appendText(b []byte, key, value string) []byte {
	value = carry(value, len(value))
	b = appendPair(b, key, value)
	if gamespy.IsPresenceKey(value) {
		b = append(b, ' ')
	}
	return b
}

// appendFinal ends a message.
func appendFinal(b []byte) []byte { return append(b, gamespy.Final...) }

// appendReplyEnd ends a message that answers a request.
func appendReplyEnd(b []byte, r *request) []byte {
	if r.hasID {
		b = appendNumber(b, "id", r.id)
	}
	return appendFinal(b)
}

// carry returns at most limit bytes of s as the protocol can carry them: a
// slash for every backslash, no NUL.
func carry(s string, limit int) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	if len(s) > limit {
		s = s[:limit]
	}
	if strings.IndexByte(s, '\\') >= 0 {
		s = strings.ReplaceAll(s, `\`, "/")
	}
	return s
}

// appendBar appends a name with a number in the form of status texts.
func appendBar(b []byte, name string, n int64) []byte {
	b = append(b, '|')
	b = append(b, name...)
	b = append(b, '|')
	return strconv.AppendInt(b, n, 10)
}

// appendBarText appends a name with a text. The client reads these like the
// keys of messages: the first occurrence counts and a bar ends the value. So the
// text loses its bars, and if it is a name itself it gets a space.
func appendBarText(b []byte, name, value string) []byte {
	value = strings.ReplaceAll(carry(value, maxStatusText), "|", "/")
	b = append(b, '|')
	b = append(b, name...)
	b = append(b, '|')
	b = append(b, value...)
	switch value {
	case "s", "ss", "ls", "ip", "p", "qm":
		b = append(b, ' ')
	}
	return b
}

// signedMark stands, with another bar, between the reason of a request and its
// signature. Clients use the first one and expect exactly the signature after
// it.
const signedMark = "|signed"

// requestReason returns a reason in which no client can find the mark, not even
// together with the text after it.
func requestReason(s string) string {
	s = carry(s, storage.MaxReason)
	return strings.ReplaceAll(s, signedMark, "/signed")
}

// appendError appends an error message, with the id of the request that waits
// for it if there is one.
func appendError(b []byte, why *refusal, r *request) []byte {
	b = appendPair(b, "error", "")
	b = appendNumber(b, "err", why.code)
	if why.code.fatal() {
		b = appendPair(b, "fatal", "")
	}
	b = appendText(b, "errmsg", why.words())
	if why.profile != 0 {
		b = appendNumber(b, "pid", why.profile)
	}
	return appendReplyEnd(b, r)
}
