package probe

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"
)

func TestQueryInEveryProtocol(t *testing.T) {
	target := server(t, answerTo)
	for kind, want := range map[Kind]string{Text: "text", TextInfo: "text", Binary: "binary", BinaryChallenged: "split"} {
		st, err := Query(t.Context(), listen(t), target, kind)
		if got, _ := st.Get("hostname"); err != nil || got != want {
			t.Errorf("Query in %v: hostname %q, error %v; want %q", kind, got, err, want)
		}
	}
}

func TestQueryNeverAsksSomeAddresses(t *testing.T) {
	for _, a := range []string{"127.0.0.1:0", "255.255.255.255:6500", "224.0.0.1:6500", "0.0.0.0:6500"} {
		if _, err := Query(t.Context(), nil, netip.MustParseAddrPort(a), Text); !errors.Is(err, ErrForbidden) {
			t.Errorf("Query of %s: %v, want ErrForbidden", a, err)
		}
	}
}

func TestQuerySkipsPacketsOfOthers(t *testing.T) {
	conn, other := listen(t), listen(t)
	target := server(t, func(q []byte) [][]byte {
		// The forged answer is in the buffer before the right one is sent.
		_, _ = other.WriteToUDPAddrPort([]byte(`\hostname\forged\final\\queryid\1.1`), address(conn))
		return answerTo(q)
	})
	st, err := Query(t.Context(), conn, target, Text)
	if got, _ := st.Get("hostname"); err != nil || got != "text" {
		t.Errorf("Query: hostname %q, error %v; want text", got, err)
	}
}

func TestQueryEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	target := server(t, func([]byte) [][]byte { cancel(); return nil })
	if _, err := Query(ctx, listen(t), target, Text); !errors.Is(err, context.Canceled) {
		t.Errorf("Query: %v, want context.Canceled", err)
	}
}

func TestQueryOfAServerThatNeverEndsIsBounded(t *testing.T) {
	target := server(t, func([]byte) (out [][]byte) {
		for range maxPackets + 1 {
			out = append(out, []byte(`\hostname\x\queryid\1.1`))
		}
		return out
	})
	if _, err := Query(t.Context(), listen(t), target, Text); !errors.Is(err, ErrTooMuch) {
		t.Errorf("Query: %v, want ErrTooMuch", err)
	}
}

// silentConn is a socket to which nothing comes.
type silentConn struct {
	mu       sync.Mutex // guards the fields below
	asked    int
	deadline time.Time
}

func (c *silentConn) WriteToUDPAddrPort(b []byte, _ netip.AddrPort) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return len(b), nil
}

func (c *silentConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return nil
}

func (c *silentConn) ReadFromUDPAddrPort([]byte) (int, netip.AddrPort, error) {
	c.mu.Lock()
	wait := time.Until(c.deadline)
	c.mu.Unlock()
	time.Sleep(wait)
	return 0, netip.AddrPort{}, context.DeadlineExceeded // a timeout, as that of a socket
}
