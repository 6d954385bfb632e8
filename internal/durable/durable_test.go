package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWriteSecret(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	if err := os.WriteFile(path+".tmp", []byte("left by a crash"), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, tc := range []struct {
		content string
		replace bool
		err     error
		want    string
	}{
		{"first", false, nil, "first"},
		{"second", false, fs.ErrExist, "first"},
		{"third", true, nil, "third"},
	} {
		if err := WriteSecret(path, []byte(tc.content), tc.replace); !errors.Is(err, tc.err) {
			t.Errorf("%d: WriteSecret: %v, want %v", i, err, tc.err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != tc.want {
			t.Errorf("%d: the file is %q, %v, want %q", i, got, err, tc.want)
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
			t.Errorf("%d: files %v, %v, want one", i, list, err)
		}
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	if err := WriteSecret(filepath.Join(dir, "none", "key"), nil, true); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("WriteSecret in a folder that is missing: %v", err)
	}
}

func TestSyncDir(t *testing.T) {
	dir := t.TempDir()
	if err := SyncDir(dir); err != nil {
		t.Errorf("SyncDir: %v", err)
	}
	if err := SyncDir(filepath.Join(dir, "none")); err == nil && runtime.GOOS != "windows" {
		t.Error("SyncDir of a folder that is missing: no error")
	}
}
