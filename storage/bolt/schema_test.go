package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage"
)

// oldFile returns a copy of the file of an older schema that is kept in
// testdata (the programs beside them made them).
func oldFile(t *testing.T, name string) string {
	t.Helper()
	return copyFile(t, filepath.Join("testdata", name), filepath.Join(t.TempDir(), "respawnd.db"))
}

// readSchema returns the schema number in a closed file.
func readSchema(t *testing.T, path string) (schema uint64) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(func(tx *bbolt.Tx) error {
		found, err := readLayout(tx)
		schema = found.schema
		return err
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestOlderFilesAreUpgraded(t *testing.T) {
	for schema := range migrations() {
		t.Run(fmt.Sprintf("schema %d", schema), func(t *testing.T) { testUpgrade(t, schema) })
	}
}

func testUpgrade(t *testing.T, schema int) {
	path := oldFile(t, fmt.Sprintf("schema%d.db", schema))
	if err := Verify(path); err != nil {
		t.Errorf("Verify() of the old file = %v", err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := openAt(t, path)

	g, err := s.GetGame(t.Context(), "gmtest")
	if err != nil || string(g.Doc) != "name: gmtest\n" || g.Rev != 1 {
		t.Errorf("GetGame() = %+v, %v", g, err)
	}
	if next, err := s.PutGame(t.Context(), g); err != nil || next.Rev <= g.Rev {
		t.Errorf("PutGame() of an old game = %+v, %v", next, err)
	}
	r, err := s.GetRoom(t.Context(), 3)
	if err != nil || r.Name != "Newcomers" || !slices.Equal(r.Fields, []storage.Field{{Name: "motd", Value: "hi"}}) {
		t.Errorf("GetRoom() = %+v, %v", r, err)
	}
	var rooms, bans []string
	for r, err := range s.Rooms(t.Context(), "gmtest") {
		rooms = append(rooms, fmt.Sprint(r.ID, err))
	}
	for b, err := range s.Bans(t.Context()) {
		bans = append(bans, fmt.Sprintf("%v %v %s %v", b.Prefix, b.Scope, b.Reason, err))
	}
	if got := fmt.Sprint(rooms, bans); got != "[3 <nil>] [192.0.2.0/24 lists flood <nil>]" {
		t.Errorf("rooms and bans = %s", got)
	}

	u, p, err := s.CreateUser(t.Context(), storage.User{Email: "a@b.c"}, storage.Profile{Nick: "A"})
	users, profiles := 1, 1
	if schema >= 3 {
		users, profiles = 2, 3
		checkOldAccount(t, s)
	}
	if err != nil || int(u.ID) != users || int(p.ID) != profiles {
		t.Errorf("CreateUser() in an upgraded file = %+v, %+v, %v", u, p, err)
	}
	block := storage.StatBlockID{Game: "gmtest", Profile: p.ID, Kind: storage.StatPublicWrite}
	if _, err := s.EditStatBlock(t.Context(), block, 1, time.Now(), func([]byte) ([]byte, error) { return []byte("x"), nil }); err != nil {
		t.Errorf("EditStatBlock() in an upgraded file = %v", err)
	}
	if e, err := s.AddAudit(t.Context(), storage.AuditEntry{Action: "test"}); err != nil || (e.Seq != 1 && schema < 3) {
		t.Errorf("AddAudit() in an upgraded file = %+v, %v", e, err)
	}

	checkOldKeys(t, s, schema)

	backup := fmt.Sprintf("%s.schema%d.bak", path, schema)
	saved, err := os.ReadFile(backup)
	if err != nil {
		t.Fatalf("no copy of the old file: %v", err)
	}
	if got := readSchema(t, backup); len(saved) > len(before) || got != uint64(schema) {
		t.Errorf("the copy has %d bytes and schema %d, want the old file", len(saved), got)
	}
}

// checkOldKeys checks that the CD key of testdata/schema5.db is there.
func checkOldKeys(t *testing.T, s *Store, schema int) {
	t.Helper()
	keys := 0
	for k, err := range s.ProductKeys(t.Context()) {
		if keys++; err != nil || k.Product != 461 || !k.Banned {
			t.Errorf("ProductKeys() has %+v, %v", k, err)
		}
	}
	if (keys == 1) != (schema >= 5) {
		t.Errorf("%d CD keys in an upgraded file of schema %d", keys, schema)
	}
}

// checkOldAccount checks that the account of testdata/schema3.db is found in every
// way.
func checkOldAccount(t *testing.T, s *Store) {
	t.Helper()
	var found []string
	add := func(p storage.Profile, err error) { found = append(found, fmt.Sprint(p.Nick, err)) }
	u, err := s.UserByEmail(t.Context(), 0, "ANN@example.com")
	add(storage.Profile{Nick: fmt.Sprint(u.ID)}, err)
	add(s.ProfileByNick(t.Context(), 1, "ben"))
	add(s.ProfileByUniqueNick(t.Context(), 1, "ann"))
	for p, err := range s.FindProfiles(t.Context(), storage.ByNick, "ann") {
		add(p, err)
	}
	profiles, err := s.ProfilesOf(t.Context(), 1)
	add(storage.Profile{Nick: fmt.Sprint(len(profiles))}, err)
	for id, err := range s.BuddiesOf(t.Context(), 1) {
		add(storage.Profile{Nick: fmt.Sprint(id)}, err)
	}
	messages, _, err := s.CountMessages(t.Context())
	add(storage.Profile{Nick: fmt.Sprint(messages)}, err)
	for e, err := range s.AuditLog(t.Context(), 0) {
		add(storage.Profile{Nick: e.Action}, err)
	}
	const want = "[1<nil> Ben<nil> Ann<nil> Ann<nil> 2<nil> 2<nil> 1<nil> test<nil>]"
	if got := fmt.Sprint(found); got != want {
		t.Errorf("the account of an older file = %s, want %s", got, want)
	}
}

// An upgrade in many steps that was cut short resumes where it was.
func TestSealKeysGoesOn(t *testing.T) {
	racetest.Skip(t, "stores many records")
	path := oldFile(t, "schema3.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		buddies, back := tx.Bucket([]byte(bucketBuddies)), tx.Bucket([]byte(bucketBuddyOf))
		for i := range storage.ProfileID(sealStep + sealStep/2) {
			if err := errors.Join(buddies.Put(pairKey(7, 100+i), nil), back.Put(pairKey(100+i, 7), nil)); err != nil {
				return err
			}
		}
		return nil
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	calls := 0
	cut := func(tx *bbolt.Tx) (bool, error) {
		if calls++; calls == 3 {
			return false, errors.New("power failure")
		}
		return sealKeys(tx)
	}
	steps := migrations()
	steps[3] = cut
	if _, err := open(t.Context(), path, testOptions(), steps); err == nil || calls != 3 {
		t.Fatalf("open with a step that is cut short = %v after %d parts, want an error after 3", err, calls)
	}
	s := openAt(t, path)
	checkOldAccount(t, s)
	n := 0
	for _, err := range s.BuddiesOf(t.Context(), 7) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != sealStep+sealStep/2 {
		t.Errorf("%d buddies after the upgrade, want %d", n, sealStep+sealStep/2)
	}
	if got := readSchema(t, path+".schema3.bak"); got != 3 {
		t.Errorf("the copy has schema %d, want 3", got)
	}
	saved, err := bbolt.Open(path+".schema3.bak", 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	err = saved.View(func(tx *bbolt.Tx) error {
		if tx.Bucket([]byte(bucketMeta)).Get([]byte(sealMark)) != nil {
			t.Error("the copy is of the file that was cut short, not of the old one")
		}
		return nil
	})
	if err = errors.Join(err, saved.Close()); err != nil {
		t.Error(err)
	}
}

// mark is a migration that leaves a trace, to see the order.
func mark(name string) migration {
	return once(func(tx *bbolt.Tx) error {
		meta := tx.Bucket([]byte(bucketMeta))
		return meta.Put([]byte("trace"), append(slices.Clone(meta.Get([]byte("trace"))), name...))
	})
}

func TestMigrationsRunInOrder(t *testing.T) {
	path := oldFile(t, "schema0.db")
	open2 := func(steps ...migration) (trace string, err error) {
		s, err := open(t.Context(), path, testOptions(), steps)
		if err != nil {
			return "", err
		}
		err = s.view(t.Context(), func(tx *bbolt.Tx) error {
			trace = string(tx.Bucket([]byte(bucketMeta)).Get([]byte("trace")))
			return nil
		})
		return trace, errors.Join(err, s.Close())
	}
	if trace, err := open2(once(wrapValues), mark("a"), mark("b")); trace != "ab" || err != nil {
		t.Errorf("first open: trace %q, %v, want ab", trace, err)
	}
	bad := once(func(*bbolt.Tx) error { return errors.New("no room") })
	_, err := open2(once(wrapValues), mark("a"), mark("b"), mark("c"), bad)
	if err == nil || !strings.Contains(err.Error(), "from schema 4") || !strings.Contains(err.Error(), path+".schema3.bak") {
		t.Errorf("open with a step that fails = %v, want the step and where the copy is", err)
	}
	if schema := readSchema(t, path); schema != 4 {
		t.Errorf("schema after a failed step = %d, want 4: the steps before it are done", schema)
	}
	if trace, err := open2(once(wrapValues), mark("a"), mark("b"), mark("c"), mark("d"), mark("e"), mark("f"), mark("g")); trace != "abcdefg" || err != nil {
		t.Errorf("open after the failure: trace %q, %v, want abcdefg", trace, err)
	}
	if _, err := Open(t.Context(), path, testOptions()); !errors.Is(err, ErrNewer) {
		t.Errorf("Open() of schema 8 = %v, want ErrNewer", err)
	}
}

func TestNewerFileIsRefusedAndLeftAlone(t *testing.T) {
	s := openLoose(t)
	err := s.update(t.Context(), func(tx *bbolt.Tx) error { return putSchema(tx, 99) })
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"Open":   func() error { _, err := Open(t.Context(), s.path, testOptions()); return err }(),
		"Verify": Verify(s.path),
	} {
		if !errors.Is(err, ErrNewer) || !strings.Contains(fmt.Sprint(err), s.path) {
			t.Errorf("%s() = %v, want ErrNewer with the path", name, err)
		}
	}
	if after, err := os.ReadFile(s.path); err != nil || string(after) != string(before) {
		t.Errorf("the file was changed (%v)", err)
	}
}

func TestEveryOlderSchemaHasAFile(t *testing.T) {
	for schema := range migrations() {
		path := oldFile(t, fmt.Sprintf("schema%d.db", schema))
		if got := readSchema(t, path); got != uint64(schema) {
			t.Errorf("testdata/schema%d.db has schema %d", schema, got)
		}
	}
}
