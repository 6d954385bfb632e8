package netclient

import (
	"bytes"
	"context"
	"errors"
	"net"
)

// MaxLine is the length of the longest line that is read, in bytes.
const MaxLine = 1 << 16

// ErrLineTooLong reports a line without an end within MaxLine bytes.
var ErrLineTooLong = errors.New("the line has no end")

// Lines is a connection that speaks lines, plain or enciphered. It is used by one
// goroutine at a time.
type Lines struct {
	conn               net.Conn
	in, out            []byte
	decipher, encipher func([]byte)
}

// NewLines returns Lines on a connection, which it takes ownership of.
func NewLines(conn net.Conn) *Lines { return &Lines{conn: conn} }

// Encrypt deciphers everything that Next has not returned yet, and enciphers
// everything that is sent from now on. The functions change bytes in place.
func (l *Lines) Encrypt(decipher, encipher func([]byte)) {
	decipher(l.in)
	l.decipher, l.encipher = decipher, encipher
}

// Send sends a line. CR LF is appended to it.
func (l *Lines) Send(line string) error {
	l.out = append(append(l.out[:0], line...), "\r\n"...)
	if l.encipher != nil {
		l.encipher(l.out)
	}
	_, err := l.conn.Write(l.out)
	return err
}

// Next returns the next line without its end, LF or CR LF. The error is
// ErrLineTooLong for one that has no end.
func (l *Lines) Next(ctx context.Context) (string, error) {
	release, err := bound(ctx, l.conn, false)
	if err != nil {
		return "", err
	}
	defer release()
	for seen := 0; ; {
		if i := bytes.IndexByte(l.in[seen:], '\n'); i >= 0 {
			line, rest := l.in[:seen+i], l.in[seen+i+1:]
			text := string(bytes.TrimSuffix(line, []byte{'\r'}))
			l.in = append(l.in[:0], rest...)
			return text, nil
		}
		if seen = len(l.in); seen >= MaxLine {
			return "", ErrLineTooLong
		}
		if err := l.read(); err != nil {
			return "", err
		}
	}
}

// read appends received data to l.in.
func (l *Lines) read() error {
	if cap(l.in)-len(l.in) < minRead {
		l.in = append(make([]byte, 0, 2*len(l.in)+minRead), l.in...)
	}
	n, err := l.conn.Read(l.in[len(l.in):cap(l.in)])
	if n == 0 {
		return err
	}
	fresh := l.in[len(l.in) : len(l.in)+n]
	if l.decipher != nil {
		l.decipher(fresh)
	}
	l.in = l.in[:len(l.in)+n]
	return nil
}

// minRead is how much one read may bring at least, in bytes.
const minRead = 512

// Close closes the connection.
func (l *Lines) Close() error { return l.conn.Close() }
