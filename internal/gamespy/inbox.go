package gamespy

import "io"

// Inbox is what a stream brought and was not taken as a message yet. The zero value
// is empty and holds no memory.
type Inbox struct {
	buf      []byte
	from, to int // what of buf is unread
}

// Sizes of the memory of an Inbox, in bytes.
const (
	firstInbox = 512
	keepInbox  = 2048 // more is given back when it is empty
)

// Next returns the next message without the [Final] behind it, reading from r if it
// must. It is valid until the next call. The error is [ErrMessageTooLong] or comes
// from r.
func (i *Inbox) Next(r io.Reader) ([]byte, error) {
	for {
		if body, rest, ok := CutFinal(i.buf[i.from:i.to]); ok {
			i.from = i.to - len(rest)
			return body, nil
		}
		if i.to-i.from >= MaxMessage {
			return nil, ErrMessageTooLong
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
func (i *Inbox) makeRoom() {
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
