package records

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/copying"
	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/engine/memory"
	"github.com/respawnd/respawnd/storage/postgres"
	"github.com/respawnd/respawnd/storage/storagetest"
)

func pgOptions() postgres.Options {
	return postgres.Options{StatementTimeout: time.Minute, Layout: Layout(), Strict: Strict()}
}

// pgURL returns the URL of an empty database.
func pgURL(t testing.TB) string {
	t.Helper()
	return pgtest.Prepared(t, "records", func(url string) error {
		e, err := postgres.Open(context.Background(), url, pgOptions())
		if err != nil {
			return err
		}
		return e.Close()
	})
}

// pgStore returns a store of one of the daemons that share a database.
func pgStore(t testing.TB, url string) Shared {
	t.Helper()
	e, err := postgres.Open(t.Context(), url, pgOptions())
	if err != nil {
		t.Fatal(err)
	}
	return Shared{openIn(t, e, Options{Shared: true, Node: "n"})}
}

func TestSharedInDatabase(t *testing.T) {
	t.Run("sessions", func(t *testing.T) {
		storagetest.RunSessions(t, func(t *testing.T) storagetest.LosingSessions { return losing{pgStore(t, pgURL(t))} })
	})
	t.Run("grants", func(t *testing.T) {
		storagetest.RunGrants(t, func(t *testing.T) storage.Grants { return pgStore(t, pgURL(t)) })
	})
}

// TestPlayersReturnFromADeadNode has all players of a node sign in elsewhere while its run
// is ended.
func TestPlayersReturnFromADeadNode(t *testing.T) {
	url := pgURL(t)
	a, b := pgStore(t, url), pgStore(t, url)
	ctx := t.Context()
	old, err := a.BeginRun(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.BeginRun(ctx, "b")
	if err != nil {
		t.Fatal(err)
	}
	const players = 3*mostAtOnce + 7
	enter := func(s Shared, run uint64) {
		var all sync.WaitGroup
		var next atomic.Uint64
		for range 16 {
			all.Go(func() {
				for n := next.Add(1); n <= players; n = next.Add(1) {
					e := storage.LiveSession{Run: run, ID: n, Profile: storage.ProfileID(n), User: storage.UserID(n), Displaces: storage.DisplacesUser}
					if _, _, err := s.EnterSession(ctx, e); err != nil {
						t.Errorf("EnterSession() = %v", err)
					}
				}
			})
		}
		all.Wait()
	}
	enter(a, old)
	var all sync.WaitGroup
	all.Go(func() {
		if err := b.EndRun(ctx, old); err != nil {
			t.Errorf("EndRun() = %v", err)
		}
	})
	enter(b, run)
	all.Wait()
	for _, table := range []engine.Table{tableSessions, tableSessionsOf} {
		if n := entriesOf(t, b, table); n != players {
			t.Errorf("%s has %d entries, want %d", table, n, players)
		}
	}
	if n := entriesOf(t, b, tableDisplaced); n != 0 {
		t.Errorf("%d displaced sessions are left", n)
	}
}

func TestCopyIntoDatabase(t *testing.T) {
	from := openNew(t)
	storagetest.Fill(t, from)
	to := pgStore(t, pgURL(t))
	opt := copying.Options{Tables: CopiedTables(), Source: "a", Check: Layout().Check}
	r, err := copying.Copy(t.Context(), from.eng, to.eng, opt)
	if err != nil {
		t.Fatalf("Copy() = %v", err)
	}
	back, err := copying.Copy(t.Context(), to.eng, &memory.Engine{}, opt)
	if err != nil {
		t.Fatalf("Copy() back = %v", err)
	}
	if diff := cmp.Diff(r.Tables, back.Tables); diff != "" {
		t.Errorf("-to the database +back:\n%s", diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	again := pgStore(t, pgURL(t))
	stop := opt
	stop.Progress = func(table engine.Table, _ int) {
		if table == tableUsersByEmail {
			cancel()
		}
	}
	if _, err := copying.Copy(ctx, from.eng, again.eng, stop); !errors.Is(err, context.Canceled) {
		t.Errorf("Copy() = %v, want context.Canceled", err)
	}
	if r, err := copying.Copy(t.Context(), from.eng, again.eng, opt); err != nil || !r.Resumed {
		t.Errorf("Copy() = %v, resumed: %v", err, r.Resumed)
	}
}

// TestContentsOfTwoNodes has one node store files while the other removes contents that no
// file has: no file may lack its content.
func TestContentsOfTwoNodes(t *testing.T) {
	url := pgURL(t)
	a, b := pgStore(t, url), pgStore(t, url)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var drops atomic.Int64
	const files = 60
	for range 3 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				dropped, err := b.DropContent(t.Context(), contentHash(n%files))
				if err != nil {
					t.Errorf("DropContent() = %v", err)
				}
				if dropped {
					drops.Add(1)
				}
			}
		})
	}
	var want [files]string
	for n := range files {
		want[n] = fmt.Sprint(n)
		if n%10 == 0 {
			want[n] = string(large())
		}
		for range 3 { // of two nodes at once
			var puts sync.WaitGroup
			for _, s := range []Shared{a, b} {
				puts.Go(func() {
					err := s.PutContent(ctx, contentHash(n), bytes.NewReader([]byte(want[n])), int64(len(want[n])))
					if err != nil {
						t.Errorf("PutContent() = %v", err)
					}
				})
			}
			puts.Wait()
		}
		useContent(t, a, contentHash(n))
		putContent(t, a, contentHash(n), want[n])
		if got := readContent(t, b, contentHash(n)); got != want[n] {
			t.Errorf("content %d has %d bytes, want %d", n, len(got), len(want[n]))
		}
	}
	stop()
	all.Wait()
	for n := range files {
		if got := readContent(t, b, contentHash(n)); got != want[n] {
			t.Errorf("at the end content %d has %d bytes, want %d", n, len(got), len(want[n]))
		}
	}
	if drops.Load() == 0 {
		t.Error("nothing was removed")
	}
}
