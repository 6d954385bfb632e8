package gpcm

import (
	"fmt"
	"testing"

	"github.com/respawnd/respawnd/internal/presence"
)

func TestDelivered(t *testing.T) {
	var d delivered
	nth := func(n int) presence.Event {
		return presence.Message{From: 1, Kind: presence.Text, Text: fmt.Sprint(n), Number: uint64(n + 1)}
	}
	for n := range 10 * maxDelivered {
		if !d.add(nth(n)) {
			t.Fatalf("message %d is not new", n)
		}
		if oldest := max(0, n-maxDelivered+1); d.add(nth(oldest)) {
			t.Fatalf("message %d is new after message %d", oldest, n)
		}
	}
	if n := len(d.recent) + len(d.before); n > 2*maxDelivered {
		t.Errorf("%d are remembered, want at most %d", n, 2*maxDelivered)
	}
	for what, e := range map[string]presence.Event{
		"without a number": presence.BuddyRevoked{From: 1},
		"of a game":        presence.Message{From: 1, Kind: presence.UTM, Number: 7},
	} {
		for range 2 {
			if !d.add(e) {
				t.Errorf("an event %s is not new", what)
			}
		}
	}
}
