package presence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/storage"
)

// stored is a text message of profile 1 as the store has it.
func stored(text string) storage.Message {
	return storage.Message{From: 1, Kind: storage.MessageText, Text: text, Sent: time.Unix(7, 0).UTC()}
}

// keeping is a hub of one node whose store may be late.
func keeping(t *testing.T) (l *Local, store *base, r *prometheus.Registry) {
	t.Helper()
	r = prometheus.NewRegistry()
	store = &base{mailbox: make(map[storage.ProfileID][]storage.Message)}
	return New(store, Options{Registerer: r, Log: zerolog.Nop()}), store, r
}

// late makes a store answer too late; false: in time.
func (b *base) late(is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = nil
	if is {
		b.down = context.DeadlineExceeded
	}
}

// wantMail fails unless those texts wait for profile 2, in their order.
func (b *base) wantMail(t *testing.T, want ...string) {
	t.Helper()
	if got := b.mail(2); !slices.Equal(got, want) {
		t.Errorf("the mailbox has %q, want %q", got, want)
	}
}

func TestPutBack(t *testing.T) {
	t.Run("in time", func(t *testing.T) {
		l, store, r := keeping(t)
		p := newPeer(2)
		if _, err := l.SignIn(t.Context(), p, Allow, online()); err != nil {
			t.Fatal(err)
		}
		l.PutBack(t.Context(), 2, []storage.Message{stored("one"), stored("two")})
		store.wantMail(t, "one", "two")
		wantHeard(t, "after it", p, MessagesWaiting{})
		if got := metrictest.Value(t, r, "respawnd_presence_put_back_total"); got != 2 {
			t.Errorf("%v messages were put back, want 2", got)
		}
	})
	t.Run("later", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			l, store, r := keeping(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go l.Run(ctx)
			store.late(true)
			l.PutBack(t.Context(), 2, []storage.Message{stored("one")})
			time.Sleep(time.Minute)
			if got := metrictest.Value(t, r, "respawnd_presence_unstored_messages"); got != 1 {
				t.Errorf("%v messages wait for the store, want 1", got)
			}
			store.late(false)
			time.Sleep(keptRetry)
			synctest.Wait()
			store.wantMail(t, "one")
			if got := metrictest.Value(t, r, "respawnd_presence_unstored_messages"); got != 0 {
				t.Errorf("%v messages wait for the store, want none", got)
			}
		})
	})
	t.Run("before newer ones", func(t *testing.T) {
		l, store, _ := keeping(t)
		store.late(true)
		l.PutBack(t.Context(), 2, []storage.Message{stored("one")})
		if err := l.Leave(t.Context(), 2, stored("refused")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Leave() = %v, want the error of the store", err)
		}
		store.late(false)
		if err := l.Leave(t.Context(), 2, stored("two")); err != nil {
			t.Errorf("Leave() = %v", err)
		}
		store.late(true)
		l.PutBack(t.Context(), 2, []storage.Message{stored("three")})
		store.late(false)
		l.PutBack(t.Context(), 2, []storage.Message{stored("four")})
		store.wantMail(t, "one", "two", "three", "four")
	})
	t.Run("at the end", func(t *testing.T) {
		l, store, _ := keeping(t)
		store.late(true)
		l.PutBack(t.Context(), 2, []storage.Message{stored("one")})
		store.late(false)
		if err := l.End(); err != nil {
			t.Errorf("End() = %v", err)
		}
		store.wantMail(t, "one")
	})
	t.Run("too many", func(t *testing.T) {
		l, store, r := keeping(t)
		store.late(true)
		l.PutBack(t.Context(), 2, make([]storage.Message, maxKept-1))
		l.PutBack(t.Context(), 3, []storage.Message{stored("fits"), stored("lost")})
		if got := metrictest.Value(t, r, "respawnd_presence_lost_total"); got != 1 {
			t.Errorf("%v messages are lost, want 1", got)
		}
		if got := l.get(3); len(got) != 1 || got[0].Text != "fits" {
			t.Errorf("%v is kept, want the first one", got)
		}
	})
	for what, tt := range map[string]struct {
		err  error
		lost float64
	}{
		"profile deleted":    {storage.ErrNotFound, 0},
		"the store does not": {storage.ErrInvalid, 1},
	} {
		t.Run(what, func(t *testing.T) {
			l, store, r := keeping(t)
			store.down = fmt.Errorf("return: %w", tt.err)
			l.PutBack(t.Context(), 2, []storage.Message{stored("one")})
			if n, lost := l.len(), metrictest.Value(t, r, "respawnd_presence_lost_total"); n != 0 || lost != tt.lost {
				t.Errorf("%d messages are kept and %v lost, want none and %v", n, lost, tt.lost)
			}
		})
	}
}

// Messages that a node died with come before what their sender writes next, whenever the
// store takes them.
func TestLostBeforeLater(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := newTowns(t, "a", "b")
		w.enter("a", newPeer(1), KickProfile)
		w.enter("b", newPeer(2), KickProfile)
		a := w.hubs["a"]
		for _, text := range []string{"one", "two"} {
			if ok, err := a.Send(t.Context(), 2, Message{From: 1, Kind: Text, Text: text, Number: NextNumber()}); !ok || err != nil {
				t.Fatalf("Send() = %v, %v", ok, err)
			}
		}
		w.base.fail(errors.New("down"))
		w.kill("b")
		w.base.fail(nil)
		three := stored("three")
		three.Number = NextNumber()
		if err := a.Leave(t.Context(), 2, three); err != nil {
			t.Errorf("Leave() = %v", err)
		}
		time.Sleep(time.Minute)
		w.base.wantMail(t, "one", "two", "three")
	})
}
