package postgres

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/engine/enginetest"
)

// testOptions wait long, because the machine of a test may be busy.
func testOptions() Options {
	return Options{
		MaxConns: 8, StatementTimeout: 10 * time.Minute, Registerer: prometheus.NewRegistry(),
		Layout: engine.Layout{Version: 8, Tables: []engine.Table{enginetest.One, enginetest.Two, enginetest.Strict}},
		Strict: []engine.Table{enginetest.Strict},
	}
}

// emptyDatabase returns the URL of a database with empty tables.
func emptyDatabase(t testing.TB) string {
	t.Helper()
	return pgtest.Prepared(t, "postgresmap", func(url string) error {
		e, err := Open(context.Background(), url, testOptions())
		if err != nil {
			return err
		}
		return e.Close()
	})
}

// openAt opens an engine that is closed with the test.
func openAt(t testing.TB, url string, opt Options) *Engine {
	t.Helper()
	e, err := Open(t.Context(), url, opt)
	if err != nil {
		t.Fatalf("Open() = %v", err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func openNew(t testing.TB) *Engine {
	t.Helper()
	return openAt(t, emptyDatabase(t), testOptions())
}

func TestContract(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) engine.Engine { return openNew(t) })
}

// TestHistoryOfNodes judges steps of two nodes.
func TestHistoryOfNodes(t *testing.T) {
	url := emptyDatabase(t)
	enginetest.History(t, openAt(t, url, testOptions()), openAt(t, url, testOptions()))
}

// withParam adds a parameter to a URL.
func withParam(t *testing.T, address, name, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}
