package gpcm

import (
	"bytes"
	"math"
	"strconv"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/storage"
)

// request is one message of a client.
type request struct {
	gamespy.Message
	tail  string // raw text after the key of command.tail; "" if that is missing
	id    int32
	hasID bool
}

// parseRequest reads a message. tail is the key whose value runs to the end, ""
// if there is none. The errors are those of gamespy.ParseMessage.
func parseRequest(body []byte, tail string) (*request, error) {
	r := new(request)
	if tail != "" {
		var rest []byte
		body, rest = cutTail(body, tail)
		r.tail = string(rest)
	}
	var err error
	if r.Message, err = gamespy.ParseMessage(body); err != nil {
		return nil, err
	}
	if id, ok := r.number("id", -1, 0, math.MaxInt32); ok && id >= 0 {
		r.id, r.hasID = int32(id), true
	}
	return r, nil
}

// cutTail cuts a message before the first occurrence of a key and returns the
// text after that key.
func cutTail(body []byte, key string) (head, tail []byte) {
	for i := 0; ; {
		n := bytes.IndexByte(body[i:], '\\')
		if n < 0 {
			return body, nil
		}
		i += n + 1
		end := i + len(key)
		if end < len(body) && body[end] == '\\' && ascii.EqualFold(body[i:end], key) {
			return body[:i-1], body[end+1:]
		}
	}
}

// commandName appends the name of a message to dst, in lower case. Longer names are cut.
func commandName(dst, body []byte) []byte {
	_, body, _ = bytes.Cut(body, []byte{'\\'})
	body = bytes.TrimLeft(body, "\\\r\n")
	for _, c := range body[:min(len(body), cap(dst)-len(dst))] {
		if c == '\\' || c == 0 {
			break
		}
		dst = append(dst, ascii.Lower(c))
	}
	return dst
}

// text returns a value, "" if it is missing.
func (r *request) text(key string) string {
	v, _ := r.Get(key)
	return v
}

// number returns a value that is a number within bounds; def if it is missing
// or empty. Anything else is not ok.
func (r *request) number(key string, def, lowest, highest int64) (n int64, ok bool) {
	v := r.text(key)
	if v == "" {
		return def, true
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < lowest || n > highest {
		return def, false
	}
	return n, true
}

// profile returns a value that is the id of a profile, 0 if it cannot be one.
func (r *request) profile(key string) storage.ProfileID {
	n, _ := r.number(key, 0, 1, storage.MaxAccountID)
	return storage.ProfileID(n)
}

// bits returns a value of 32 bits, which clients print with or without a sign.
func (r *request) bits(key string) (uint32, bool) {
	n, ok := r.number(key, 0, math.MinInt32, math.MaxUint32)
	return uint32(n), ok
}

// numbers reads several values and remembers whether all were right.
type numbers struct {
	r   *request
	bad bool
}

func (n *numbers) number(key string, def, lowest, highest int64) int64 {
	v, ok := n.r.number(key, def, lowest, highest)
	n.bad = n.bad || !ok
	return v
}

func (n *numbers) bits(key string) uint32 {
	v, ok := n.r.bits(key)
	n.bad = n.bad || !ok
	return v
}
