package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// badUniqueNick is the code of a login with a unique nick that nobody has.
const badUniqueNick = "265"

// presence asks both presence services about a player who cannot exist: the
// unique nick is longer than any may be. So the test needs no account, and
// leaves none behind.
func (t *selfTest) presence(ctx context.Context) error {
	nobody := "selftest-" + rand.Text()
	if err := t.lookUp(ctx, nobody+"@selftest.invalid"); err != nil {
		return fmt.Errorf("gpsp: %w", err)
	}
	if err := t.signIn(ctx, nobody); err != nil {
		return fmt.Errorf("gpcm: %w", err)
	}
	return nil
}

// lookUp asks whether there is an account with an e-mail that nobody has. With
// gpsp.private the service says yes to everybody.
func (t *selfTest) lookUp(ctx context.Context, email string) error {
	c, err := dialGame(ctx, t.cfg.GPSP.Listen)
	if err != nil {
		return err
	}
	defer func() { _ = c.conn.Close() }()
	answer, err := c.ask("valid", "", "email", email, "partnerid", "0", "gamename", testGame)
	if err != nil {
		return err
	}
	want := "0"
	if t.cfg.GPSP.Private {
		want = "1"
	}
	if got, ok := answer.Get("vr"); !ok || got != want {
		return unexpected("a look-up", answer)
	}
	return nil
}

// signIn tries to sign in with a unique nick that nobody has.
func (t *selfTest) signIn(ctx context.Context, uniqueNick string) error {
	c, err := dialGame(ctx, t.cfg.GPCM.Listen)
	if err != nil {
		return err
	}
	defer func() { _ = c.conn.Close() }()
	hello, err := c.read()
	if err != nil {
		return fmt.Errorf("no greeting: %w", err)
	}
	if challenge, _ := hello.Get("challenge"); !has(hello, "lc", "1") || challenge == "" {
		return unexpected("a connection", hello)
	}
	answer, err := c.ask("login", "", "challenge", rand.Text(), "uniquenick", uniqueNick, "partnerid", "0",
		"response", strings.Repeat("0", 32), "port", "0", "productid", "0", "gamename", testGame,
		"namespaceid", "1", "sdkrevision", "11", "id", "1")
	if err != nil {
		return fmt.Errorf("no answer to a login: %w", err)
	}
	if !has(answer, "err", badUniqueNick) || !has(answer, "id", "1") {
		return unexpected("a login of nobody", answer)
	}
	return nil
}

// has reports whether a message has that value for a key.
func has(m gamespy.Message, key, value string) bool {
	got, ok := m.Get(key)
	return ok && got == value
}

// unexpected returns the error for an answer that is not the right one.
func unexpected(to string, m gamespy.Message) error {
	if text, ok := m.Get("errmsg"); ok {
		code, _ := m.Get("err")
		return fmt.Errorf("the answer to %s is error %q: %q", to, code, text)
	}
	return fmt.Errorf("the answer to %s is not what it must be: %q", to, m.Name())
}

// gameConn is a connection of a game that speaks backslash text.
type gameConn struct {
	conn   net.Conn
	unread []byte
}

// dialGame connects to a listen address. Everything on the connection has to be
// over within stepTimeout.
func dialGame(ctx context.Context, listen string) (*gameConn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp4", dialable(listen))
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(stepTimeout)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &gameConn{conn: conn}, nil
}

// ask sends a message and returns the next one that comes.
func (c *gameConn) ask(fields ...string) (gamespy.Message, error) {
	if err := c.send(fields...); err != nil {
		return gamespy.Message{}, err
	}
	return c.read()
}

// send sends a message, given as keys and values in turn.
func (c *gameConn) send(fields ...string) error {
	var m gamespy.Message
	for i := 0; i+1 < len(fields); i += 2 {
		m.Add(fields[i], fields[i+1])
	}
	b, err := m.AppendTo(nil)
	if err != nil {
		return err
	}
	_, err = c.conn.Write(append(b, gamespy.Final...))
	return err
}

// read returns the next message. The error is gamespy.ErrMessageTooLong for one
// that has no end.
func (c *gameConn) read() (gamespy.Message, error) {
	buf := make([]byte, 1024)
	for {
		if body, rest, ok := gamespy.CutFinal(c.unread); ok {
			c.unread = rest
			return gamespy.ParseMessage(body)
		}
		if len(c.unread) >= gamespy.MaxMessage {
			return gamespy.Message{}, gamespy.ErrMessageTooLong
		}
		n, err := c.conn.Read(buf)
		if err != nil {
			return gamespy.Message{}, err
		}
		c.unread = append(c.unread, buf[:n]...)
	}
}
