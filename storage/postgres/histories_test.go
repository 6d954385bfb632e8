package postgres

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/engine/enginetest"
)

// TestSlowHistory judges steps that stay between their comparison and their end.
func TestSlowHistory(t *testing.T) {
	address := emptyDatabase(t)
	runSQL(t, address, `CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(random() * 0.003); RETURN NULL; END $$;
		CREATE TRIGGER pause AFTER INSERT ON entries FOR EACH STATEMENT EXECUTE FUNCTION pause()`)
	enginetest.History(t, openAt(t, address, testOptions()), openAt(t, address, testOptions()))
}

// ticking is an engine that tells of every tenth change.
type ticking struct {
	*Engine

	changes atomic.Int64
	tick    chan struct{}
}

func (e *ticking) Update(ctx context.Context, change func(engine.Tx) error) error {
	if e.changes.Add(1)%10 == 0 {
		select {
		case e.tick <- struct{}{}:
		default: // the last one is still worked on
		}
	}
	return e.Engine.Update(ctx, change)
}

// TestHistoryOfCutConnections judges steps whose connections are closed at any time.
func TestHistoryOfCutConnections(t *testing.T) {
	address := emptyDatabase(t)
	e := &ticking{Engine: openAt(t, address, testOptions()), tick: make(chan struct{})}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-e.tick:
			}
			runSQL(t, address, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'respawnd' ORDER BY random() LIMIT 1`)
		}
	})
	unknown := 0
	for n := range uint64(5) {
		all := enginetest.Record(t, n, e)
		for _, op := range all {
			if op.Return == math.MaxInt64 {
				unknown++
			}
		}
		enginetest.Judge(t, n, all)
	}
	again := retries(t, e.Engine, "connection")
	t.Logf("%d results are unknown, %v steps ran again", unknown, again)
	if again == 0 {
		t.Error("no connection was lost")
	}
}
