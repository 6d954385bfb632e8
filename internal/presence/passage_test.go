package presence

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// Several messages are under way at a time and arrive in their order, also if some are lost.
func TestDispatch(t *testing.T) {
	const rtt, n = 200 * time.Millisecond, 20
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b")
		sender, me := newPeer(1), newPeer(2)
		me.room = 100
		w.enter("a", sender, KickProfile)
		w.enter("b", me, KickProfile)
		w.net.SetDelay(rtt / 2)
		a := w.hubs["a"]
		var last *Passage
		pass := func() (took time.Duration, delivered int) {
			began := time.Now()
			var all []*Passage
			for i := range n {
				last = a.Dispatch(2, Message{From: 1, Kind: Text, Text: fmt.Sprint(i)}, last)
				if last == nil {
					t.Fatalf("message %d was not dispatched", i)
				}
				all = append(all, last)
			}
			var wg sync.WaitGroup
			var mu sync.Mutex
			for _, p := range all {
				wg.Go(func() {
					ok, err := p.Wait()
					mu.Lock()
					defer mu.Unlock()
					if ok {
						delivered++
					} else if !errors.Is(err, ErrUnreachable) {
						t.Errorf("Wait() = false, %v", err)
					}
				})
			}
			wg.Wait()
			return time.Since(began), delivered
		}
		inOrder := func(what string) {
			t.Helper()
			heard := me.heard()
			for i, e := range heard {
				ReceiptOf(e).Settle()
				if got := e.(Message).Text; got != fmt.Sprint(i) {
					t.Errorf("%s: message %d is %q", what, i, got)
				}
			}
			if len(heard) != n {
				t.Errorf("%s: %d messages came, want %d", what, len(heard), n)
			}
		}
		if took, delivered := pass(); took != rtt || delivered != n {
			t.Errorf("%d of %d messages took %v, want all in one round trip of %v", delivered, n, took, rtt)
		}
		inOrder("without a loss")
		count := 0
		w.net.Lose(func(from, _, _ string) bool {
			if from == "a" {
				count++
			}
			return from == "a" && (count == 1 || count == 7)
		})
		if _, delivered := pass(); delivered != n {
			t.Errorf("%d of %d messages were delivered after a loss", delivered, n)
		}
		inOrder("with a loss")
		w.net.Lose(nil)
		w.hubs["b"].dropOne(me)
		if _, delivered := pass(); delivered != 0 {
			t.Errorf("%d messages were delivered to a player who is gone", delivered)
		}
		if p := a.Dispatch(2, Message{From: 1, Kind: Text}, last); p != nil {
			t.Error("Dispatch() after one that was not delivered: its order is not known")
		}
		if p := a.Dispatch(1, Message{From: 1, Kind: Text}, nil); p != nil {
			t.Error("Dispatch() to a player of this node")
		}
		if n := a.post.held(); n != 0 {
			time.Sleep(time.Second)
			if n = a.post.held(); n != 0 {
				t.Errorf("%d events are kept", n)
			}
		}
	})
}

func TestEarlyEventsAreBounded(t *testing.T) {
	p := newPost()
	for i := range uint64(maxEarly + 1) {
		if !p.early("b", &parcel{id: 2*i + 2, after: 2*i + 1, to: 1}) {
			t.Fatalf("event %d is not early", i)
		}
	}
	if n := len(p.recent["b"].early); n != 1 {
		t.Errorf("%d events wait, want the last one", n)
	}
}
