package gpsp

import (
	"strconv"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// maxValue is how much of a value the client reads, in bytes.
const maxValue = 511

// finalWord is the one value that would end a reply early.
const finalWord = "final"

// reply is a message to the client that is being written. The zero value is
// empty.
type reply struct {
	b []byte
}

// text adds a pair. The value is changed so that the client can read it:
// backslashes become slashes, control characters are left out, it is cut after
// 511 bytes, and a space is appended to the word "final".
func (w *reply) text(key, value string) {
	w.key(key)
	start := len(w.b)
	for i := 0; i < len(value) && len(w.b)-start < maxValue; i++ {
		switch c := value[i]; {
		case c == '\\':
			w.b = append(w.b, '/')
		case c >= ' ' && c != 0x7f:
			w.b = append(w.b, c)
		}
	}
	if string(w.b[start:]) == finalWord {
		w.b = append(w.b, ' ')
	}
}

// number adds a pair whose value is a number.
func (w *reply) number(key string, n int64) {
	w.key(key)
	w.b = strconv.AppendInt(w.b, n, 10)
}

// mark adds a key with an empty value, as at the begin or end of a list.
func (w *reply) mark(key string) { w.key(key) }

func (w *reply) key(key string) {
	w.b = append(w.b, '\\')
	w.b = append(w.b, key...)
	w.b = append(w.b, '\\')
}

// failure makes the reply an error. It is never a fatal one.
func (w *reply) failure(c code, text string) {
	w.b = w.b[:0]
	w.mark("error")
	w.number("err", int64(c))
	w.text("errmsg", text)
}

func (w *reply) end() []byte {
	w.b = append(w.b, gamespy.Final...)
	return w.b
}
