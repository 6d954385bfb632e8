package netclient

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// echo returns a client of a server that answers each packet with itself.
func echo(t *testing.T, connected bool) *Packets {
	t.Helper()
	server, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	s := New(server, netip.AddrPort{}, 0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Serve(func(b []byte, from netip.AddrPort) { _ = s.Answer(b, from) })
	}()
	t.Cleanup(func() { _ = s.Close(); <-done })
	open := Listen
	if connected {
		open = Dial
	}
	c, err := open(t.Context(), s.Local().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestPackets(t *testing.T) {
	t.Parallel()
	for name, connected := range map[string]bool{"connected": true, "not connected": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := echo(t, connected)
			for _, text := range []string{"passed over", "wanted"} {
				if err := c.Send([]byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			err := c.Await(t.Context(), func(b []byte, from netip.AddrPort) (bool, error) {
				if from != c.Server() {
					t.Errorf("packet from %v, want %v", from, c.Server())
				}
				return string(b) == "wanted", nil
			})
			if err != nil {
				t.Error(err)
			}
			if err := c.Await(Bound(t.Context(), time.Nanosecond), nil); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("after the deadline: %v, want %v", err, os.ErrDeadlineExceeded)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := c.Await(ctx, nil); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("with a cancelled context: %v, want %v", err, os.ErrDeadlineExceeded)
			}
			// Neither context concerns the next wait.
			if err := c.Send([]byte("again")); err != nil {
				t.Fatal(err)
			}
			if err := c.Await(t.Context(), func([]byte, netip.AddrPort) (bool, error) { return true, nil }); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	ch := make(chan int, 1)
	ch <- 7
	if v, err := Wait(Bound(t.Context(), time.Minute), ch); v != 7 || err != nil {
		t.Errorf("Wait: %v, %v, want 7", v, err)
	}
	if _, err := Wait(Bound(t.Context(), 0), ch); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait after the deadline: %v, want %v", err, context.DeadlineExceeded)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		sent string
		want []string
		err  error
	}{
		"two messages": {`\a\1\final\\b\2\final\`, []string{`\a\1`, `\b\2`}, nil},
		"no end":       {strings.Repeat(`\a\1`, gamespy.MaxMessage), nil, gamespy.ErrMessageTooLong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, theirs := net.Pipe()
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = theirs.Write([]byte(tc.sent)) // it may be closed before all is read
			}()
			defer func() { _ = ours.Close(); <-done }()
			c := NewText(ours)
			for _, want := range tc.want {
				if m, err := c.Next(t.Context()); m != want || err != nil {
					t.Errorf("Next: %q, %v, want %q", m, err, want)
				}
			}
			if tc.err != nil {
				if _, err := c.Next(t.Context()); !errors.Is(err, tc.err) {
					t.Errorf("Next: %v, want %v", err, tc.err)
				}
			}
		})
	}
}

func TestUnexpected(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`\error\\err\265\fatal\\errmsg\No.`: `the answer to a login is error "265": "No."`,
		`\lc\1\id\1`:                        `unexpected answer to a login: "lc"`,
	} {
		if got := Unexpected("a login", message).Error(); got != want {
			t.Errorf("Unexpected(%q) = %q, want %q", message, got, want)
		}
	}
}
