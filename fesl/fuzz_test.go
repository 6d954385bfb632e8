package fesl

import (
	"context"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/fesl/wire"
)

// faults remembers the first line of a log.
type faults struct{ seen atomic.Pointer[string] }

func (f *faults) Write(p []byte) (int, error) {
	line := string(p)
	f.seen.CompareAndSwap(nil, &line)
	return len(p), nil
}

// FuzzSession sends anything to a session of each stage, and reads its answers.
func FuzzSession(f *testing.F) {
	for name, b := range examples(f) {
		if name[0] == 'C' {
			f.Add(string(b[:4]), string(b[wire.HeaderSize:]), byte(stagePersona))
		}
	}
	for request := range commands() {
		f.Add(request[:4], "TXN="+request[5:]+"\nname=Tanya\nkeys.0=a\nuserInfo.0.userName=%0aTXN%3dx\n", byte(stageAccount))
	}
	var bad faults
	s := build(f, func(o *Options) {
		o.Log = zerolog.New(&bad).Level(zerolog.ErrorLevel)
		o.Registrations = 0
	})
	s.register()
	at := netip.MustParseAddrPort("127.0.0.1:18840")
	f.Fuzz(func(t *testing.T, service, payload string, stage byte) {
		sent := wire.Frame{Header: wire.Header{Service: service}, Payload: []byte(payload)}
		if _, err := wire.ParseFrame(sent.Append(nil)); err != nil || len(payload) > maxFrame {
			return // it does not arrive
		}
		now := time.Now()
		x := s.server.newSession(at, at, func(error) {}, now)
		defer x.end()
		ask := func(service, payload string) error {
			return x.handle(context.Background(), wire.Frame{Header: wire.Header{Service: service, Kind: wire.Request, Number: 7}, Payload: []byte(payload)}, now)
		}
		for i, text := range []string{"TXN=Hello\nclientString=cncra3-pc", "TXN=NuLogin\nnuid=" + testEmail + "\npassword=" + testPassword, "TXN=NuLoginPersona\nname=" + testPersona} {
			if i < int(stage%4) {
				if err := ask([]string{"fsys", "acct", "acct"}[i], text); err != nil {
					t.Fatal(err)
				}
			}
		}
		x.out = nil
		if err := ask(service, payload); err == nil {
			answers(t, x.out)
		}
		if line := bad.seen.Load(); line != nil {
			t.Error(*line)
		}
	})
}

// answers fails unless the output is whole messages, the first with the number of the request.
func answers(t *testing.T, out []byte) {
	t.Helper()
	if len(out) == 0 {
		t.Error("no answer")
		return
	}
	c := &Client{r: reader(out)}
	for n := 0; c.r.Buffered() > 0 || n == 0; n++ {
		frame, err := c.in.Next(c.r, maxFrame)
		if err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		if n == 0 && frame.Number != 7 {
			t.Errorf("answer with number %d", frame.Number)
		}
	}
}
