package gpcm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// text is a message of a friend.
func text(words string) presence.Message {
	return presence.Message{From: 100, Kind: presence.Text, Text: words, Sent: time.Now()}
}

// leaves puts a message into the mailbox of a profile.
func (f *fixture) leaves(to storage.ProfileID, words string) {
	f.t.Helper()
	m, _ := presence.Stored(text(words))
	if err := f.store.Leave(f.t.Context(), to, m); err != nil {
		f.t.Fatal(err)
	}
}

// sends sends events to a player, who must accept them.
func (f *fixture) sends(to storage.ProfileID, events ...presence.Event) {
	f.t.Helper()
	for _, e := range events {
		if ok, err := f.hub.Send(f.t.Context(), to, e); !ok || err != nil {
			f.t.Fatalf("Send(%v): %v, %v", e, ok, err)
		}
	}
}

// wantTexts reads messages, which must have those texts in that order.
func (p *peer) wantTexts(want ...string) {
	p.t.Helper()
	for _, words := range want {
		if m := p.want(`\bm\1\`); field(m, "msg") != words {
			p.t.Fatalf("received %q, want %q", m, words)
		}
	}
}

// TestMailboxWithoutDatabase has waiting messages that cannot be read for a while. They
// are delivered when the database is back, before newer ones.
func TestMailboxWithoutDatabase(t *testing.T) {
	away := func(t *testing.T) (*fixture, *awayStore) {
		var store *awayStore
		f := startPipe(t, func(o *Options) {
			store = newAwayStore(o)
		})
		return f, store
	}
	t.Run("while signed in", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, store := away(t)
			ann := f.signIn(f.register("Ann"), 11)
			f.leaves(ann.id, "one")
			store.away.Store(true)
			f.sends(ann.id, presence.MessagesWaiting{}, text("two"), presence.MessagesWaiting{}, text("three"))
			ann.wantNothing()
			for range 3 { // nothing else comes meanwhile
				ann.want(`\ka\`)
			}
			store.away.Store(false)
			time.Sleep(mailboxPause)
			synctest.Wait()
			got := ann.inOrder()
			if want := []string{"one", "two", "three"}; !slices.Equal(got, want) {
				t.Errorf("received %q, want %q", got, want)
			}
			f.sends(ann.id, text("four"))
			ann.wantTexts("four")
		})
	})
	t.Run("at the login", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, store := away(t)
			who := f.register("Ann")
			f.leaves(who.ID, "one")
			store.away.Store(true)
			ann := f.signIn(who, 11)
			ann.wantNothing()
			store.away.Store(false)
			time.Sleep(mailboxPause)
			ann.wantTexts("one")
		})
	})
	t.Run("to the end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, store := away(t)
			who := f.register("Ann")
			ann := f.signIn(who, 11)
			f.leaves(ann.id, "one")
			store.away.Store(true)
			f.sends(ann.id, presence.MessagesWaiting{}, text("two"))
			ann.wantNothing()
			_ = ann.conn.Close()
			synctest.Wait()
			store.away.Store(false)
			f.signIn(who, 11).wantTexts("one", "two")
		})
	})
	t.Run("with too many", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, store := away(t)
			ann := f.signIn(f.register("Ann"), 11)
			f.leaves(ann.id, "stored")
			store.away.Store(true)
			f.sends(ann.id, presence.MessagesWaiting{})
			got := make(map[string]int)
			for n := range maxFlight + 1 {
				f.sends(ann.id, text(fmt.Sprint(n)))
				maps.Copy(got, ann.messages())
			}
			if len(got) != maxFlight+1 {
				t.Errorf("%d messages came, want all %d as soon as there is no room for more", len(got), maxFlight+1)
			}
			store.away.Store(false)
			time.Sleep(mailboxPause)
			ann.wantTexts("stored")
		})
	})
}

// inOrder returns the texts that come before the answer to something sent now.
func (p *peer) inOrder() (texts []string) {
	p.t.Helper()
	p.send(`\getprofile\\sesskey\$K\profileid\2147483647\id\999\final\`)
	for {
		m := p.recv()
		switch {
		case strings.HasSuffix(m, `\id\999\final\`):
			return texts
		case strings.HasPrefix(m, `\bm\1\`):
			texts = append(texts, field(m, "msg"))
		}
	}
}

// TestOnceMore has a message in the mailbox that may have been delivered before. It comes
// in one session, not in the next one too, unless it did not arrive.
func TestOnceMore(t *testing.T) {
	again := func(f *fixture, to storage.ProfileID) {
		m, _ := presence.Stored(text("again"))
		m.Again = true
		if n, err := f.store.Return(t.Context(), to, []storage.Message{m}); n != 1 || err != nil {
			t.Fatalf("Return() = %d, %v", n, err)
		}
	}
	t.Run("second session", func(t *testing.T) {
		f := start(t, nil)
		ann := f.register("Ann")
		again(f, ann.ID)
		first := f.signIn(ann, 11)
		first.wantTexts("again")
		first.wantNothing() // removed messages are not delivered again
		second := f.signIn(ann, 11)
		first.wantError(codeForced)
		second.wantNothing()
	})
	t.Run("connection lost", func(t *testing.T) {
		f := start(t, nil)
		ann := f.register("Ann")
		again(f, ann.ID)
		p := f.signIn(ann, 11)
		p.reset()
		f.empty()
		f.signIn(ann, 11).wantTexts("again")
	})
}
