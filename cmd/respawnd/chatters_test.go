package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
)

// chatter is an IRC client at the chat service.
type chatter struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

// chat signs a client on.
func chat(t testing.TB, d *running, nick string) *chatter {
	t.Helper()
	c, err := netclient.DialTCP(wait(t), d.address["peerchat"].String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	x := &chatter{t, c, bufio.NewReader(c)}
	x.send("USER " + nick + " 127.0.0.1 peerchat.gamespy.com :" + nick)
	x.send("NICK " + nick)
	x.expect(" 001 ")
	return x
}

// join enters a channel.
func (x *chatter) join(channel string) {
	x.t.Helper()
	x.send("JOIN " + channel)
	x.expect(" 366 ")
}

func (x *chatter) send(line string) {
	x.t.Helper()
	if _, err := io.WriteString(x.conn, line+"\r\n"); err != nil {
		x.t.Fatalf("send %q: %v", line, err)
	}
}

// expect reads up to a line with a text and returns it.
func (x *chatter) expect(part string) string {
	x.t.Helper()
	for {
		line, err := x.line()
		if err != nil {
			x.t.Fatalf("no line with %q: %v", part, err)
		}
		if strings.Contains(line, part) {
			return line
		}
	}
}

// wantClosed reads up to the end of the connection.
func (x *chatter) wantClosed() {
	x.t.Helper()
	for {
		_, err := x.line()
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), strings.Contains(err.Error(), "reset"):
			return
		default:
			x.t.Fatalf("the connection is still open: %v", err)
		}
	}
}

func (x *chatter) line() (string, error) {
	if err := x.conn.SetReadDeadline(time.Now().Add(hang)); err != nil {
		return "", err
	}
	line, err := x.in.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}
