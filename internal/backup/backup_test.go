package backup

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func anyName(string) bool { return true }

// packed returns a backup of two files.
func packed(t testing.TB) []byte {
	t.Helper()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "respawnd.db"), filepath.Join(dir, "admin.token")
	for path, content := range map[string]string{a: "the store", b: "secret"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := Write(&out, "v1", time.Unix(1700000000, 0), []string{a, b}); err != nil {
		t.Fatalf("Write: %v", err)
	}
	return out.Bytes()
}

func TestBackupComesBackWhole(t *testing.T) {
	dir := t.TempDir()
	m, err := Read(bytes.NewReader(packed(t)), dir, anyName, nil)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	if m.Version != "v1" || len(m.Files) != 2 || !m.Created.Equal(time.Unix(1700000000, 0)) {
		t.Errorf("manifest: got %+v", m)
	}
	for name, want := range map[string]string{"respawnd.db": "the store", "admin.token": "secret"} {
		path := filepath.Join(dir, name)
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v, want 0600", name, info.Mode().Perm(), err)
		}
	}
}

func TestEveryFlippedByteOfAFileIsFound(t *testing.T) {
	whole := packed(t)
	at := bytes.Index(whole, []byte("the store"))
	for i := range len("the store") {
		bad := bytes.Clone(whole)
		bad[at+i] ^= 1
		if _, err := Read(bytes.NewReader(bad), t.TempDir(), anyName, nil); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d flipped: got %v, want ErrDamaged", i, err)
		}
	}
}

func TestACutBackupIsRefused(t *testing.T) {
	whole := packed(t)
	content := bytes.LastIndex(whole, []byte("secret")) + len("secret") // padding follows
	for n := 0; n < content; n += 13 {
		if _, err := Read(bytes.NewReader(whole[:n]), t.TempDir(), anyName, nil); err == nil {
			t.Fatalf("cut to %d of %d bytes: accepted", n, len(whole))
		}
	}
}

func TestUnknownFilesAreRefused(t *testing.T) {
	_, err := Read(bytes.NewReader(packed(t)), t.TempDir(), func(name string) bool { return name == "respawnd.db" }, nil)
	if !errors.Is(err, ErrNotBackup) {
		t.Fatalf("got %v, want ErrNotBackup", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(packed(f))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, p []byte) {
		dir := t.TempDir()
		_, _ = Read(bytes.NewReader(p), dir, anyName, nil)
		if _, err := os.Stat(filepath.Join(dir, "..", "escaped")); err == nil {
			t.Fatal("wrote outside of its folder")
		}
	})
}
