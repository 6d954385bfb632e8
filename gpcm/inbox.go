package gpcm

import (
	"io"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// inbox is what a client sent and nobody has read.
type inbox struct {
	buf      []byte
	from, to int // what of buf is unread
}

// Sizes of the memory of an inbox, in bytes.
const (
	firstInbox = 512
	keepInbox  = 2048 // more is given back when it is empty
)

// next returns the next message without its end, reading more if it must. It is
// valid until the next call.
func (i *inbox) next(r io.Reader) ([]byte, error) {
	for {
		if body, rest, ok := gamespy.CutFinal(i.buf[i.from:i.to]); ok {
			i.from = i.to - len(rest)
			return body, nil
		}
		if i.to-i.from >= gamespy.MaxMessage {
			return nil, endedTooLong
		}
		i.makeRoom()
		n, err := r.Read(i.buf[i.to:])
		i.to += n
		if n == 0 && err != nil {
			return nil, err
		}
	}
}

// makeRoom makes room for at least one byte behind what is unread.
func (i *inbox) makeRoom() {
	unread := i.buf[i.from:i.to]
	switch {
	case len(unread) == 0 && (i.buf == nil || len(i.buf) > keepInbox):
		i.buf = make([]byte, firstInbox)
	case i.from == 0 && i.to == len(i.buf):
		i.buf = append(i.buf, make([]byte, len(i.buf))...)
		return
	case i.to == len(i.buf) || len(unread) == 0:
		copy(i.buf, unread)
	default:
		return
	}
	i.from, i.to = 0, len(unread)
}
