package admin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestLoadToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "admin.token")
	token, created, err := LoadToken(path)
	if err != nil || !created || len(token) != 64 {
		t.Fatalf("LoadToken: %d characters, created %v, %v; want 64 new ones", len(token), created, err)
	}
	info, err := os.Stat(path)
	if err != nil || (runtime.GOOS != "windows" && info.Mode().Perm() != 0o600) {
		t.Errorf("token file: %v, %v; want mode 0600", info, err)
	}
	again, created, err := LoadToken(path)
	if err != nil || created || again != token {
		t.Errorf("second LoadToken: the same %v, created %v, %v", again == token, created, err)
	}
	other, _, err := LoadToken(filepath.Join(t.TempDir(), "admin.token"))
	if err != nil || other == token {
		t.Errorf("another token: the same %v, %v", other == token, err)
	}
}

func TestLoadTokenShort(t *testing.T) {
	for text, ok := range map[string]bool{
		"": false, "\n": false, strings.Repeat("x", minToken-1): false, " " + strings.Repeat("x", minToken-1) + "\n": false,
		strings.Repeat("x", minToken): true, " " + strings.Repeat("x", minToken) + " \r\n": true,
	} {
		path := filepath.Join(t.TempDir(), "admin.token")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		token, created, err := LoadToken(path)
		if created || (err == nil) != ok || (ok && token != strings.TrimSpace(text)) {
			t.Errorf("LoadToken of %q: %q, created %v, %v; want accepted: %v", text, token, created, err, ok)
		}
		if err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("LoadToken of %q: %v, want the path in it", text, err)
		}
		if left, _ := os.ReadFile(path); string(left) != text {
			t.Errorf("LoadToken of %q left %q in the file", text, left)
		}
	}
	if _, err := ReadToken(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadToken of no file: %v, want ErrNotExist", err)
	}
}
