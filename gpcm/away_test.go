package gpcm

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// awayStore is a store whose database is away sometimes.
type awayStore struct {
	Store
	away atomic.Bool
}

func (s *awayStore) Relation(ctx context.Context, owner, other storage.ProfileID) (storage.Relation, error) {
	if s.away.Load() {
		return storage.Relation{}, storage.ErrUnavailable
	}
	return s.Store.Relation(ctx, owner, other)
}

func (s *awayStore) Messages(ctx context.Context, to storage.ProfileID, now time.Time) ([]storage.Message, error) {
	if s.away.Load() {
		return nil, storage.ErrUnavailable
	}
	return s.Store.Messages(ctx, to, now)
}

// Players who were talking continue while the database is away. A message to another
// buddy is refused, and the session stays.
func TestTalkWithoutDatabase(t *testing.T) {
	var store *awayStore
	f := start(t, func(o *Options) {
		store = &awayStore{Store: o.Store}
		o.Store = store
	})
	ann, ben := f.pair()
	ann.send(`\bm\1\sesskey\$K\t\%d\msg\one\final\`, ben.id)
	ben.want(`\bm\1\`)
	store.away.Store(true)
	f.server.relationsChanged() // of others, just before the database went
	ann.send(`\bm\1\sesskey\$K\t\%d\msg\two\final\`, ben.id)
	if m := ben.want(`\bm\1\`); field(m, "msg") != "two" {
		t.Errorf("Ben heard %q, want two", m)
	}
	ben.send(`\bm\1\sesskey\$K\t\%d\msg\three\final\`, ann.id) // the first to her
	ben.wantError(codeMessage)
	store.away.Store(false)
	ben.send(`\bm\1\sesskey\$K\t\%d\msg\four\final\`, ann.id)
	if m := ann.want(`\bm\1\`); field(m, "msg") != "four" {
		t.Errorf("Ann heard %q, want four", m)
	}
}
