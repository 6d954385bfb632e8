package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/bolt"
	"github.com/respawnd/respawnd/storage/postgres"
	"github.com/respawnd/respawnd/storage/storagetest"
	"github.com/respawnd/respawnd/storage/transfer"
)

func openBolt(t *testing.T) transfer.Store {
	t.Helper()
	s, err := bolt.Open(t.Context(), filepath.Join(t.TempDir(), "respawnd.db"), bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func openPostgres(t *testing.T) transfer.Store {
	t.Helper()
	url := pgtest.Prepared(t, "empty", func(url string) error {
		s, err := postgres.Open(context.Background(), url, postgres.Options{})
		if err != nil {
			return err
		}
		return s.Close()
	})
	s, err := postgres.Open(t.Context(), url, postgres.Options{StatementTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func filled(t *testing.T, open func(*testing.T) transfer.Store) transfer.Store {
	t.Helper()
	s := open(t)
	storagetest.Fill(t, s)
	return s
}

func counts(t *testing.T, s transfer.Store) []transfer.Count {
	t.Helper()
	all, err := transfer.Counts(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// engines are the engines that copies are tested between.
func engines() map[string]func(*testing.T) transfer.Store {
	return map[string]func(*testing.T) transfer.Store{"bolt": openBolt, "postgres": openPostgres}
}

func eachPair(t *testing.T, test func(t *testing.T, from, to func(*testing.T) transfer.Store)) {
	for a, from := range engines() {
		for b, to := range engines() {
			if a == b && a != "bolt" {
				continue
			}
			t.Run(a+" to "+b, func(t *testing.T) {
				t.Parallel()
				test(t, from, to)
			})
		}
	}
}

func TestCopy(t *testing.T) {
	eachPair(t, func(t *testing.T, openFrom, openTo func(*testing.T) transfer.Store) {
		from, to := filled(t, openFrom), openTo(t)
		seen := make(map[string]bool)
		r, err := transfer.Copy(t.Context(), from, to, transfer.Options{Source: "a", Progress: func(kind string, _ int) { seen[kind] = true }})
		if err != nil || r.Resumed {
			t.Fatalf("Copy() = %+v, %v", r, err)
		}
		if diff := cmp.Diff(counts(t, from), counts(t, to)); diff != "" {
			t.Errorf("-source +copy:\n%s", diff)
		}
		for _, k := range r.Kinds {
			if k.Records == 0 {
				t.Errorf("no %s were copied", k.Kind)
			}
			if !seen[k.Kind] && k.Kind != "listed servers" {
				t.Errorf("no progress of %s was reported", k.Kind)
			}
		}
		want, wantErr := from.Numbers(t.Context())
		got, err := to.Numbers(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil || wantErr != nil {
			t.Errorf("ids given out last, -source +copy:\n%s %v %v", diff, err, wantErr)
		}
		if want.User == 0 || want.Room == 0 || want.File == 0 || want.Report == 0 || want.Match == 0 || want.Audit == 0 || want.Profile == 0 {
			t.Errorf("the source gave out no ids of some kind: %+v", want)
		}
		storesWork(t, to)
		if _, err := transfer.Copy(t.Context(), from, to, transfer.Options{Source: "a"}); !errors.Is(err, transfer.ErrNotEmpty) {
			t.Errorf("a second Copy() = %v, want ErrNotEmpty", err)
		}
	})
}

// storesWork deletes everything that a copy brought, which fails or leaves something if
// its indexes and counts are wrong.
func storesWork(t *testing.T, s transfer.Store) {
	t.Helper()
	for f, err := range s.Files(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteFile(t.Context(), f.ID); err != nil {
			t.Errorf("DeleteFile(%d) = %v", f.ID, err)
		}
	}
	for r, err := range s.EveryReport(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteReport(t.Context(), r.ID); err != nil {
			t.Errorf("DeleteReport(%d) = %v", r.ID, err)
		}
	}
	for m, err := range s.EveryMatch(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteMatch(t.Context(), m.ID); err != nil {
			t.Errorf("DeleteMatch(%d) = %v", m.ID, err)
		}
	}
	for u, err := range s.Users(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteUser(t.Context(), u.ID); err != nil {
			t.Errorf("DeleteUser(%d) = %v", u.ID, err)
		}
	}
	n, err := s.CountSake(t.Context())
	if n.Records != 0 || n.Bytes != 0 || err != nil {
		t.Errorf("SAKE after deleting all accounts: %+v, %v", n, err)
	}
	usage, err := s.FileUsage(t.Context(), 0)
	if usage.Files != 0 || usage.Bytes != 0 || err != nil {
		t.Errorf("files after deleting all: %+v, %v", usage, err)
	}
	totals, err := s.StatTotals(t.Context())
	if totals != (storage.StatTotals{}) || err != nil {
		t.Errorf("statistics after deleting all: %+v, %v", totals, err)
	}
}

// errStop is the failure of a failing store.
var errStop = errors.New("stopped by the test")

// failing is a store whose marks fail after some calls, as if the copy was interrupted.
type failing struct {
	transfer.Store

	left int
}

func (f *failing) SetCopyMark(ctx context.Context, mark string) error {
	if f.left--; f.left < 0 {
		return errStop
	}
	return f.Store.SetCopyMark(ctx, mark)
}

func TestCopyContinues(t *testing.T) {
	eachPair(t, func(t *testing.T, openFrom, openTo func(*testing.T) transfer.Store) {
		from, to := filled(t, openFrom), openTo(t)
		for n := range 1000 {
			r, err := transfer.Copy(t.Context(), from, &failing{to, 3*n + 1}, transfer.Options{Source: "a"})
			if err == nil {
				if !r.Resumed {
					t.Error("the copy was not continued")
				}
				break
			}
			if !errors.Is(err, errStop) {
				t.Fatalf("attempt %d: %v", n, err)
			}
			if _, err := transfer.Copy(t.Context(), from, to, transfer.Options{Source: "another"}); !errors.Is(err, transfer.ErrNotEmpty) {
				t.Fatalf("a copy of another source = %v, want ErrNotEmpty", err)
			}
			if _, err := transfer.Copy(t.Context(), to, openTo(t), transfer.Options{Source: "b"}); n == 0 && !errors.Is(err, transfer.ErrUnfinished) {
				t.Fatalf("a copy of an unfinished copy = %v, want ErrUnfinished", err)
			}
		}
		if diff := cmp.Diff(counts(t, from), counts(t, to)); diff != "" {
			t.Errorf("-source +copy:\n%s", diff)
		}
	})
}

// lossy is a target that loses a ban.
type lossy struct{ transfer.Store }

func (l lossy) AddBan(context.Context, storage.Ban) error { return nil }

func TestCopyComparesBothSides(t *testing.T) {
	from := filled(t, openBolt)
	if _, err := transfer.Copy(t.Context(), from, lossy{openBolt(t)}, transfer.Options{Source: "a"}); !errors.Is(err, transfer.ErrDiffers) ||
		!strings.Contains(err.Error(), "bans") {
		t.Errorf("Copy() to a target that loses bans = %v, want ErrDiffers", err)
	}
}

// copied says which kind of record each method of storage.Store belongs to. A new
// method belongs to one that is copied, or needs a new kind.
var copied = map[string]string{
	"Games": "games", "Rooms": "rooms", "Bans": "bans", "ChatRules": "chat rules", "ProductKeys": "CD keys",
	"Files": "files", "News": "messages of the day, patches", "Listings": "added servers, hidden servers",
	"Accounts": "accounts", "Buddies": "buddies and blocks, requests, waiting messages",
	"Sake": "SAKE tables, SAKE records, SAKE columns, SAKE ratings", "Audit": "audit log",
	"Stats": "statistics, reports", "Matches": "matches", "Servers": "listed servers",
}

// methods is the number of methods of each part of storage.Store when its kinds were
// written. One more may be a new kind of record: look whether it is copied.
var methods = map[string]int{
	"Servers": 4, "Games": 5, "Rooms": 4, "Bans": 4, "ChatRules": 4, "ProductKeys": 3, "Files": 8, "News": 6, "Listings": 6,
	"Accounts": 18, "Buddies": 23, "Sake": 15, "Audit": 3, "Stats": 18, "Matches": 7,
}

func TestEveryKindIsCopied(t *testing.T) {
	var names []string
	for _, c := range counts(t, openBolt(t)) {
		names = append(names, c.Kind)
	}
	covered := make(map[string]bool)
	for _, list := range copied {
		for name := range strings.SplitSeq(list, ", ") {
			covered[name] = true
			if !slices.Contains(names, name) {
				t.Errorf("%q is not a kind that is copied", name)
			}
		}
	}
	for _, name := range names {
		if !covered[name] {
			t.Errorf("%q belongs to no part of storage.Store", name)
		}
	}
	parts := []reflect.Type{
		reflect.TypeFor[storage.Servers](), reflect.TypeFor[storage.Games](), reflect.TypeFor[storage.Rooms](), reflect.TypeFor[storage.Bans](),
		reflect.TypeFor[storage.ChatRules](), reflect.TypeFor[storage.ProductKeys](), reflect.TypeFor[storage.Files](), reflect.TypeFor[storage.News](),
		reflect.TypeFor[storage.Listings](), reflect.TypeFor[storage.Accounts](), reflect.TypeFor[storage.Buddies](), reflect.TypeFor[storage.Sake](),
		reflect.TypeFor[storage.Audit](), reflect.TypeFor[storage.Stats](), reflect.TypeFor[storage.Matches](),
	}
	known := map[string]bool{"Close": true}
	for _, p := range parts {
		if copied[p.Name()] == "" {
			t.Errorf("storage.%s is not copied", p.Name())
		}
		for m := range p.Methods() {
			known[m.Name] = true
		}
		if got, want := p.NumMethod(), methods[p.Name()]; got != want {
			t.Errorf("storage.%s has %d methods, and had %d when its kinds were written: if there is a new kind of record, copy it, then change the number", p.Name(), got, want)
		}
	}
	whole := reflect.TypeFor[storage.Store]()
	for m := range whole.Methods() {
		if !known[m.Name] {
			t.Errorf("%s of storage.Store belongs to no part that is copied", m.Name)
		}
	}
}

// TestEveryFieldIsCompared changes each kind of record, and expects another hash.
func TestEveryFieldIsCompared(t *testing.T) {
	empty, full := counts(t, openBolt(t)), counts(t, filled(t, openBolt))
	for i := range full {
		if full[i].Hash == empty[i].Hash {
			t.Errorf("%s: the hash is that of no records", full[i].Kind)
		}
	}
	if fmt.Sprint(full) == fmt.Sprint(empty) {
		t.Error("a full store has the counts of an empty one")
	}
}
