package records

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/copying"
	"github.com/respawnd/respawnd/storage/engine/memory"
	"github.com/respawnd/respawnd/storage/storagetest"
)

// copyStore copies a store to an empty one.
func copyStore(t *testing.T, from *Store) *Store {
	t.Helper()
	to := openNew(t)
	_, err := copying.Copy(t.Context(), from.eng, to.eng, copying.Options{
		Tables: CopiedTables(), Source: "a", Check: Layout().Check,
	})
	if err != nil {
		t.Fatalf("Copy() = %v", err)
	}
	return to
}

// A copy has all records, and its indexes and counts fit them: they can all be deleted.
func TestCopyOfAStore(t *testing.T) {
	from := openNew(t)
	storagetest.Fill(t, from)
	to := copyStore(t, from)
	ctx := t.Context()
	if n, err := to.CountUsers(ctx); n == 0 || err != nil {
		t.Errorf("CountUsers() = %d, %v", n, err)
	}
	for u, err := range from.Users(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if got, err := to.GetUser(ctx, u.ID); err != nil || !cmp.Equal(got, u) {
			t.Errorf("GetUser(%d) = %+v, %v, want %+v", u.ID, got, err, u)
		}
		if err := to.DeleteUser(ctx, u.ID); err != nil {
			t.Errorf("DeleteUser(%d) = %v", u.ID, err)
		}
	}
	users, usersErr := to.CountUsers(ctx)
	sake, sakeErr := to.CountSake(ctx)
	usage, usageErr := to.FileUsage(ctx, 0)
	if users != 0 || sake.Records != 0 || sake.Bytes != 0 || usage != (storage.FileUsage{}) {
		t.Errorf("after deleting all accounts there are %d users, SAKE %+v, files %+v", users, sake, usage)
	}
	last, lastErr := lastUser(t, from)
	next, _, err := to.CreateUser(ctx, storage.User{Email: "next@example.com"}, storage.Profile{Nick: "next"})
	if next.ID <= last {
		t.Errorf("the next user of the copy has the id %d, want above %d", next.ID, last)
	}
	if err := errors.Join(usersErr, sakeErr, usageErr, lastErr, err); err != nil {
		t.Error(err)
	}
}

// lastUser returns the id of a user that a store gave out last.
func lastUser(t *testing.T, s *Store) (last storage.UserID, err error) {
	t.Helper()
	err = s.view(t.Context(), func(v *view) error {
		n, err := v.Last(tableUserIDs)
		last = storage.UserID(n)
		return err
	})
	return last, err
}

// A copy of a store that several daemons share has nothing of the daemons.
func TestCopyOfASharedStore(t *testing.T) {
	from := Shared{openIn(t, &memory.Engine{}, Options{Shared: true})}
	storagetest.Fill(t, from)
	manySessions(t, from, "a")
	putContent(t, from, contentHash(1), "x")
	ctx := t.Context()
	_, endErr := from.EndSessions(ctx, storage.AccountEnd{User: 1})
	grantErr := from.AddGrant(ctx, storage.Grant{Kind: storage.GrantToken, Profile: 1}, 1)
	if err := errors.Join(endErr, grantErr, from.CheckKey(ctx, "seal_key", "one")); err != nil {
		t.Fatal(err)
	}
	to := Shared{copyStore(t, from.Store)}
	for _, table := range Layout().Tables {
		want, ofDaemon := entriesOf(t, from, table), declared[table].trait == ofDaemons
		if want == 0 && ofDaemon && table != tableFences && table != tableBeats && table != tableDisplaced {
			t.Errorf("%s is empty, so that this test is none of it", table)
		}
		if ofDaemon {
			want = 0
		}
		if n := entriesOf(t, to, table); n != want {
			t.Errorf("%s has %d entries in the copy, want %d", table, n, want)
		}
	}
}

func TestInterruptedCopyIsSeen(t *testing.T) {
	s := openNew(t)
	err := s.change(t.Context(), func(c *change) error {
		c.putEntry(tableMarks, []byte(copying.MarkKey), []byte("the source"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if mark, err := s.CopyMark(t.Context()); mark != "the source" || err != nil {
		t.Errorf("CopyMark() = %q, %v", mark, err)
	}
	_, err = copying.Copy(t.Context(), s.eng, &memory.Engine{}, copying.Options{Tables: CopiedTables(), Source: "a"})
	if !errors.Is(err, copying.ErrUnfinished) {
		t.Errorf("Copy() of it = %v, want ErrUnfinished", err)
	}
}
