package transfer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/postgres"
	"github.com/respawnd/respawnd/storage/transfer"
)

// TestCopyOfSnapshot copies a database while it changes.
func TestCopyOfSnapshot(t *testing.T) {
	live := filled(t, openPostgres)
	before := counts(t, live)
	at, err := live.(*postgres.Store).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := live.SetGames(t.Context(), []storage.Game{{Name: "later"}}); err != nil {
		t.Fatal(err)
	}
	for u, err := range live.Users(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if err := live.DeleteUser(t.Context(), u.ID); err != nil {
			t.Fatal(err)
		}
	}
	to := openBolt(t)
	if _, err := transfer.Copy(t.Context(), at, to, transfer.Options{}); err != nil {
		t.Fatalf("Copy() of a snapshot = %v", err)
	}
	if diff := cmp.Diff(before, counts(t, to)); diff != "" {
		t.Errorf("-before +copy of the snapshot:\n%s", diff)
	}
	if err := at.SetGames(t.Context(), []storage.Game{{Name: "mine"}}); err == nil {
		t.Error("a snapshot could be written")
	}
	for range 2 {
		if err := at.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}
	if n, err := live.CountUsers(t.Context()); n != 0 || err != nil {
		t.Errorf("CountUsers() after the snapshot = %d, %v", n, err)
	}
}
