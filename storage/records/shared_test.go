package records

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/storagetest"
)

// twice is an engine whose changes run twice, as if others had changed what the first run
// read: what that did is undone, then between is called once.
type twice struct {
	engine.Engine

	between func()
}

var errUndo = errors.New("the first run is undone")

func (e *twice) Update(ctx context.Context, change func(engine.Tx) error) error {
	err := e.Engine.Update(ctx, func(tx engine.Tx) error {
		if err := change(tx); err != nil {
			return err
		}
		return errUndo
	})
	if !errors.Is(err, errUndo) {
		return err
	}
	if between := e.between; between != nil {
		e.between = nil
		between()
	}
	return e.Engine.Update(ctx, change)
}

// sharedStore returns an empty store in a strict engine.
func sharedStore(t *testing.T) (Shared, *twice) {
	t.Helper()
	eng := &twice{Engine: &strict{t: t}}
	s := New(eng, Options{Shared: true, Node: "n"})
	t.Cleanup(func() { _ = s.Close() })
	return Shared{s}, eng
}

// losing is a store that can lose its runs and sessions.
type losing struct{ Shared }

func (l losing) Lose(t *testing.T) {
	t.Helper()
	err := l.change(t.Context(), func(c *change) error {
		for _, table := range []engine.Table{tableRuns, tableBeats, tableSessions, tableSessionsOf, tableDisplaced} {
			c.deleteAll(table, c.keys(whole(table)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSessions(t *testing.T) {
	storagetest.RunSessions(t, func(t *testing.T) storagetest.LosingSessions {
		s, _ := sharedStore(t)
		return losing{s}
	})
}

func TestGrants(t *testing.T) {
	storagetest.RunGrants(t, func(t *testing.T) storage.Grants {
		s, _ := sharedStore(t)
		return s
	})
}

// entriesOf returns the number of entries in tables.
func entriesOf(t *testing.T, s Shared, tables ...engine.Table) (n int) {
	t.Helper()
	err := s.view(t.Context(), func(v *view) error {
		n = 0
		for _, table := range tables {
			n += v.count(table, nil, 0)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// manySessions begins a run with more sessions than one step removes, some of a user.
func manySessions(t *testing.T, s Shared, node string) (run uint64) {
	t.Helper()
	run, err := s.BeginRun(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(2*mostAtOnce + 7) {
		e := storage.LiveSession{Run: run, ID: i + 1, Profile: storage.ProfileID(i/2 + 1), User: storage.UserID(i/3 + 1)}
		if _, _, err := s.EnterSession(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	return run
}

func TestRunsEndWithManySessions(t *testing.T) {
	for name, end := range map[string]func(context.Context, Shared, uint64) error{
		"EndRun": func(ctx context.Context, s Shared, run uint64) error { return s.EndRun(ctx, run) },
		"BeginRun": func(ctx context.Context, s Shared, _ uint64) error {
			_, err := s.BeginRun(ctx, "a")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := sharedStore(t)
			run := manySessions(t, s, "a")
			if err := end(t.Context(), s, run); err != nil {
				t.Fatalf("%s() = %v", name, err)
			}
			if n := entriesOf(t, s, tableSessions, tableSessionsOf, tableDisplaced); n != 0 {
				t.Errorf("%d entries of sessions are left", n)
			}
			if n := entriesOf(t, s, tableRuns); n != 1 {
				t.Errorf("%d runs are left, want one", n)
			}
		})
	}
}

// TestInterruptedEndRun stops in the middle: others still see the run, so that one of them
// ends it.
func TestInterruptedEndRun(t *testing.T) {
	s, eng := sharedStore(t)
	run := manySessions(t, s, "a")
	ctx, cancel := context.WithCancel(t.Context())
	eng.between = func() { eng.between = cancel } // in the second step
	if err := s.EndRun(ctx, run); !errors.Is(err, context.Canceled) {
		t.Fatalf("EndRun() = %v, want context.Canceled", err)
	}
	if n := entriesOf(t, s, tableSessionsOf); n != mostAtOnce+7 {
		t.Errorf("%d sessions are left, want %d", n, mostAtOnce+7)
	}
	if p, err := s.Beat(t.Context(), "a", run, 0, storage.Mail{}); err != nil || len(p.Runs) != 1 {
		t.Errorf("Beat() = %+v, %v, want the run", p, err)
	}
	if err := s.EndRun(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if n := entriesOf(t, s, tableSessions, tableSessionsOf); n != 0 {
		t.Errorf("%d entries are left", n)
	}
	if _, err := s.Beat(t.Context(), "a", run, 0, storage.Mail{}); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("Beat() = %v, want ErrConflict", err)
	}
}

func TestSweepEndsInSteps(t *testing.T) {
	s, _ := sharedStore(t)
	var last uint64
	for range 2*mostAtOnce + 1 {
		var err error
		if last, err = s.EndSessions(t.Context(), storage.AccountEnd{User: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.SweepEnds(t.Context(), last-1); n != 2*mostAtOnce || err != nil {
		t.Errorf("SweepEnds() = %d, %v, want %d", n, err, 2*mostAtOnce)
	}
	if n := entriesOf(t, s, tableEnds); n != 1 {
		t.Errorf("%d ends are left, want one", n)
	}
}

func TestGrantsLeaveNothing(t *testing.T) {
	s, _ := sharedStore(t)
	g := storage.Grant{Kind: storage.GrantToken, Profile: 1, Once: true}
	for range 3 { // the same one
		if err := s.AddGrant(t.Context(), g, 2); err != nil {
			t.Fatal(err)
		}
	}
	if n := entriesOf(t, s, tableGrants, tableGrantsOf); n != 2 {
		t.Errorf("%d entries of one grant, want 2", n)
	}
	if err := s.UseGrant(t.Context(), g.Kind, g.Digest); err != nil {
		t.Errorf("UseGrant() = %v", err)
	}
	if n := entriesOf(t, s, tableGrants, tableGrantsOf); n != 0 {
		t.Errorf("%d entries are left of a grant that was used", n)
	}
}

func TestCheckKey(t *testing.T) {
	s, _ := sharedStore(t)
	for range 2 {
		if err := s.CheckKey(t.Context(), "seal_key", "one"); err != nil {
			t.Errorf("CheckKey() = %v", err)
		}
	}
	if err := s.CheckKey(t.Context(), "another", "two"); err != nil {
		t.Errorf("CheckKey() of another key = %v", err)
	}
	err := s.CheckKey(t.Context(), "seal_key", "two")
	if !errors.Is(err, ErrOtherKey) || !strings.Contains(err.Error(), "fingerprint is one, that of the file here two") {
		t.Errorf("CheckKey() of another fingerprint = %v, want ErrOtherKey", err)
	}
}

// contentHash returns a hash for a content with a number.
func contentHash(n int) string { return fmt.Sprintf("%064x", n) }

// readContent returns a content.
func readContent(t *testing.T, s Shared, hash string) string {
	t.Helper()
	var all []byte
	for part := 0; ; part++ {
		data, err := s.ContentPart(t.Context(), hash, part)
		if err != nil {
			t.Fatalf("ContentPart(%d) = %v", part, err)
		}
		all = append(all, data...)
		if len(data) < storage.ContentPart {
			return string(all)
		}
	}
}

func putContent(t *testing.T, s Shared, hash, content string) {
	t.Helper()
	if err := s.PutContent(t.Context(), hash, strings.NewReader(content), int64(len(content))); err != nil {
		t.Fatalf("PutContent() = %v", err)
	}
}

// allContents returns what Contents yields.
func allContents(t *testing.T, s Shared) (all []storage.Content) {
	t.Helper()
	for c, err := range s.Contents(t.Context()) {
		if err != nil {
			t.Fatalf("Contents() = %v", err)
		}
		all = append(all, c)
	}
	return all
}

// useContent stores the entry of a file with a content.
func useContent(t *testing.T, s Shared, hash string) {
	t.Helper()
	raw, err := hashPrefix(hash)
	if err == nil {
		err = s.change(t.Context(), func(c *change) error { c.putEntry(tableFilesByHash, append(raw, 0, 0, 0, 1), nil); return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestContents(t *testing.T) {
	s, _ := sharedStore(t)
	part := strings.Repeat("0123456789abcdef", storage.ContentPart/16)
	for n, content := range []string{"", "hello", part, part + "x", strings.Repeat(part, partsAtOnce), strings.Repeat(part, 2*partsAtOnce) + "end"} {
		hash := contentHash(n)
		for range 2 {
			putContent(t, s, hash, content)
		}
		if got := readContent(t, s, hash); got != content {
			t.Errorf("content %d has %d bytes, want %d", n, len(got), len(content))
		}
		if c := allContents(t, s)[n]; c != (storage.Content{Hash: hash, Size: int64(len(content))}) {
			t.Errorf("Contents() has %+v", c)
		}
		if data, err := s.ContentPart(t.Context(), hash, 1<<40); data != nil || err != nil {
			t.Errorf("ContentPart() beyond the end = %d bytes, %v", len(data), err)
		}
	}
	useContent(t, s, contentHash(1))
	if c := allContents(t, s)[1]; !c.Used {
		t.Error("a content that a file has is not used")
	}
	for n := range 6 {
		if dropped, err := s.DropContent(t.Context(), contentHash(n)); dropped != (n != 1) || err != nil {
			t.Errorf("DropContent(%d) = %v, %v", n, dropped, err)
		}
	}
	if n := entriesOf(t, s, tableContents, tableContentHeads); n != 2 {
		t.Errorf("%d entries are left, want those of the content that a file has", n)
	}
	if dropped, err := s.DropContent(t.Context(), contentHash(0)); dropped || err != nil {
		t.Errorf("DropContent() of a missing one = %v, %v", dropped, err)
	}
	if _, err := s.ContentPart(t.Context(), contentHash(0), 0); !isMissing(err) {
		t.Errorf("ContentPart() of a missing one = %v, want ErrNotFound", err)
	}
}

func TestContentsRefused(t *testing.T) {
	s, _ := sharedStore(t)
	for what, err := range map[string]error{
		"hash":      s.PutContent(t.Context(), "x", strings.NewReader(""), 0),
		"size":      s.PutContent(t.Context(), contentHash(1), strings.NewReader(""), storage.MaxFileSize+1),
		"below":     s.PutContent(t.Context(), contentHash(1), strings.NewReader(""), -1),
		"dropped":   func() error { _, err := s.DropContent(t.Context(), "x"); return err }(),
		"part read": func() error { _, err := s.ContentPart(t.Context(), "x", 0); return err }(),
	} {
		if !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("a bad %s: %v, want ErrInvalid", what, err)
		}
	}
	if err := s.PutContent(t.Context(), contentHash(1), strings.NewReader("short"), 6); !errors.Is(err, io.EOF) {
		t.Errorf("PutContent() of less than it says = %v, want EOF", err)
	}
	if n := entriesOf(t, s, tableContents, tableContentHeads); n != 0 {
		t.Errorf("%d entries of refused contents", n)
	}
}

// TestManyContents needs several pages.
func TestManyContents(t *testing.T) {
	s, _ := sharedStore(t)
	var want []storage.Content
	for n := range 2*engine.Page + 3 {
		c := storage.Content{Hash: contentHash(n), Size: int64(n % 3), Used: n%7 == 0}
		putContent(t, s, c.Hash, "abc"[:c.Size])
		if c.Used {
			useContent(t, s, c.Hash)
		}
		want = append(want, c)
	}
	if got := allContents(t, s); !slices.Equal(got, want) {
		t.Errorf("Contents() yields %d, want %d: %+v", len(got), len(want), got)
	}
}

// stopping is a content whose second read fails, or does something.
type stopping struct {
	io.ReaderAt

	reads int
	then  func() error
}

func (r *stopping) ReadAt(p []byte, at int64) (int, error) {
	if r.reads++; r.reads == 2 {
		if err := r.then(); err != nil {
			return 0, err
		}
	}
	return r.ReaderAt.ReadAt(p, at)
}

// large is a content of several steps.
func large() []byte { return bytes.Repeat([]byte("large"), 2*partsAtOnce*storage.ContentPart/5) }

func TestInterruptedPutIsRemovedOrCompleted(t *testing.T) {
	errStop := errors.New("stopped by the test")
	for name, next := range map[string]func(*testing.T, Shared, string) int{
		"removed": func(t *testing.T, s Shared, hash string) (left int) {
			t.Helper()
			if dropped, err := s.DropContent(t.Context(), hash); !dropped || err != nil {
				t.Errorf("DropContent() = %v, %v", dropped, err)
			}
			return 0
		},
		"completed": func(t *testing.T, s Shared, hash string) (left int) {
			t.Helper()
			putContent(t, s, hash, string(large()))
			if got := readContent(t, s, hash); got != string(large()) {
				t.Error("the content differs")
			}
			return 1 + 2*partsAtOnce
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := sharedStore(t)
			in := &stopping{ReaderAt: bytes.NewReader(large()), then: func() error { return errStop }}
			hash := contentHash(1)
			if err := s.PutContent(t.Context(), hash, in, int64(len(large()))); !errors.Is(err, errStop) {
				t.Fatalf("PutContent() = %v", err)
			}
			if _, err := s.ContentPart(t.Context(), hash, 0); !isMissing(err) {
				t.Errorf("ContentPart() of a part of a content = %v, want ErrNotFound", err)
			}
			if all := allContents(t, s); len(all) != 1 || all[0].Used {
				t.Errorf("Contents() yields %+v, want the one that was interrupted", all)
			}
			if want, got := next(t, s, hash), entriesOf(t, s, tableContents, tableContentHeads); got != want {
				t.Errorf("%d entries are left, want %d", got, want)
			}
		})
	}
}

func TestPutOverDrop(t *testing.T) {
	content := string(large())
	hash := contentHash(1)
	drop := func(t *testing.T, s Shared, want bool) {
		t.Helper()
		if dropped, err := s.DropContent(t.Context(), hash); dropped != want || err != nil {
			t.Errorf("DropContent() = %v, %v, want %v", dropped, err, want)
		}
	}
	check := func(t *testing.T, s Shared) {
		t.Helper()
		if got := readContent(t, s, hash); got != content {
			t.Errorf("the content has %d bytes, want %d", len(got), len(content))
		}
	}
	t.Run("a drop in the middle of a put", func(t *testing.T) {
		s, _ := sharedStore(t)
		in := &stopping{ReaderAt: strings.NewReader(content), then: func() error { drop(t, s, true); return nil }}
		if err := s.PutContent(t.Context(), hash, in, int64(len(content))); err != nil {
			t.Fatalf("PutContent() = %v", err)
		}
		check(t, s)
	})
	t.Run("a put in the middle of a drop", func(t *testing.T) {
		s, eng := sharedStore(t)
		putContent(t, s, hash, content)
		eng.between = func() { putContent(t, s, hash, content) }
		drop(t, s, false)
		check(t, s)
	})
	t.Run("another put in the middle of a put", func(t *testing.T) {
		s, _ := sharedStore(t)
		in := &stopping{ReaderAt: strings.NewReader(content), then: func() error { putContent(t, s, hash, content); return nil }}
		if err := s.PutContent(t.Context(), hash, in, int64(len(content))); err != nil {
			t.Fatalf("PutContent() = %v", err)
		}
		check(t, s)
	})
	t.Run("a file in the middle of a drop", func(t *testing.T) {
		s, eng := sharedStore(t)
		putContent(t, s, hash, content)
		eng.between = func() { useContent(t, s, hash) }
		drop(t, s, false)
		check(t, s)
	})
	t.Run("always a drop", func(t *testing.T) {
		s, _ := sharedStore(t)
		in := readerAt(func(p []byte, at int64) (int, error) {
			_, err := s.DropContent(t.Context(), hash)
			return copy(p, content[at:]), err
		})
		if err := s.PutContent(t.Context(), hash, in, int64(len(content))); err != nil {
			t.Fatalf("PutContent() = %v", err)
		}
		check(t, s)
	})
}

type readerAt func(p []byte, at int64) (int, error)

func (f readerAt) ReadAt(p []byte, at int64) (int, error) { return f(p, at) }

// TestDamagedEntriesOfSharedStores has the error of each method that reads an entry which
// is too short, though its checksum is right, or whose checksum is wrong.
func TestDamagedEntriesOfSharedStores(t *testing.T) {
	ctx := context.Background()
	grant := storage.Grant{Kind: storage.GrantToken, Profile: 1}
	session := storage.LiveSession{Run: 1, ID: 1, Profile: 1, User: 1}
	restored := session
	restored.Fence = 1
	hash, err := hashPrefix(contentHash(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		table engine.Table
		key   []byte
		calls map[string]func(Shared) error
	}{
		{tableRuns, numberKey(1), map[string]func(Shared) error{
			"BeginRun":        func(s Shared) error { _, err := s.BeginRun(ctx, "a"); return err },
			"EndRun":          func(s Shared) error { return s.EndRun(ctx, 1) },
			"EnterSession":    func(s Shared) error { _, _, err := s.EnterSession(ctx, session); return err },
			"Beat":            func(s Shared) error { _, err := s.Beat(ctx, "a", 1, 0, storage.Mail{}); return err },
			"RestoreSessions": func(s Shared) error { _, err := s.RestoreSessions(ctx, "a", 1, nil); return err },
		}},
		{tableSessions, idKey(storage.UserID(1)), map[string]func(Shared) error{
			"RestoreSessions": func(s Shared) error {
				_, err := s.RestoreSessions(ctx, "a", 1, []storage.LiveSession{restored})
				return err
			},
		}},
		{tableSessionsOf, placeKey(1, 1), map[string]func(Shared) error{
			"LeaveSessions": func(s Shared) error { return s.LeaveSessions(ctx, 1, []uint64{1}) },
		}},
		{tableGrants, grantKey(grant.Kind, grant.Digest), map[string]func(Shared) error{
			"FindGrant": func(s Shared) error { _, err := s.FindGrant(ctx, grant.Kind, grant.Digest); return err },
			"UseGrant":  func(s Shared) error { return s.UseGrant(ctx, grant.Kind, grant.Digest) },
		}},
		{tableGrantsOf, append(grantsKey(1, grant.Kind), numberKey(1)...), map[string]func(Shared) error{
			"AddGrant":     func(s Shared) error { return s.AddGrant(ctx, grant, 1) },
			"RevokeGrants": func(s Shared) error { return s.RevokeGrants(ctx, 1) },
		}},
		{tableContentHeads, hash, map[string]func(Shared) error{
			"PutContent":  func(s Shared) error { return s.PutContent(ctx, contentHash(1), strings.NewReader(""), 0) },
			"ContentPart": func(s Shared) error { _, err := s.ContentPart(ctx, contentHash(1), 0); return err },
			"DropContent": func(s Shared) error { _, err := s.DropContent(ctx, contentHash(1)); return err },
			"Contents": func(s Shared) (err error) {
				for _, err = range s.Contents(ctx) {
				}
				return err
			},
		}},
		{tableRevisions, []byte(storage.TableBans), map[string]func(Shared) error{
			"Revisions": func(s Shared) error { _, err := s.Revisions(ctx); return err },
		}},
	} {
		for damage, value := range map[string][]byte{"short": engine.Seal(test.key, nil), "changed": {1, 2, 3, 4, 5, 6, 7, 8}} {
			if damage == "short" && test.table == tableSessions { // no sessions
				continue
			}
			for name, call := range test.calls {
				s, eng := sharedStore(t)
				if err := eng.Update(t.Context(), func(tx engine.Tx) error { return tx.Put(test.table, test.key, value) }); err != nil {
					t.Fatal(err)
				}
				if err := call(s); !isDamage(err) {
					t.Errorf("%s() with a %s entry of %s = %v, want ErrDamaged", name, damage, test.table, err)
				}
			}
		}
	}
}

func TestMissingPartOfAContent(t *testing.T) {
	s, eng := sharedStore(t)
	putContent(t, s, contentHash(1), "x")
	raw, err := hashPrefix(contentHash(1))
	if err == nil {
		err = eng.Update(t.Context(), func(tx engine.Tx) error { return tx.Delete(tableContents, partKey(raw, 0)) })
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ContentPart(t.Context(), contentHash(1), 0); !isDamage(err) {
		t.Errorf("ContentPart() = %v, want ErrDamaged", err)
	}
}

func TestSweepGrantsInSteps(t *testing.T) {
	s, _ := sharedStore(t)
	const old, fresh = 2*mostAtOnce + 3, 5
	now := time.Unix(1000, 0)
	for i := range uint32(old + fresh) {
		g := storage.Grant{Kind: storage.GrantToken, Digest: [32]byte{byte(i), byte(i >> 8)}, Profile: storage.ProfileID(i + 1), Expires: now}
		if i >= old {
			g.Expires = now.Add(1)
		}
		if err := s.AddGrant(t.Context(), g, 1); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.SweepGrants(t.Context(), now); n != old || err != nil {
		t.Errorf("SweepGrants() = %d, %v, want %d", n, err, old)
	}
	if n := entriesOf(t, s, tableGrants, tableGrantsOf); n != 2*fresh {
		t.Errorf("%d entries are left, want %d", n, 2*fresh)
	}
}
