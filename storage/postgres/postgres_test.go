package postgres

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/storagetest"
)

// testOptions wait long, because the machine of a test may be busy.
func testOptions() Options {
	return Options{MaxConns: 8, StatementTimeout: 10 * time.Minute, Registerer: prometheus.NewRegistry()}
}

// emptyDatabase returns the URL of a database of the present schema.
func emptyDatabase(t testing.TB) string {
	t.Helper()
	return pgtest.Prepared(t, "empty", func(url string) error {
		s, err := Open(context.Background(), url, testOptions())
		if err != nil {
			return err
		}
		return s.Close()
	})
}

// openAt opens a store that is closed with the test.
func openAt(t testing.TB, url string, opt Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, opt)
	if err != nil {
		t.Fatalf("Open() = %v", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// reopenable adds the method with which storagetest opens a store again.
type reopenable struct {
	*Store
	url string
}

func (r reopenable) Reopen(t *testing.T) storage.Store {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatalf("Close() = %v", err)
	}
	return reopenable{openAt(t, r.url, testOptions()), r.url}
}

func TestContract(t *testing.T) {
	var free databases
	free.put(t, free.take(t)) // here, because a subtest cannot skip its parent
	storagetest.Run(t, func(sub *testing.T) storage.Store {
		url := free.take(t)
		sub.Cleanup(func() { free.put(sub, url) }) // after the store is closed
		return reopenable{openAt(sub, url, testOptions()), url}
	})
}

func openNew(t testing.TB) *Store {
	t.Helper()
	return openAt(t, emptyDatabase(t), testOptions())
}

// listed returns a server of a list; n makes it unlike others.
func listed(n int) storage.Server {
	return storage.Server{Source: netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(n >> 8)}), uint16(1+n)), Game: "gmtest", Rules: []byte("a\x00b\x00")}
}
