package postgres

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/respawnd/respawnd/storage/engine"
)

// TestBreaker tells a breaker results of steps.
func TestBreaker(t *testing.T) {
	const most = 2 * time.Second
	down := func(kind string) error { return &unavailableError{kind, errors.New("away")} }
	answer := func(kind, code string) error { return &unavailableError{kind, &pgconn.PgError{Code: code}} }
	for name, tt := range map[string]struct {
		results []error
		gone    bool
	}{
		"one failure":                {[]error{down(kindConnect)}, false},
		"two":                        {[]error{down(kindLost), down(kindConnect)}, true},
		"no answer in time":          {[]error{down(kindTimeout), down(kindTimeout)}, true},
		"an answer between":          {[]error{down(kindConnect), nil, down(kindConnect)}, false},
		"a failed step between":      {[]error{down(kindConnect), errChanged, down(kindConnect)}, false},
		"it is slow and answers":     {[]error{answer(kindTimeout, codeCancelled), answer(kindTimeout, codeCancelled)}, false},
		"it is starting":             {[]error{answer(kindConnect, codeStarting), answer(kindConnect, codeStarting)}, true},
		"steps disturb each other":   {[]error{down(kindContended), down(kindContended)}, false},
		"all connections are in use": {[]error{nil, down(kindNone), down(kindNone)}, false},
		"back again":                 {[]error{down(kindConnect), down(kindConnect), nil}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var b breaker
			for _, err := range tt.results {
				b.note(err, most)
			}
			if err := b.refusal(); (err != nil) != tt.gone || tt.gone && !errors.Is(err, engine.ErrUnavailable) {
				t.Errorf("refusal() = %v, want one: %v", err, tt.gone)
			}
		})
	}
	t.Run("no connection for long", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var b breaker
			b.note(nil, most)
			time.Sleep(most)
			if b.note(down(kindNone), most) || !b.note(down(kindNone), most) || b.note(down(kindNone), most) {
				t.Error("note() does not report once that the server is gone")
			}
		})
	})
}
