package presence

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/wake"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of messages that the store has not taken yet.
const (
	maxKept      = 1 << 16
	maxKeptBytes = 32 << 20
	// keptRetry is how long after a failure the store is tried again.
	keptRetry = time.Second
	// lastFlush is the time limit for storing them when the daemon stops.
	lastFlush = time.Second
)

// backlog holds messages that did not reach their receivers until the store takes them.
// It keeps those of a profile in their order, and in front of what is stored for it later.
type backlog struct {
	store   Store
	metrics *metrics
	log     zerolog.Logger
	// lookIn has the sessions of a profile, if there are any, look into the mailbox. Later
	// ones read it when they begin.
	lookIn func(to storage.ProfileID)

	turn chan struct{} // has a token while messages go to the store
	wake chan struct{} // has a token when there are messages to be stored

	mu    sync.Mutex // guards the fields below
	of    map[storage.ProfileID][]storage.Message
	n     int
	bytes int
}

func newBacklog(store Store, log zerolog.Logger) backlog {
	return backlog{store: store, log: log, turn: make(chan struct{}, 1), wake: make(chan struct{}, 1), of: make(map[storage.ProfileID][]storage.Message)}
}

// add appends messages and returns for how many of them, the first ones, there was room.
func (k *backlog) add(to storage.ProfileID, messages []storage.Message) (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for n < len(messages) && k.n < maxKept && k.bytes+len(messages[n].Text) <= maxKeptBytes {
		k.of[to] = append(k.of[to], messages[n])
		k.n, k.bytes = k.n+1, k.bytes+len(messages[n].Text)
		n++
	}
	return n
}

// get returns the messages of a profile. They stay.
func (k *backlog) get(to storage.ProfileID) []storage.Message {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.of[to]
}

// remove removes the first n messages of a profile.
func (k *backlog) remove(to storage.ProfileID, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, m := range k.of[to][:n] {
		k.n, k.bytes = k.n-1, k.bytes-len(m.Text)
	}
	if k.of[to] = k.of[to][n:]; len(k.of[to]) == 0 {
		delete(k.of, to)
	}
}

func (k *backlog) profiles() []storage.ProfileID {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Collect(maps.Keys(k.of))
}

// len returns the number of messages.
func (k *backlog) len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.n
}

// PutBack implements Hub.
func (k *backlog) PutBack(ctx context.Context, to storage.ProfileID, messages []storage.Message) (stored bool) {
	k.keep(to, messages)
	if k.Flush(ctx, to) != nil {
		wake.Up(k.wake)
		return false
	}
	return true
}

// keep is PutBack without storing.
func (k *backlog) keep(to storage.ProfileID, messages []storage.Message) {
	if n := k.add(to, messages); n < len(messages) {
		k.lose(to, len(messages)-n, "too many wait for the database")
	}
}

// lose reports lost messages.
func (k *backlog) lose(to storage.ProfileID, n int, why string) {
	k.metrics.lost.Add(float64(n))
	k.log.Error().Uint32("profile", uint32(to)).Int("lost", n).Msg("messages that did not reach their receiver are lost: " + why)
}

// Flush implements Hub.
func (k *backlog) Flush(ctx context.Context, to storage.ProfileID) error {
	if len(k.get(to)) == 0 {
		return nil
	}
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-k.turn }()
	messages := k.get(to)
	if len(messages) == 0 {
		return nil
	}
	n, err := k.store.Return(ctx, to, messages)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		k.remove(to, len(messages)) // the profile was deleted
		return nil
	case errors.Is(err, storage.ErrInvalid):
		k.lose(to, len(messages), "the database does not take them")
	case err != nil:
		return err
	case n < len(messages):
		k.lose(to, len(messages)-n, "the mailbox is full")
	}
	k.remove(to, len(messages))
	k.metrics.putBack.Add(float64(n))
	k.lookIn(to)
	return nil
}

// Leave implements Hub.
func (k *backlog) Leave(ctx context.Context, to storage.ProfileID, m storage.Message) error {
	if err := k.Flush(ctx, to); err != nil {
		return err
	}
	if err := k.store.Leave(ctx, to, m); err != nil {
		return err
	}
	k.lookIn(to)
	return nil
}

// Run stores messages that PutBack could not store, until ctx ends.
func (k *backlog) Run(ctx context.Context) {
	t := time.NewTimer(keptRetry)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
		case <-t.C:
		}
		for _, to := range k.profiles() {
			step, cancel := context.WithTimeout(ctx, storeTime)
			err := k.Flush(step, to)
			cancel()
			if err != nil {
				t.Reset(keptRetry)
			}
		}
	}
}

// End stores what is still kept, when the last session has ended.
func (k *backlog) End() error {
	ctx, cancel := context.WithTimeout(context.Background(), lastFlush)
	defer cancel()
	for _, to := range k.profiles() {
		if k.Flush(ctx, to) != nil {
			k.lose(to, len(k.get(to)), "the daemon stops, and the database does not take them")
		}
	}
	return nil
}
