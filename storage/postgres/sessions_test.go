package postgres

import (
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/pgtest"
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

func TestSessions(t *testing.T) {
	storagetest.RunSessions(t, func(t *testing.T) storagetest.LosingSessions {
		s, err := Open(t.Context(), pgtest.Database(t), Options{Node: "n", Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return losing{s}
	})
}

func TestGrants(t *testing.T) {
	storagetest.RunGrants(t, func(t *testing.T) storage.Grants {
		s, err := Open(t.Context(), pgtest.Database(t), Options{Node: "n", Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
}
