package gstats

import (
	"bytes"
	"io"
	"sync/atomic"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// Sizes of the memory of an inbox, in bytes.
const (
	firstInbox = 512
	// keepInbox is the memory that an inbox may keep when it is empty. Beyond it, memory is taken
	// from the share of all connections.
	keepInbox = 4 << 10
)

// memory bounds the bytes that all inboxes hold together, beyond keepInbox each.
type memory struct {
	most int64
	used atomic.Int64
}

// take reports whether there were n bytes, and takes them.
func (m *memory) take(n int64) bool {
	if m == nil || m.used.Add(n) <= m.most {
		return true
	}
	m.used.Add(-n)
	return false
}

func (m *memory) give(n int64) {
	if m != nil {
		m.used.Add(-n)
	}
}

// progress is how much of a message an inbox has.
type progress uint8

const (
	partial progress = iota
	whole
	// doubtful is a message that has fewer bytes of data than its length says: the
	// terminator that ends it may be a part of the obfuscated data, if more follows.
	doubtful
	tooLong
)

// inbox divides the bytes of a client into messages. The zero value is empty, holds no
// memory and accepts nothing until most is set.
type inbox struct {
	most   int     // bytes of a message with its terminator
	shared *memory // nil: without a bound

	buf      []byte
	from, to int // the unread part of buf
	scanned  int // no terminator begins in so many bytes of it
	clear    int // so many bytes of it are deciphered: a terminator follows them
}

// next returns the next message without its terminator, in the clear. It is valid until
// the next call of a method.
func (i *inbox) next() ([]byte, progress) {
	unread := i.buf[i.from:i.to]
	if i.clear == 0 {
		end := bytes.Index(unread[i.scanned:], []byte(gamespy.Final))
		switch {
		case end < 0 && len(unread) >= i.most, end >= 0 && i.scanned+end+len(gamespy.Final) > i.most:
			return nil, tooLong
		case end < 0:
			i.scanned = max(0, len(unread)-len(gamespy.Final)+1)
			return nil, partial
		}
		i.clear = i.scanned + end
		crypt(unread[:i.clear], 0)
	}
	end := dataEnd(unread[:i.clear])
	if end <= i.clear+1 || end+len(gamespy.Final) > i.most {
		return i.take(i.clear), whole
	}
	for _, end := range []int{end - 1, end} { // some games count one byte more than they send
		if len(unread) < end+len(gamespy.Final) {
			return nil, doubtful
		}
		if string(unread[end:end+len(gamespy.Final)]) == gamespy.Final {
			crypt(unread[i.clear:end], i.clear)
			return i.take(end), whole
		}
	}
	return i.take(i.clear), whole
}

// cut returns a doubtful message as it is.
func (i *inbox) cut() []byte { return i.take(i.clear) }

// take removes a message of n bytes and its terminator.
func (i *inbox) take(n int) []byte {
	body := i.buf[i.from : i.from+n]
	i.from += n + len(gamespy.Final)
	i.scanned, i.clear = 0, 0
	return body
}

// waiting reports whether the inbox has a part of a message.
func (i *inbox) waiting() bool { return i.to > i.from }

// read reads once from r. full reports that there is no memory for it.
func (i *inbox) read(r io.Reader) (full bool, err error) {
	if !i.grow() {
		return true, nil
	}
	n, err := r.Read(i.buf[i.to:])
	i.to += n
	if n > 0 {
		err = nil
	}
	return false, err
}

// grow makes room for at least one byte and reports whether there was memory for
// it.
func (i *inbox) grow() bool {
	unread := i.buf[i.from:i.to]
	switch {
	case len(unread) == 0 && (i.buf == nil || len(i.buf) > keepInbox):
		return i.resize(firstInbox)
	case i.from == 0 && i.to == len(i.buf):
		return i.resize(2 * len(i.buf))
	case i.to == len(i.buf) || len(unread) == 0:
		copy(i.buf, unread)
		i.from, i.to = 0, len(unread)
	}
	return true
}

// resize moves the unread part to memory of n bytes, if there is as much.
func (i *inbox) resize(n int) bool {
	more := beyond(n) - beyond(len(i.buf))
	if more > 0 && !i.shared.take(more) {
		return false
	}
	if more < 0 {
		i.shared.give(-more)
	}
	unread := i.buf[i.from:i.to]
	i.buf = make([]byte, n)
	i.from, i.to = 0, copy(i.buf, unread)
	return true
}

// free releases the memory.
func (i *inbox) free() {
	i.shared.give(beyond(len(i.buf)))
	i.buf, i.from, i.to, i.scanned, i.clear = nil, 0, 0, 0, 0
}

// beyond returns the bytes of n that are taken from shared memory.
func beyond(n int) int64 { return int64(max(0, n-keepInbox)) }
