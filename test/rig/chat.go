package rig

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/peerchat"
)

// OpenConnections is the sample that counts the connections of a service.
func OpenConnections(service string) string { return `respawnd_connections{service="` + service + `"}` }

// Chatter is a client at the chat service.
type Chatter struct {
	*peerchat.Client
	T testing.TB
}

// ChatConn connects a client.
func ChatConn(t testing.TB, d *Running) *Chatter {
	t.Helper()
	c, err := netclient.DialTCP(Wait(t), d.Address["peerchat"].String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &Chatter{peerchat.NewClient(c), t}
}

// Chat signs a client on in clear text.
func Chat(t testing.TB, d *Running, nick string) *Chatter {
	t.Helper()
	x := ChatConn(t, d)
	x.Must(x.SignOn(Wait(t), nick))
	return x
}

// Must fails the test if err is not nil.
func (x *Chatter) Must(err error) {
	x.T.Helper()
	if err != nil {
		x.T.Fatalf("chat of %q: %v", x.Nick, err)
	}
}

// MustJoin enters a channel and fails unless it has exactly these members then.
func (x *Chatter) MustJoin(channel string, members ...string) peerchat.Joined {
	x.T.Helper()
	j, err := x.Join(Wait(x.T), channel, "")
	x.Must(err)
	if got := slices.Sorted(slices.Values(j.Members)); len(members) > 0 && !slices.Equal(got, members) {
		x.T.Errorf("%s sees %q in %s, want %q", x.Nick, got, channel, members)
	}
	return j
}

// MustSend sends a line.
func (x *Chatter) MustSend(line string) {
	x.T.Helper()
	x.Must(x.Send(line))
}

// Hears reads up to a line with this command and these first parameters.
func (x *Chatter) Hears(command string, params ...string) peerchat.Line {
	x.T.Helper()
	l, err := x.AwaitCommand(Wait(x.T), command, params...)
	if err != nil {
		x.T.Fatalf("%s has not heard %s %q: %v", x.Nick, command, params, err)
	}
	return l
}

// HearsFrom is hears for a line of another client.
func (x *Chatter) HearsFrom(other *Chatter, command string, params ...string) {
	x.T.Helper()
	if l := x.Hears(command, params...); l.Nick() != other.Nick {
		x.T.Errorf("%s heard %s from %q, want %q", x.Nick, command, l.From, other.Nick)
	}
}

// Expect reads up to a line with a text and returns it.
func (x *Chatter) Expect(part string) string {
	x.T.Helper()
	l, err := x.Await(Wait(x.T), func(l peerchat.Line) bool { return strings.Contains(l.String(), part) })
	if err != nil {
		x.T.Fatalf("no line with %q: %v", part, err)
	}
	return l.String()
}

// SearchMatch looks for a match of two at the program of a game in a room, once it is there.
func (x *Chatter) SearchMatch(room, program string) {
	x.T.Helper()
	Eventually(x.T, "the program is in "+room, func() bool {
		members := x.MustJoin(room).Members
		here := slices.ContainsFunc(members, func(nick string) bool { return strings.TrimPrefix(nick, "@") == program })
		if !here {
			x.Must(x.Part(room, ""))
		}
		return here
	})
	x.Must(x.Say(program, `\CINFO\NumPlayers\2\Points\1000\PointsStddev\50\PointRange\250\IP\2130706433\Side\4\Color\-1\NAT\0\Maps\01\LadID\1`))
	x.Expect(" PRIVMSG " + x.Nick + " MBOT:WORKING ")
}

// WantClosed reads up to the end of the connection and returns the reason that the
// service gave.
func (x *Chatter) WantClosed() (why string) {
	x.T.Helper()
	for {
		l, err := x.Next(Wait(x.T))
		switch {
		case errors.Is(err, peerchat.ErrClosed):
			why = l.Param(-1)
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			x.T.Fatalf("the connection of %s is still open", x.Nick)
		case errors.Is(err, io.EOF) || strings.Contains(err.Error(), "reset"):
			return why
		default:
			x.T.Fatal(err)
		}
	}
}

// Screen is the output of a program.
type Screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (s *Screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

// String returns all of it.
func (s *Screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
