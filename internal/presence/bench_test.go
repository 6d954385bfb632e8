package presence

import (
	"context"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// queue is a session with a bounded queue, as in a protocol.
type queue struct {
	profile storage.ProfileID
	events  chan Event
}

func (q *queue) Profile() storage.ProfileID { return q.profile }
func (q *queue) User() storage.UserID       { return storage.UserID(q.profile) }
func (q *queue) Key() int32                 { return 1 }
func (q *queue) Kick(error)                 {}
func (q *queue) Client() Client             { return Client{} }

func (q *queue) Deliver(e Event) bool {
	select {
	case q.events <- e:
	default: // a benchmark reads nothing; make room as a writer would
		<-q.events
		q.events <- e
	}
	return true
}

// crowd signs in profile 1 and n sessions that have it as a buddy.
func crowd(b *testing.B, n int) (world, *queue) {
	b.Helper()
	w := newWorld(b, n+1)
	me := &queue{1, make(chan Event, 64)}
	for i := range n + 1 {
		q := &queue{storage.ProfileID(i + 1), make(chan Event, 64)}
		if i == 0 {
			q = me
		} else {
			w.watch(b, q.profile, 1)
		}
		if _, err := w.SignIn(context.Background(), q, KickProfile, online()); err != nil {
			b.Fatal(err)
		}
	}
	return w, me
}

func BenchmarkStatusTo100Buddies(b *testing.B) {
	w, me := crowd(b, 100)
	texts := [2]Status{{State: Playing, Text: "dm1"}, {State: Playing, Text: "dm2"}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := w.SetStatus(b.Context(), me, texts[i%2]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSend(b *testing.B) {
	w, _ := crowd(b, 100)
	now := time.Now()
	b.Run("deliver", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if ok, err := w.Send(b.Context(), 2, Message{From: 1, Kind: Text, Text: "hi", Sent: now}); !ok || err != nil {
				b.Fatal(ok, err)
			}
		}
	})
	b.Run("relation and deliver", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r, err := w.store.Relation(b.Context(), 1, 2)
			if err != nil || r.Blocked() || !r.BuddyOf {
				b.Fatal(r, err)
			}
			if ok, err := w.Send(b.Context(), 2, Message{From: 1, Kind: Text, Text: "hi", Sent: now}); !ok || err != nil {
				b.Fatal(ok, err)
			}
		}
	})
}

func BenchmarkSignInAndOut(b *testing.B) {
	w, _ := crowd(b, 100)
	q := &queue{2, make(chan Event, 64)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.SignIn(b.Context(), q, KickProfile, online()); err != nil {
			b.Fatal(err)
		}
		w.SignOut(b.Context(), q)
	}
}
