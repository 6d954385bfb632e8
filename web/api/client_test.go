package api

import (
	"bytes"
	"strings"
	"testing"
)

// whole is an answer of another daemon.
const whole = `{"master":"m","count":1,"servers":[{"id":"a","game":"gmtest","origin":"qr2","address":"192.0.2.1:6500","query":"gs1","via":""}],"next":"c"}`

// TestReadPage reads a list, and cut ones, which are errors.
func TestReadPage(t *testing.T) {
	n := 0
	p, err := readPage(strings.NewReader(whole), func(*Remote) error { n++; return nil })
	if err != nil || n != 1 || p != (page{Master: "m", Count: 1, Next: "c"}) {
		t.Errorf("%+v with %d servers, %v", p, n, err)
	}
	for cut := range len(whole) - 1 {
		if _, err := readPage(strings.NewReader(whole[:cut]), func(*Remote) error { return nil }); err == nil {
			t.Errorf("cut after %d bytes: accepted", cut)
		}
	}
}

// FuzzReadPage parses answers of other daemons: each call is for a server.
func FuzzReadPage(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`{"servers":[{},{"address":"x"}]}`))
	f.Add([]byte(`{"servers":null}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		n := 0
		_, _ = readPage(bytes.NewReader(answer), func(s *Remote) error {
			if n++; s == nil {
				t.Error("called without a server")
			}
			return nil
		})
		if n > len(answer)/2 {
			t.Errorf("%d servers in %d bytes", n, len(answer))
		}
	})
}

// FuzzReadEvents parses streams of events of other daemons.
func FuzzReadEvents(f *testing.F) {
	f.Add([]byte("event: added\ndata: {\"id\":\"a\",\"game\":\"gmtest\",\"address\":\"192.0.2.1:6500\"}\n\n: comment\n\nevent: reset\ndata: {}\n\n"))
	f.Add([]byte("data: {}\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		err := readEvents(bytes.NewReader(stream), func(e *RemoteEvent) {
			if e.Kind != EventAdded && e.Kind != EventChanged && e.Kind != EventRemoved {
				t.Errorf("event of kind %q", e.Kind)
			}
		})
		if err == nil {
			t.Error("a stream ended without an error")
		}
	})
}
