package gamespy

import "io"

// Inbox buffers the unread bytes of a stream and divides them into messages.
// The zero value is empty and holds no memory.
type Inbox struct {
	buf      []byte
	from, to int  // the unread part of buf
	rested   bool // the first buffer is of restInbox
}

// Sizes of the memory of an Inbox, in bytes.
const (
	firstInbox = 512
	restInbox  = 128
	keepInbox  = 2048 // a larger buffer is released when it is empty
)

// Next returns the next message without its [Final], reading from r if
// necessary. It is valid until the next call. The error is [ErrMessageTooLong]
// or comes from r.
func (i *Inbox) Next(r io.Reader) ([]byte, error) {
	for {
		if body, rest, ok := CutFinal(i.buf[i.from:i.to]); ok {
			i.from = i.to - len(rest)
			return body, nil
		}
		if i.to-i.from >= MaxMessage {
			return nil, ErrMessageTooLong
		}
		i.grow()
		n, err := r.Read(i.buf[i.to:])
		i.to += n
		if n == 0 && err != nil {
			return nil, err
		}
	}
}

// Rest releases the memory if nothing is unread, and begins with little of it when
// it reads again: for a stream that will be silent for long.
func (i *Inbox) Rest() {
	if i.from == i.to {
		*i = Inbox{rested: true}
	}
}

// grow makes room for at least one byte after the unread part.
func (i *Inbox) grow() {
	unread := i.buf[i.from:i.to]
	switch {
	case len(unread) == 0 && (i.buf == nil || len(i.buf) > keepInbox):
		size := firstInbox
		if i.rested {
			size, i.rested = restInbox, false // one that needs more soon needs it again
		}
		i.buf = make([]byte, size)
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
