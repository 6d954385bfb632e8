package gpcm

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
)

// awayStore is a store whose database is away sometimes.
type awayStore struct {
	*records.Store
	away     atomic.Bool
	slow     atomic.Int64 // how long it takes to find out, in ns
	lateAway value        // the value that cannot be read although the others can
}

// newAwayStore puts an awayStore in front of the store of a service that is being made.
func newAwayStore(o *Options) *awayStore {
	s := &awayStore{Store: o.Store.(*records.Store)}
	o.Store = s
	return s
}

// value is a text that may be changed at any time.
type value struct{ v atomic.Value }

func (v *value) Store(s string) { v.v.Store(s) }

func (v *value) Load() string {
	s, _ := v.v.Load().(string)
	return s
}

func (s *awayStore) Relation(ctx context.Context, owner, other storage.ProfileID) (storage.Relation, error) {
	if s.away.Load() {
		time.Sleep(time.Duration(s.slow.Load()))
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

// Players already in a conversation continue it while the database is away. A message
// to another buddy is refused, and the session stays.
func TestTalkWithoutDatabase(t *testing.T) {
	var store *awayStore
	f := start(t, func(o *Options) {
		store = newAwayStore(o)
	})
	ann, ben := f.pair()
	ann.send(`\bm\1\sesskey\$K\t\%d\msg\one\final\`, ben.id)
	ben.want(`\bm\1\`)
	store.away.Store(true)
	f.server.listsChanged(ben.id) // just before the database went
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

// A database that answers no more does not slow down those who talk.
func TestTalkWithSilentDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store *awayStore
		f := startPipe(t, func(o *Options) { store = newAwayStore(o) })
		annID, benID := f.register("Ann"), f.register("Ben")
		f.befriend(annID.ID, benID.ID)
		ann, ben := f.signIn(annID, 11), f.signIn(benID, 11)
		ann.want(`\bm\100\`)
		ben.want(`\bm\100\`)
		say := func(words string) (took time.Duration) {
			began := time.Now()
			ann.send(`\bm\1\sesskey\$K\t\%d\msg\%s\final\`, ben.id, words)
			if m := ben.want(`\bm\1\`); field(m, "msg") != words {
				t.Errorf("Ben heard %q, want %s", m, words)
			}
			return time.Since(began)
		}
		say("before")
		store.slow.Store(int64(6 * knownLife))
		store.away.Store(true)
		f.server.listsChanged(4000) // others do not count
		if took := say("at once"); took != 0 {
			t.Errorf("a message took %v after a change of the lists of others", took)
		}
		for _, most := range []time.Duration{relationWait, 0, 0} {
			time.Sleep(knownLife)
			if took := say("meanwhile"); took > most {
				t.Errorf("a message took %v, want at most %v", took, most)
			}
		}
		store.away.Store(false)
		if err := f.store.AddBlock(t.Context(), benID.ID, annID.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * knownLife)
		say("with what was read before") // ends the wait for the database
		ann.send(`\bm\1\sesskey\$K\t\%d\msg\blocked\final\`, ben.id)
		ann.wantNothing()
		ben.wantNothing()
	})
}

func (s *awayStore) Requests(ctx context.Context, to storage.ProfileID) iter.Seq2[storage.Request, error] {
	if s.lateAway.Load() == "requests" {
		return func(yield func(storage.Request, error) bool) { yield(storage.Request{}, storage.ErrUnavailable) }
	}
	return s.Store.Requests(ctx, to)
}

func (s *awayStore) Lists(ctx context.Context, id storage.ProfileID) (storage.Lists, error) {
	if s.lateAway.Load() == "lists" {
		return storage.Lists{}, storage.ErrUnavailable
	}
	return s.Store.Lists(ctx, id)
}

func (s *awayStore) Leave(ctx context.Context, to storage.ProfileID, m storage.Message) error {
	if s.lateAway.Load() == "leave" || s.lateAway.Load() == "late" {
		return context.DeadlineExceeded
	}
	return s.Store.Leave(ctx, to, m)
}

func (s *awayStore) Return(ctx context.Context, to storage.ProfileID, messages []storage.Message) (int, error) {
	switch s.lateAway.Load() {
	case "return":
		return 0, storage.ErrUnavailable
	case "late":
		return 0, context.DeadlineExceeded
	}
	return s.Store.Return(ctx, to, messages)
}

// A message that the store does not take in time is refused, and the session stays.
func TestStoreThatIsLate(t *testing.T) {
	var store *awayStore
	f := start(t, func(o *Options) {
		store = newAwayStore(o)
	})
	ann, ben := f.pair()
	ben.send(`\logout\\sesskey\$K\final\`)
	ben.wantEnd()
	ann.want(`\bm\100\`)
	store.lateAway.Store("leave")
	ann.send(`\bm\1\sesskey\$K\t\%d\msg\one\final\`, ben.id)
	ann.wantError(codeMessage)
	ann.wantNothing()
}

// A login while the database goes away is refused as a whole. A client that was welcomed
// would be disconnected.
func TestDatabaseGoesDuringLogin(t *testing.T) {
	for _, read := range []string{"requests", "lists"} {
		t.Run(read, func(t *testing.T) {
			var store *awayStore
			f := start(t, func(o *Options) {
				store = newAwayStore(o)
			})
			ann := f.register("Ann")
			store.lateAway.Store(read)
			p := f.connect()
			p.login("Ann", testPassword, `\namespaceid\1\sdkrevision\11`)
			if m := p.wantError(codeDatabase); field(m, "id") != "1" {
				t.Errorf("received %q, want the id of the login", m)
			}
			p.wantEnd()
			f.gone(ann.ID)
			store.lateAway.Store("")
			f.signIn(ann, 11)
		})
	}
}
