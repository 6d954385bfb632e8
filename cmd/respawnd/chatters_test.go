package main

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/peerchat"
)

// chatter is a client at the chat service.
type chatter struct {
	*peerchat.Client
	t testing.TB
}

// chatConn connects a client.
func chatConn(t testing.TB, d *running) *chatter {
	t.Helper()
	c, err := netclient.DialTCP(wait(t), d.address["peerchat"].String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &chatter{peerchat.NewClient(c), t}
}

// chat signs a client on in clear text.
func chat(t testing.TB, d *running, nick string) *chatter {
	t.Helper()
	x := chatConn(t, d)
	x.must(x.SignOn(wait(t), nick))
	return x
}

// chatGame signs a game on, enciphered. With a unique nick its player logs in and
// has the nick that belongs to it.
func chatGame(t testing.TB, d *running, nick, uniqueNick string) *chatter {
	t.Helper()
	x := chatConn(t, d)
	x.must(x.Encrypt(wait(t), testGame, testSecret))
	if uniqueNick != "" {
		x.must(x.LogIn(wait(t), 1, uniqueNick, stormPassword))
	}
	x.must(x.SignOn(wait(t), nick))
	return x
}

func (x *chatter) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatalf("chat of %q: %v", x.Nick, err)
	}
}

// join enters a channel and fails unless it has exactly these members then.
func (x *chatter) join(channel string, members ...string) peerchat.Joined {
	x.t.Helper()
	j, err := x.Join(wait(x.t), channel, "")
	x.must(err)
	if got := slices.Sorted(slices.Values(j.Members)); len(members) > 0 && !slices.Equal(got, members) {
		x.t.Errorf("%s sees %q in %s, want %q", x.Nick, got, channel, members)
	}
	return j
}

func (x *chatter) send(line string) {
	x.t.Helper()
	x.must(x.Send(line))
}

// hears reads up to a line with this command and these first parameters.
func (x *chatter) hears(command string, params ...string) peerchat.Line {
	x.t.Helper()
	l, err := x.AwaitCommand(wait(x.t), command, params...)
	if err != nil {
		x.t.Fatalf("%s has not heard %s %q: %v", x.Nick, command, params, err)
	}
	return l
}

// hearsFrom is hears for a line of another client.
func (x *chatter) hearsFrom(other *chatter, command string, params ...string) {
	x.t.Helper()
	if l := x.hears(command, params...); l.Nick() != other.Nick {
		x.t.Errorf("%s heard %s from %q, want %q", x.Nick, command, l.From, other.Nick)
	}
}

// expect reads up to a line with a text and returns it.
func (x *chatter) expect(part string) string {
	x.t.Helper()
	l, err := x.Await(wait(x.t), func(l peerchat.Line) bool { return strings.Contains(l.String(), part) })
	if err != nil {
		x.t.Fatalf("no line with %q: %v", part, err)
	}
	return l.String()
}

// wantClosed reads up to the end of the connection and returns the reason that the
// service gave.
func (x *chatter) wantClosed() (why string) {
	x.t.Helper()
	for {
		l, err := x.Next(wait(x.t))
		switch {
		case errors.Is(err, peerchat.ErrClosed):
			why = l.Param(-1)
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			x.t.Fatalf("the connection of %s is still open", x.Nick)
		case errors.Is(err, io.EOF) || strings.Contains(err.Error(), "reset"):
			return why
		default:
			x.t.Fatal(err)
		}
	}
}

// stagingName returns the name that a game's host gives its staging room.
func stagingName(x *chatter, private netip.AddrPort) string {
	return peerchat.StagingName(testGame, x.Address, private.Addr(), private.Port())
}
