package serverbrowse

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/netserve"
)

// FuzzRequest parses messages, writes them and parses them again.
func FuzzRequest(f *testing.F) {
	for _, rec := range loadRecordings(f).Scenarios {
		for _, m := range rec.Client {
			f.Add([]byte(m))
		}
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		frames := frameReader{r: bytes.NewReader(p)}
		for {
			kind, body, err := frames.next()
			if err != nil {
				return
			}
			if len(body)+minMessage > maxMessage {
				t.Fatalf("message of %d bytes", len(body)+minMessage)
			}
			once, err := reappend(kind, body)
			if err != nil {
				continue
			}
			twice, err := reappend(kind, once[minMessage:])
			if err != nil || !bytes.Equal(once, twice) {
				t.Fatalf("%v: %x, then %x, %v", kind, once, twice, err)
			}
		}
	})
}

// FuzzDecode reads a stream as a browser does, writes it and reads it again.
func FuzzDecode(f *testing.F) {
	for _, rec := range loadRecordings(f).Scenarios {
		f.Add(uint32(rec.Request.Options), []byte(rec.Clear))
	}
	f.Fuzz(func(t *testing.T, options uint32, p []byte) {
		d := newClearDecoder(bytes.NewReader(p))
		reply, err := d.Reply(Option(options))
		if err != nil {
			return
		}
		again, err := newClearDecoder(bytes.NewReader(encodeReply(reply, Option(options)))).Reply(Option(options))
		if err != nil {
			t.Fatalf("decoding what was encoded: %v", err)
		}
		if d := cmp.Diff(reply, again, compareAddrs); d != "" {
			t.Fatalf("decoded (-first +second):\n%s", d)
		}
		for range 100 {
			push, err := d.Push()
			if err != nil {
				return
			}
			if n := len(push.Body); n > maxMessage-minMessage {
				t.Fatalf("message of %d bytes", n)
			}
		}
	})
}

// FuzzSession sends arbitrary data to a session. The answer is bounded: each
// message gets at most the list of the fixture.
func FuzzSession(f *testing.F) {
	for _, rec := range loadRecordings(f).Scenarios {
		f.Add(slices.Concat(toSlices(rec.Client)...))
	}
	reg := newTestRegistry()
	for i, name := range []string{"192.0.2.10:6500", "192.0.2.11:7777", "192.0.2.12:6500"} {
		putPlayers(f, reg, "gmtest", name, []string{"hostname", name, "numplayers", string(rune('0' + i))}, []string{"Joe", "Joey"}, nil)
	}
	srv := New(Options{Config: testConfig(), Listing: part.Listing{Registry: reg, Games: testGames(f)}, Messenger: &messenger{}})
	ln := nettest.NewPipes()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- netserve.ServeConns(ctx, ln, srv, netserve.ConnOptions{Rate: -1, MaxPerAddr: -1, Log: zerolog.Nop()})
	}()
	f.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, p []byte) {
		c, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan int64, 1)
		go func() {
			n, _ := io.Copy(io.Discard, c)
			got <- n
		}()
		_ = c.SetWriteDeadline(time.Now().Add(10 * time.Second))
		if _, err := c.Write(p); err != nil && isTimeout(err) {
			t.Fatalf("session does not read: %v", err)
		}
		// A message with a length that cannot be ends the session.
		_, _ = c.Write(binary.BigEndian.AppendUint16(make([]byte, maxMessage), 0))
		n := <-got
		if most := int64(64 + (len(p)/minMessage+1)*maxMessage); n > most {
			t.Errorf("%d bytes for %d bytes, want at most %d", n, len(p), most)
		}
		_ = c.Close()
	})
}
