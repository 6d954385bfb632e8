package fesl

import (
	"testing"
	"time"
)

// TestLife moves the clock of a client that says Hello and nothing more.
func TestLife(t *testing.T) {
	start := time.Unix(1000, 0)
	l := life{every: time.Minute, began: start, heard: start}
	if got := l.next(); !got.Equal(start.Add(helloTime)) || l.due(got.Add(-1)) != nothing || l.due(got) != tooSlow {
		t.Errorf("before Hello: looks again at %v", got)
	}
	l.hello(start)
	names := map[event]string{memCheck: "MemCheck", ping: "Ping", silent: "end", tooSlow: "too slow"}
	for _, want := range []struct {
		after time.Duration
		what  event
	}{
		{60 * time.Second, memCheck},
		{120 * time.Second, memCheck},
		{150 * time.Second, ping},
		{180 * time.Second, memCheck},
		{240 * time.Second, memCheck},
		{270 * time.Second, ping},
		{300 * time.Second, silent},
	} {
		at := l.next()
		if got := l.due(at); at.Sub(start) != want.after || got != want.what {
			t.Fatalf("after %v: %s, want %s after %v", at.Sub(start), names[got], names[want.what], want.after)
		}
	}
	l.heard = start.Add(299 * time.Second)
	if got := l.due(start.Add(300 * time.Second)); got != memCheck {
		t.Errorf("one that was heard in time: %s", names[got])
	}
	l.partial = start.Add(300 * time.Second)
	if at := l.next(); at.Sub(l.partial) != partTime || l.due(at.Add(-1)) == tooSlow || l.due(at) != tooSlow {
		t.Errorf("a message that does not end is looked at after %v", at.Sub(l.partial))
	}
}
