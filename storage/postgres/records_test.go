package postgres

import (
	"context"
	"os"
	"testing"

	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
	"github.com/respawnd/respawnd/storage/storagetest"
)

// recordOptions are those of a store of records.
func recordOptions() Options {
	opt := testOptions()
	opt.Layout, opt.Strict = records.Layout(), records.Strict()
	return opt
}

// reopenable is a store with the method with which storagetest opens it again.
type reopenable struct {
	*records.Store

	url string
}

// Distant implements storagetest.Distant.
func (reopenable) Distant() {}

func openRecords(t *testing.T, url string) reopenable {
	t.Helper()
	return reopenable{records.New(openAt(t, url, recordOptions()), records.Options{Shared: true, Node: "a"}), url}
}

func (r reopenable) Reopen(t *testing.T) storage.Store {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatalf("Close() = %v", err)
	}
	return openRecords(t, r.url)
}

// TestRecords runs the contract of stores: what is special about records is tested in
// memory, so a few groups suffice, but for the long run.
func TestRecords(t *testing.T) {
	only := []string{"Users", "Bans", "Matches"}
	if os.Getenv("CI") == "full" {
		only = nil
	}
	storagetest.Run(t, func(t *testing.T) storage.Store {
		t.Helper()
		return openRecords(t, pgtest.Prepared(t, "records", func(url string) error {
			e, err := Open(context.Background(), url, recordOptions())
			if err != nil {
				return err
			}
			return e.Close()
		}))
	}, only...)
}
