package peerchat

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/respawnd/respawnd/internal/netserve"
)

// maxLine is the longest line that a client may send, in bytes with its end.
const maxLine = 4096

// firstInbox is the memory of an inbox that waits, in bytes. Nearly all lines
// fit into it; a larger buffer is released as soon as it is empty.
const firstInbox = 256

// errLineTooLong reports a line of more than maxLine bytes. The stream cannot
// be read further.
var errLineTooLong = errors.New("line too long")

// inbox cuts the data of a client into lines. The zero value is empty and holds
// no memory.
type inbox struct {
	buf      []byte
	from, to int     // the unread part of buf, as plain text
	cipher   *cipher // of the data that will be read, nil: not encrypted
}

// next returns the next line that is not empty, without its end and without any CR
// or NUL, reading from r if it must. It is valid until the next call. The error is
// errLineTooLong or comes from r.
func (i *inbox) next(r io.Reader) (line []byte, err error) {
	for {
		unread := i.buf[i.from:i.to]
		if end := bytes.IndexByte(unread, '\n'); end >= 0 {
			i.from += end + 1
			if line := cleanInPlace(unread[:end]); len(line) > 0 {
				return line, nil
			}
			continue
		}
		if len(unread) >= maxLine {
			return nil, errLineTooLong
		}
		i.grow()
		n, err := r.Read(i.buf[i.to:])
		if i.cipher != nil {
			i.cipher.apply(i.buf[i.to : i.to+n])
		}
		if c, ok := r.(*netserve.Conn); ok {
			c.Heard(i.buf[i.to : i.to+n])
		}
		i.to += n
		if n == 0 && err != nil {
			return nil, err
		}
	}
}

// encrypt deciphers everything after the line that next returned last,
// including data that was read already. It may be called once.
func (i *inbox) encrypt(c cipher) {
	i.cipher = &c
	i.cipher.apply(i.buf[i.from:i.to])
}

// grow makes room for at least one byte after the unread part, which is
// less than maxLine.
func (i *inbox) grow() {
	unread := i.buf[i.from:i.to]
	switch {
	case len(unread) == 0 && len(i.buf) != firstInbox: // none yet, or more than most lines need
		i.buf = make([]byte, firstInbox)
	case i.to < len(i.buf) && len(unread) > 0:
		return
	case len(unread) == len(i.buf):
		i.buf = append(i.buf, make([]byte, len(i.buf))...)
	default:
		copy(i.buf, unread)
	}
	i.from, i.to = 0, len(unread)
}

// cleanInPlace is appendClean in the memory of the line.
func cleanInPlace(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if bytes.IndexByte(line, '\r') < 0 && bytes.IndexByte(line, 0) < 0 {
		return line
	}
	return slices.DeleteFunc(line, isBreak)
}
