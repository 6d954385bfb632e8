package federation

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/snapshot"
)

// folder is a folder with a list, as package snapshot writes it.
type folder struct {
	t    testing.TB
	dir  string
	key  ed25519.PrivateKey
	made time.Time
}

func newFolder(t testing.TB) *folder {
	t.Helper()
	key, err := snapshot.LoadKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &folder{t, t.TempDir(), key, time.Now().Add(-time.Hour).Truncate(time.Second)}
}

func (f *folder) entry() string {
	return "snapshot " + f.dir + " name=far key=" + snapshot.Public(f.key) + " restore_for=2h"
}

func (f *folder) put(name string, content []byte) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), content, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// write writes servers, and an index that describes them.
func (f *folder) write(servers string) {
	f.t.Helper()
	text := []byte(`{"master":"other","count":1,"servers":[` + servers + `]}`)
	f.put(snapshot.ServersName, text)
	f.index(snapshot.FileOf(text))
}

// index writes an index.
func (f *folder) index(servers snapshot.File) {
	f.t.Helper()
	i := snapshot.Index{Made: f.made, Master: "other", Servers: snapshot.ServersName, Files: map[string]snapshot.File{snapshot.ServersName: servers}}
	text, err := i.Seal(f.key)
	if err != nil {
		f.t.Fatal(err)
	}
	f.put(snapshot.IndexName, text)
}

const (
	inn = `{"id":"x","game":"gmtest","origin":"federated","via":"third","query":"gs3","address":"20.0.0.1:6500","country":"NZ","region":"4",` +
		`"rules":{"hostname":"The Inn"},"player_list":[{"player_":"Ann"}]}`
	bar = `{"id":"y","game":"gmtest","origin":"qr2","address":"20.0.0.2:6500","rules":{}}`
)

func TestSnapshot(t *testing.T) {
	f, b := newFolder(t), newBench(t)
	b.list.SetLimits(master.Limits{Mirror: true})
	src := b.reader(t, f.entry())
	want := func(what string, servers int, problem string) {
		t.Helper()
		told, got, _ := turn(t, src)
		if told != servers || b.list.Len() != servers || !strings.Contains(got, problem) || (problem == "") != (got == "") {
			t.Errorf("%s: %d told, %d listed, problem %q; want %d, %q", what, told, b.list.Len(), got, servers, problem)
		}
	}
	f.write(inn + "," + bar)
	want("two servers", 2, "")
	srv, ok := b.list.Find(addr("20.0.0.1:6500"))
	if !ok || !srv.Vouched || srv.Told != "far" || srv.Country != "NZ" || srv.QueryProtocol() != "gs3" || srv.Players.Rows() != 1 || !srv.Seen.Equal(f.made) || srv.Lifetime != 2*time.Hour {
		t.Errorf("listed: %+v", srv)
	}
	if made := b.list.Made(); !made.Equal(f.made) {
		t.Errorf("the list is of %v, want %v", made, f.made)
	}
	if len(b.prober.all()) > 0 {
		t.Errorf("queried: %v", b.prober.all())
	}
	want("the same again", 2, "")

	made := f.made
	f.made = made.Add(time.Minute)
	f.write(inn)
	want("one left", 1, "")
	f.made = made
	f.write(inn + "," + bar)
	want("the first list again", 1, errOlder.Error())
	f.made = made.Add(2 * time.Minute)
	f.write(bar + "," + inn)
	f.put(snapshot.ServersName, []byte(`{"servers":[]}`))
	want("another file than in the index", 1, snapshot.ErrFile.Error())
	other, _ := snapshot.LoadKey(t.TempDir())
	mine := f.key
	f.key = other
	f.write("")
	want("the key of another", 1, snapshot.ErrSignature.Error())
	f.key = mine
	f.write(inn + "," + bar)
	want("whole again", 2, "")
	if err := os.RemoveAll(f.dir); err != nil {
		t.Fatal(err)
	}
	want("no folder", 2, "404")
	b.sweep(time.Now().Add(time.Hour), time.Minute)
	if b.list.Len() != 2 {
		t.Error("servers left although their list may be restored for longer")
	}
}

// After a restart the newest list is there, also without the folder, and an older one is refused.
func TestSnapshotKept(t *testing.T) {
	f, b := newFolder(t), newBench(t)
	b.list.SetLimits(master.Limits{Mirror: true})
	older := f.made.Add(-time.Minute)
	f.write(inn + "," + bar)
	if told, problem, _ := turn(t, b.reader(t, f.entry())); told != 2 || problem != "" {
		t.Fatalf("%d told, problem %q", told, problem)
	}
	restarted := func(dataDir string) (*bench, *source) {
		again := newBench(t)
		again.list.SetLimits(master.Limits{Mirror: true})
		again.dataDir = dataDir
		src := again.reader(t, f.entry())
		src.fetch.follow(t.Context(), src)
		return again, src
	}
	again, src := restarted(b.dataDir)
	if made := again.list.Made(); again.list.Len() != 2 || !made.Equal(f.made) {
		t.Errorf("%d servers before the first reading, of %v", again.list.Len(), made)
	}
	if told, problem, _ := turn(t, src); told != 2 || problem != "" {
		t.Errorf("the same list: %d told, problem %q", told, problem)
	}
	f.made = older
	f.write(bar)
	if told, problem, _ := turn(t, src); told != 2 || !strings.Contains(problem, errOlder.Error()) {
		t.Errorf("an older list: %d told, problem %q", told, problem)
	}
	kept := filepath.Join(b.dataDir, "mirror", snapshot.Public(f.key))
	files, err := os.ReadDir(kept)
	if err != nil || len(files) != 2 {
		t.Fatalf("kept: %v, %v", files, err)
	}
	if err := os.WriteFile(filepath.Join(kept, snapshot.ServersName), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if damaged, _ := restarted(b.dataDir); damaged.list.Len() != 0 {
		t.Error("a changed copy was used")
	}
}

func TestSnapshotTooOld(t *testing.T) {
	f, b := newFolder(t), newBench(t)
	f.made = time.Now().Add(-3 * time.Hour)
	f.write(inn)
	if told, problem, _ := turn(t, b.reader(t, f.entry())); told != 0 || !strings.Contains(problem, errTooOld.Error()) {
		t.Errorf("%d told, problem %q", told, problem)
	}
}

// What is signed and too large is refused before it is read, and what is not signed is never parsed.
func TestSnapshotBounds(t *testing.T) {
	f, b := newFolder(t), newBench(t)
	b.live.Store(&settings{every: time.Minute, expire: time.Hour, max: 1})
	f.write(bar + "," + inn)
	if told, problem, _ := turn(t, b.reader(t, f.entry())); told != 1 || !strings.Contains(problem, "federation.max_per_master") {
		t.Errorf("%d told, problem %q", told, problem)
	}
	f.index(snapshot.File{Size: snapshot.MaxServers + 1})
	if told, problem, _ := turn(t, newBench(t).reader(t, f.entry())); told != 0 || problem == "" {
		t.Errorf("a large file: %d told, problem %q", told, problem)
	}
	f.put(snapshot.IndexName, make([]byte, snapshot.MaxIndex+1))
	if told, problem, _ := turn(t, newBench(t).reader(t, f.entry())); told != 0 || problem == "" {
		t.Errorf("a large index: %d told, problem %q", told, problem)
	}
	self := newBench(t)
	self.self = "other"
	f.write(inn)
	if told, problem, _ := turn(t, self.reader(t, f.entry())); told != 0 || problem != errOwn.Error() {
		t.Errorf("of this daemon: %d told, problem %q", told, problem)
	}
}
