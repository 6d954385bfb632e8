package presence

import (
	"context"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/storage"
)

// order returns the lock under which everything about the status of a profile
// is delivered.
func (l *Local) order(id storage.ProfileID) *sync.Mutex {
	return &l.announcing[int(id)%len(l.announcing)]
}

// announce sends the watchers of a profile its present status unless they got
// it last. If another caller has just done that, it does nothing.
func (l *Local) announce(ctx context.Context, id storage.ProfileID) error {
	order := l.order(id)
	order.Lock()
	defer order.Unlock()
	st, news := l.news(id)
	if l.wide != nil {
		return l.wide.announce(ctx, id, news)
	}
	if !news {
		return nil
	}
	event := Event(StatusChanged{id, st})
	for watcher, err := range l.store.Watchers(ctx, id) {
		if err != nil {
			l.forgetTold(id)
			return err
		}
		l.deliver(watcher, event)
	}
	return nil
}

// news returns the present status of a profile, and whether it differs from the
// one that its watchers were sent last.
func (l *Local) news(id storage.ProfileID) (Status, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.profiles[id]
	if p == nil {
		return Status{}, true
	}
	if p.everTold && p.told.Equal(p.status) {
		return Status{}, false
	}
	p.told, p.everTold = p.status, true
	return p.status, true
}

// forgetTold makes the next announcement unconditional.
func (l *Local) forgetTold(id storage.ProfileID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.profiles[id]; p != nil {
		p.everTold = false
	}
}

// announceGone is announce for a profile that is no longer signed in. No
// later announcement would follow, so it continues when ctx is over.
func (l *Local) announceGone(ctx context.Context, id storage.ProfileID) {
	if err := l.announce(context.WithoutCancel(ctx), id); err != nil && ctx.Err() == nil {
		level := zerolog.ErrorLevel
		if errors.Is(err, storage.ErrUnavailable) {
			level = zerolog.DebugLevel // the daemon has logged it
		}
		l.log.WithLevel(level).Err(err).Uint32("profile", uint32(id)).Msg("cannot notify watchers")
	}
}

// present returns the status of a profile as others see it.
func (l *Local) present(id storage.ProfileID) Status {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if p := l.profiles[id]; p != nil {
		return p.status
	}
	return Status{}
}

// Tell implements Hub.
func (l *Local) Tell(_ context.Context, s Session, of storage.ProfileID) bool {
	order := l.order(of)
	order.Lock()
	defer order.Unlock()
	return l.hand(s, StatusChanged{of, l.present(of)})
}

// Show implements Hub.
func (l *Local) Show(_ context.Context, to, of storage.ProfileID) {
	order := l.order(of)
	order.Lock()
	defer order.Unlock()
	l.deliver(to, StatusChanged{of, l.present(of)})
}

// Hide implements Hub.
func (l *Local) Hide(_ context.Context, to, of storage.ProfileID) {
	order := l.order(of)
	order.Lock()
	defer order.Unlock()
	l.deliver(to, StatusChanged{From: of})
}

// equalKeys compares two session keys in constant time.
func equalKeys(a, b int32) bool {
	var x, y [4]byte
	binary.BigEndian.PutUint32(x[:], uint32(a))
	binary.BigEndian.PutUint32(y[:], uint32(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
