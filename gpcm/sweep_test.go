package gpcm

import (
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/storage"
)

// A waiting message survives a wrong clock that is corrected later; it is removed once
// it has really waited for too long.
func TestMailboxAcrossClockJumps(t *testing.T) {
	f := start(t, nil)
	from, to := f.register("Sender"), f.register("Reader")
	began := time.Now()
	for _, err := range []error{
		f.store.Ask(t.Context(), storage.Request{From: from.ID, To: to.ID, Signature: accounts.NewSignature(), Sent: began}),
		f.store.Leave(t.Context(), to.ID, storage.Message{From: from.ID, Kind: storage.MessageText, Text: "hello", Sent: began}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	waiting := func() (requests, messages int) {
		t.Helper()
		for _, err := range f.store.Requests(t.Context(), to.ID) {
			if err != nil {
				t.Fatal(err)
			}
			requests++
		}
		messages, _, err := f.store.CountMessages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return requests, messages
	}
	watch := clock.NewWatch(began)
	wall, running := began, time.Duration(0)
	const year = 365 * 24 * time.Hour
	for _, jump := range []time.Duration{0, 100 * 24 * time.Hour, 0, -100 * 24 * time.Hour, 10 * year, -10 * year, -50 * year, 50 * year, 0} {
		wall, running = wall.Add(time.Hour+jump), running+time.Hour
		f.server.sweepOnce(t.Context(), watch, wall, running)
		if wall.Sub(began) > storage.MessageLife { // a player signs in meanwhile
			if got, err := f.store.Messages(t.Context(), to.ID, wall); len(got) != 0 || err != nil {
				t.Errorf("after a jump by %v: Messages() = %v, %v, want nothing that is expired", jump, got, err)
			}
		}
		if requests, messages := waiting(); requests != 1 || messages != 1 {
			t.Fatalf("after a jump by %v: %d requests and %d messages wait, want 1 and 1", jump, requests, messages)
		}
	}
	for range 125 * 24 {
		wall, running = wall.Add(time.Hour), running+time.Hour
		f.server.sweepOnce(t.Context(), watch, wall, running)
	}
	if requests, messages := waiting(); requests != 0 || messages != 0 {
		t.Errorf("after 125 days %d requests and %d messages wait, want none", requests, messages)
	}
}
