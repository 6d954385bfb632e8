package presence

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

func TestAttach(t *testing.T) {
	w := newWorld(t, 3)
	w.watch(t, 3, 1)
	watcher, player := newPeer(3), newPeer(1)
	w.enter(t, watcher, KickProfile)
	w.enter(t, player, KickProfile)
	watcher.heard()
	other := &peer{profile: 2, user: 1}
	chats := []*peer{newPeer(1), newPeer(1), other, newPeer(3)}
	var detach []func()
	for _, c := range chats {
		detach = append(detach, w.Attach(c))
	}
	kicked := func() (n []int) {
		for _, c := range chats {
			n = append(n, len(c.reasons()))
		}
		return n
	}

	t.Run("status and counts stay", func(t *testing.T) {
		list, more := w.List(0, 10)
		if len(list) != 2 || more || w.Count() != 2 || len(watcher.heard()) != 0 {
			t.Errorf("List() = %v, Count() = %d", list, w.Count())
		}
		w.enter(t, newPeer(1), KickUser)
		if got := kicked(); !slices.Equal(got, []int{0, 0, 0, 0}) {
			t.Errorf("kicked by another login: %v", got)
		}
	})

	t.Run("detached", func(t *testing.T) {
		detach[1]()
		detach[1]()
	})

	t.Run("by profile", func(t *testing.T) {
		if n := w.KickProfile(context.Background(), 1, ErrKicked); n != 2 {
			t.Errorf("KickProfile() = %d, want 2: the session and what is attached", n)
		}
		if got := kicked(); !slices.Equal(got, []int{1, 0, 0, 0}) {
			t.Errorf("kicked: %v", got)
		}
	})

	t.Run("by user, once", func(t *testing.T) {
		w.KickUser(context.Background(), 1, ErrBanned)
		w.KickUser(context.Background(), 1, ErrBanned)
		detach[0]()
		detach[2]()
		if got := kicked(); !slices.Equal(got, []int{1, 0, 1, 0}) || !errors.Is(other.reasons()[0], ErrBanned) {
			t.Errorf("kicked: %v with %v", got, other.reasons())
		}
	})

	detach[3]()
	if n := len(w.attachments.users) + len(w.attachments.profiles); n != 0 {
		t.Errorf("%d entries are left", n)
	}
}

func TestAttachRace(t *testing.T) {
	w := newWorld(t, 0)
	var chats []*peer
	var wg sync.WaitGroup
	for i := range 64 {
		c := &peer{profile: storage.ProfileID(i%4 + 1), user: 1}
		chats = append(chats, c)
		wg.Go(func() {
			detach := w.Attach(c)
			w.KickProfile(context.Background(), c.profile, ErrKicked)
			w.KickUser(context.Background(), 1, ErrBanned)
			detach()
		})
	}
	wg.Wait()
	for i, c := range chats {
		if n := len(c.reasons()); n != 1 {
			t.Errorf("session %d was kicked %d times, want once", i, n)
		}
	}
}
