package postgres

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/storagetest"
)

// losing is a store whose tables without a log can be emptied, as a crash does.
type losing struct{ *Store }

func (l losing) Lose(t *testing.T) {
	t.Helper()
	if _, err := l.pool.Exec(t.Context(), `TRUNCATE session_runs, live_sessions`); err != nil {
		t.Fatal(err)
	}
}

// nodeStores returns a function that opens stores of node n for subtests of t.
func nodeStores(t *testing.T) func(*testing.T) *Store {
	t.Helper()
	var free databases
	free.put(t, free.take(t)) // as in TestContract
	return func(sub *testing.T) *Store {
		url := free.take(t)
		sub.Cleanup(func() { free.put(sub, url) })
		return openAt(sub, url, Options{Node: "n", Log: zerolog.Nop()})
	}
}

func TestSessions(t *testing.T) {
	open := nodeStores(t)
	storagetest.RunSessions(t, func(t *testing.T) storagetest.LosingSessions { return losing{open(t)} })
}

func TestGrants(t *testing.T) {
	open := nodeStores(t)
	storagetest.RunGrants(t, func(t *testing.T) storage.Grants { return open(t) })
}

func TestSessionsWaiting(t *testing.T) {
	s := nodeStores(t)(t)
	run, err := s.BeginRun(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		u, p, err := s.CreateUser(t.Context(), storage.User{Email: fmt.Sprint(i, "@b.c")}, storage.Profile{Nick: "N"})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 2 {
			session := storage.LiveSession{Run: run, ID: uint64(2*i + n + 1), Profile: p.ID, User: u.ID, Displaces: storage.DisplacesNone}
			if _, _, err := s.EnterSession(t.Context(), session); err != nil {
				t.Fatal(err)
			}
		}
	}
	waiting := func(run uint64, want ...storage.ProfileID) {
		t.Helper()
		if got, err := s.Waiting(t.Context(), run); !slices.Equal(got, want) || err != nil {
			t.Errorf("Waiting(%d) = %d, %v, want %d", run, got, err, want)
		}
	}
	waiting(run)
	if err := s.Leave(t.Context(), 2, storage.Message{From: 1, Kind: storage.MessageText, Text: "hi", Sent: time.Now()}); err != nil {
		t.Fatal(err)
	}
	waiting(run, 2)
	waiting(run + 1000)
}
