package fesl

import (
	"bufio"
	"bytes"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/racetest"
)

// reader returns the bytes, buffered.
func reader(b []byte) *bufio.Reader {
	r := bufio.NewReaderSize(bytes.NewReader(b), len(b))
	_, _ = r.Peek(1)
	return r
}

// BenchmarkSignIn is a session from Hello to the ticket without the network, and the check of
// its password alone.
func BenchmarkSignIn(b *testing.B) {
	f := build(b, nil)
	f.register()
	at := netip.MustParseAddrPort("127.0.0.1:18840")
	var frames []wire.Frame
	all := examples(b)
	for _, name := range []string{"C1 Hello", "C3 NuLogin", "C4 NuGetPersonas", "C5 NuLoginPersona", "C6 GameSpyPreAuth"} {
		var in wire.Inbox
		frame, err := in.Next(bytes.NewReader(all[name]), maxFrame)
		if err != nil {
			b.Fatal(err)
		}
		frames = append(frames, frame)
	}
	b.Run("session", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			now := time.Now()
			x := f.server.newSession(at, at, func(error) {}, now)
			for _, frame := range frames {
				if err := x.handle(b.Context(), frame, now); err != nil {
					b.Fatal(err)
				}
				x.out = x.out[:0]
			}
			x.end()
		}
	})
	b.Run("password", func(b *testing.B) {
		for b.Loop() {
			c := accounts.Credentials{Email: testEmail, Password: testPassword, From: at.Addr()}
			if _, err := f.accounts.SignIn.CheckPassword(b.Context(), c); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// maxIdle is the memory of a signed-in client that is silent, in bytes, with its goroutine and
// the buffers of the test's side of the connection.
const maxIdle = 24 << 10

// TestIdleMemory measures silent clients.
func TestIdleMemory(t *testing.T) {
	racetest.Skip(t, "the detector makes stacks larger than they are in the program")
	const clients = 200
	f := startPipe(t, nil)
	f.register()
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	before := used()
	for range clients {
		p := f.signedIn(testGame)
		defer runtime.KeepAlive(p)
	}
	if each := (used() - before) / clients; each > maxIdle {
		t.Errorf("%d bytes for a silent client, want at most %d", each, maxIdle)
	} else {
		t.Logf("%d bytes for a silent client", each)
	}
}
