// Package storagetest is the contract of package storage as tests. Every engine
// runs it from a test of its own. It is not for the tests of a particular
// engine: nothing here knows what a store is made of.
package storagetest

import (
	"context"
	"errors"
	"iter"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/respawnd/respawnd/storage"
)

// racers is how many goroutines race for one key.
const racers = 16

// Reopener is a store that can be closed and opened again with what it holds.
// A store that is not one skips the tests of that.
type Reopener interface {
	Reopen(t *testing.T) storage.Store
}

// Run runs the contract. open returns an empty store that closes itself with
// the test that it is given.
func Run(t *testing.T, open func(t *testing.T) storage.Store) {
	t.Helper()
	groups := map[string]map[string]func(*testing.T, storage.Store){
		"Servers": serverTests(),
		"Games":   gameTests(),
		"Rooms":   roomTests(),
		"Bans":    banTests(),
		"Store":   storeTests(),
	}
	for name, tests := range groups {
		t.Run(name, func(t *testing.T) {
			for name, test := range tests {
				t.Run(name, func(t *testing.T) { test(t, open(t)) })
			}
		})
	}
}

// storeTests is what holds for every kind.
func storeTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"a closed store refuses everything":       testClosed,
		"a cancelled context stops every method":  testCancelled,
		"everything is there after opening again": testReopen,
		"a model agrees after any history":        testModel,
	}
}

// calls is every method once, on records that exist in no store.
func calls(s storage.Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"SaveServers": func(ctx context.Context) error {
			_, err := s.SaveServers(ctx, func(func(storage.Server) bool) {})
			return err
		},
		"LoadServers":    func(ctx context.Context) error { return firstError(s.LoadServers(ctx)) },
		"ServersSavedAt": func(ctx context.Context) error { _, err := s.ServersSavedAt(ctx); return err },
		"PutGame":        func(ctx context.Context) error { _, err := s.PutGame(ctx, game("late")); return err },
		"SetGames":       func(ctx context.Context) error { return s.SetGames(ctx, []storage.Game{game("late")}) },
		"GetGame":        func(ctx context.Context) error { _, err := s.GetGame(ctx, "late"); return err },
		"DeleteGame":     func(ctx context.Context) error { return s.DeleteGame(ctx, "late") },
		"Games":          func(ctx context.Context) error { return firstError(s.Games(ctx)) },
		"PutRoom":        func(ctx context.Context) error { _, err := s.PutRoom(ctx, room("late", "r")); return err },
		"GetRoom":        func(ctx context.Context) error { _, err := s.GetRoom(ctx, 77); return err },
		"DeleteRoom":     func(ctx context.Context) error { return s.DeleteRoom(ctx, 77) },
		"Rooms":          func(ctx context.Context) error { return firstError(s.Rooms(ctx, "")) },
		"Rooms of game":  func(ctx context.Context) error { return firstError(s.Rooms(ctx, "late")) },
		"AddBan":         func(ctx context.Context) error { return s.AddBan(ctx, ban("192.0.2.77/32", storage.ScopeAll)) },
		"RemoveBan": func(ctx context.Context) error {
			_, err := s.RemoveBan(ctx, netip.MustParsePrefix("192.0.2.77/32"), storage.EveryScope)
			return err
		},
		"Bans":      func(ctx context.Context) error { return firstError(s.Bans(ctx)) },
		"SweepBans": func(ctx context.Context) error { _, err := s.SweepBans(ctx, time.Now()); return err },
	}
}

func testClosed(t *testing.T, s storage.Store) {
	all := calls(s)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatalf("Close() = %v", err)
		}
	}
	for name, call := range all {
		if err := call(t.Context()); !errors.Is(err, storage.ErrClosed) {
			t.Errorf("%s on a closed store = %v, want ErrClosed", name, err)
		}
	}
}

func testCancelled(t *testing.T, s storage.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range calls(s) {
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context = %v, want context.Canceled", name, err)
		}
	}
	if got := collect(t, s.Games(t.Context())); len(got) != 0 {
		t.Errorf("a cancelled PutGame stored %v", got)
	}
}

func testReopen(t *testing.T, s storage.Store) {
	again, ok := s.(Reopener)
	if !ok {
		t.Skip("this engine cannot open a store again")
	}
	servers := []storage.Server{server(1), server(2)}
	save(t, s, servers)
	savedAt, err := s.ServersSavedAt(t.Context())
	if err != nil {
		t.Fatalf("ServersSavedAt() = %v", err)
	}
	g := putGame(t, s, game("gmtest"))
	r := putRoom(t, s, room("gmtest", "Newcomers"))
	b := ban("192.0.2.0/24", storage.ScopeLists)
	addBan(t, s, b)

	s = again.Reopen(t)
	differ(t, "servers", collect(t, s.LoadServers(t.Context())), servers)
	if got, err := s.ServersSavedAt(t.Context()); err != nil || !got.Equal(savedAt) {
		t.Errorf("ServersSavedAt() = %v, %v, want %v", got, err, savedAt)
	}
	differ(t, "games", collect(t, s.Games(t.Context())), []storage.Game{g})
	differ(t, "rooms", collect(t, s.Rooms(t.Context(), "gmtest")), []storage.Room{r})
	differ(t, "bans", collect(t, s.Bans(t.Context())), []storage.Ban{b})
	if next := putRoom(t, s, room("gmtest", "Old hands")); next.ID == r.ID {
		t.Errorf("PutRoom() gave out id %d again", r.ID)
	}
	if _, err := s.PutGame(t.Context(), g); err != nil {
		t.Errorf("PutGame() with the revision from before = %v", err)
	}
}

// equal compares records: times by instant, addresses by value, nil and empty
// slices as one.
func equal() cmp.Options {
	return cmp.Options{
		cmpopts.EquateEmpty(),
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	}
}

// tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// differ reports how got differs from want.
func differ[R any](t tester, what string, got, want R) {
	t.Helper()
	if diff := cmp.Diff(want, got, equal()); diff != "" {
		t.Errorf("%s differ (-want +got):\n%s", what, diff)
	}
}

// collect returns all records of an iteration that has no errors.
func collect[R any](t tester, seq iter.Seq2[R, error]) []R {
	t.Helper()
	var all []R
	for record, err := range seq {
		if err != nil {
			t.Fatalf("after %d records: %v", len(all), err)
		}
		all = append(all, record)
	}
	return all
}

// firstError returns the first error of an iteration.
func firstError[R any](seq iter.Seq2[R, error]) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}

// race runs f from many goroutines at once and returns the errors.
func race(f func(i int) error) []error {
	errs := make([]error, racers)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// oneWon checks that one racer got nil and every other the same refusal.
func oneWon(t *testing.T, errs []error, refusal error) {
	t.Helper()
	won := 0
	for i, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, refusal):
			t.Errorf("racer %d: %v, want nil or %v", i, err, refusal)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d racers won, want 1", won, len(errs))
	}
}

// moment is a time that is awkward to store: another zone, nanoseconds.
func moment() time.Time {
	return time.Date(2026, 11, 20, 23, 59, 59, 123456789, time.FixedZone("east", 5*3600))
}
