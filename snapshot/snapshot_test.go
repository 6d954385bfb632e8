package snapshot

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/service"
)

func newKey(t testing.TB) (ed25519.PrivateKey, ed25519.PublicKey) {
	t.Helper()
	key, err := LoadKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return key, key.Public().(ed25519.PublicKey)
}

func TestKey(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadKey(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ReadKey without one: %v", err)
	}
	made, err := LoadKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	read, err := LoadKey(dir)
	if err != nil || !read.Equal(made) {
		t.Errorf("read again: %v, the same: %v", err, read.Equal(made))
	}
	public, err := ParsePublic(Public(made))
	if err != nil || !public.Equal(made.Public()) || len(Public(made)) != 43 {
		t.Errorf("ParsePublic(%q) = %v", Public(made), err)
	}
	for _, text := range []string{"", Public(made)[1:], Public(made) + "=", "!" + Public(made)[1:]} {
		if _, err := ParsePublic(text); err == nil {
			t.Errorf("ParsePublic(%q): no error", text)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, KeyFile), []byte("AAAA\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(dir); err == nil {
		t.Error("a damaged key was read")
	}
}

func TestIndex(t *testing.T) {
	key, public := newKey(t)
	_, stranger := newKey(t)
	i := Index{Made: time.Unix(1_700_000_000, 0).UTC(), Master: "me", Files: map[string]File{"a/b": FileOf([]byte("x"))}}
	text, err := i.Seal(key)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Open(text, public)
	if err != nil || !got.Made.Equal(i.Made) || got.Master != i.Master || !maps.Equal(got.Files, i.Files) {
		t.Errorf("Open() = %+v, %v", got, err)
	}
	if got.Files["a/b"].Check([]byte("x")) != nil || got.Files["a/b"].Check([]byte("y")) == nil || got.Files["none"].Check(nil) == nil {
		t.Error("Check: wrong")
	}
	if _, err := Open(text, stranger); !errors.Is(err, ErrSignature) {
		t.Errorf("with the key of another: %v", err)
	}
	for at := range text {
		bad := bytes.Clone(text)
		bad[at] ^= 1
		if _, err := Open(bad, public); err == nil {
			t.Errorf("byte %d changed: no error", at)
		}
	}
	for _, bad := range [][]byte{nil, []byte(head), text[:len(text)-1], append(bytes.Clone(text), make([]byte, MaxIndex)...)} {
		if _, err := Open(bad, public); err == nil {
			t.Errorf("%.40q: no error", bad)
		}
	}
	empty, _ := new(Index).Seal(key)
	if _, err := Open(empty, public); !errors.Is(err, ErrIndex) {
		t.Errorf("an index without a time: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	key, public := newKey(f)
	text, _ := (&Index{Made: time.Unix(1, 0)}).Seal(key)
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		if i, err := Open(text, public); err == nil && i.Made.IsZero() {
			t.Error("an index without a time")
		}
	})
}

// names returns the files of a folder.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			list = append(list, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestWriter(t *testing.T) {
	dir, now := t.TempDir(), time.Unix(1_700_000_000, 0)
	key, public := newKey(t)
	files := map[string]string{"servers.json": "{}", "raw/ut.txt": "192.0.2.1:1\n", "../out": "x", "/out": "x", "a b": "x", "v1/servers/.x": "x", "": "x"}
	opened := func() []service.Opened {
		return []service.Opened{{Name: "none"}, {Files: func(put func(string, []byte)) {
			for name, text := range files {
				put(name, []byte(text))
			}
		}}}
	}
	var reg *prometheus.Registry
	open := func() *writer {
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = root.Close() })
		reg = prometheus.NewRegistry()
		return newWriter(root, key, "", opened, reg)
	}
	made := func(want int64) {
		t.Helper()
		if got := metrictest.Value(t, reg, "respawnd_snapshot_last_success_timestamp_seconds"); got != float64(want) {
			t.Errorf("the metric is %v, want %v", got, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	write := func(w *writer, want ...string) {
		t.Helper()
		now = now.Add(time.Minute)
		version := "servers-" + FileOf([]byte(files[ServersName])).SHA256[:16] + ".json"
		want = append(want, version)
		slices.Sort(want)
		if err := w.write(now); err != nil {
			t.Fatal(err)
		}
		if got := names(t, dir); !slices.Equal(got, append([]string{"index.txt", "mine"}, want...)) {
			t.Errorf("files %q, want %q", got, want)
		}
		text, err := os.ReadFile(filepath.Join(dir, IndexName))
		if err != nil {
			t.Fatal(err)
		}
		index, err := Open(text, public)
		if err != nil || index.Servers != version || !index.Made.Equal(now) || !slices.Equal(slices.Sorted(maps.Keys(index.Files)), want) {
			t.Fatalf("index %+v, %v", index, err)
		}
		made(now.Unix())
		for name, f := range index.Files {
			text := files[name]
			if name == version {
				text = files[ServersName]
			}
			if content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))); err != nil || f.Check(content) != nil || string(content) != text {
				t.Errorf("%s: %q, %v", name, content, err)
			}
		}
	}
	w := open()
	made(0)
	write(w, "raw/ut.txt", "servers.json")
	delete(files, "raw/ut.txt")
	files["servers.json"] = `{"count":0}`
	write(open(), "servers.json") // after a restart
	unchanged, _ := os.Stat(filepath.Join(dir, ServersName))
	w = open()
	made(now.Unix())
	write(w, "servers.json")
	if again, _ := os.Stat(filepath.Join(dir, ServersName)); !os.SameFile(unchanged, again) {
		t.Error("an unchanged file was replaced")
	}
	files["raw"] = "x" // there is a folder of this name
	if err := w.write(now); err == nil {
		t.Error("a file could not be written: no error")
	}
}

// The folder has no other file than what was kept last.
func TestKeep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "of", "key")
	key, public := newKey(t)
	_, stranger := newKey(t)
	keep := func(name, servers string) error {
		i := &Index{Made: time.Unix(1_700_000_000, 0), Servers: name, Files: map[string]File{name: FileOf([]byte(servers))}}
		text, err := i.Seal(key)
		if err != nil {
			t.Fatal(err)
		}
		return Keep(dir, text, i, []byte(servers))
	}
	if _, _, err := Kept(dir, public); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Kept without one: %v", err)
	}
	for _, name := range []string{"servers-1.json", "servers-2.json"} {
		if err := keep(name, name); err != nil {
			t.Fatal(err)
		}
		i, servers, err := Kept(dir, public)
		if err != nil || i.Servers != name || string(servers) != name {
			t.Errorf("Kept() = %+v, %q, %v", i, servers, err)
		}
		if got := names(t, dir); !slices.Equal(got, []string{"index.txt", name}) {
			t.Errorf("files %q", got)
		}
	}
	if _, _, err := Kept(dir, stranger); !errors.Is(err, ErrSignature) {
		t.Errorf("with another key: %v", err)
	}
	for _, name := range []string{"", "../x", "a/b", "/x", IndexName, ".."} {
		if err := keep(name, "x"); !errors.Is(err, ErrIndex) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "servers-2.json"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Kept(dir, public); !errors.Is(err, ErrFile) {
		t.Errorf("another content: %v", err)
	}
}
