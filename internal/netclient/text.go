package netclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// isClosed reports whether a socket was closed on our side.
func isClosed(err error) bool { return errors.Is(err, net.ErrClosed) }

// DialTCP connects to a server, host:port.
func DialTCP(ctx context.Context, server string) (net.Conn, error) {
	return Connect(ctx, "tcp4", server)
}

// During calls talk, whose reads and writes on conn end with ctx.
func During(ctx context.Context, conn net.Conn, talk func() error) error {
	release, err := bound(ctx, conn, true)
	if err != nil {
		return err
	}
	defer release()
	return talk()
}

// Text is a connection that speaks messages of backslash text. It is used by one
// goroutine at a time.
type Text struct {
	conn   net.Conn
	unread []byte
	in     [4096]byte
	out    []byte
}

// NewText returns a Text on a connection, which it takes ownership of.
func NewText(conn net.Conn) *Text { return &Text{conn: conn} }

// Send sends a message, given as keys and values in turn. The error may be
// gamespy.ErrUnwritable.
func (t *Text) Send(fields ...string) error {
	var m gamespy.Message
	for i := 0; i+1 < len(fields); i += 2 {
		m.Add(fields[i], fields[i+1])
	}
	b, err := m.AppendTo(t.out[:0])
	if err != nil {
		return err
	}
	t.out = append(b, gamespy.Final...)
	_, err = t.conn.Write(t.out)
	return err
}

// SendText sends a text as it is.
func (t *Text) SendText(text string) error {
	_, err := t.conn.Write([]byte(text))
	return err
}

// Next returns the next message without its end. The error is
// gamespy.ErrMessageTooLong for one that has no end.
func (t *Text) Next(ctx context.Context) (string, error) {
	release, err := bound(ctx, t.conn, false)
	if err != nil {
		return "", err
	}
	defer release()
	for {
		if body, rest, ok := gamespy.CutFinal(t.unread); ok {
			m := string(body)
			t.unread = append(t.unread[:0], rest...)
			return m, nil
		}
		if len(t.unread) >= gamespy.MaxMessage {
			return "", gamespy.ErrMessageTooLong
		}
		n, err := t.conn.Read(t.in[:])
		if err != nil {
			return "", err
		}
		t.unread = append(t.unread, t.in[:n]...)
	}
}

// Close closes the connection.
func (t *Text) Close() error { return t.conn.Close() }

// Field returns the value of a key of a message, found the way clients find it,
// "" if there is none.
func Field(message, key string) string {
	_, value, _ := strings.Cut(message, `\`+key+`\`)
	value, _, _ = strings.Cut(value, `\`)
	return value
}

// ErrUnexpected reports a message other than the expected one.
var ErrUnexpected = errors.New("unexpected message")

// Unexpected returns an error, which matches ErrUnexpected, for a message that
// is not the expected answer to a request, such as "a login". It quotes the
// code and text of an error that the server sent.
func Unexpected(to, message string) error {
	if text := Field(message, "errmsg"); text != "" {
		return unexpectedError(fmt.Sprintf("the answer to %s is error %q: %q", to, Field(message, "err"), text))
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(message, `\`), `\`)
	return unexpectedError(fmt.Sprintf("unexpected answer to %s: %q", to, name))
}

type unexpectedError string

func (e unexpectedError) Error() string { return string(e) }

func (e unexpectedError) Is(target error) bool { return target == ErrUnexpected }
