package postgres

import (
	"testing"

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
