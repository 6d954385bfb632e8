package crash

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/test/rig"
)

// unpacked returns the files of a backup by name, the manifest too.
func unpacked(t *testing.T, path string) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	in := tar.NewReader(strings.NewReader(rig.ReadFile(t, path)))
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		rig.Must(t, err)
		files[h.Name], err = io.ReadAll(in)
		rig.Must(t, err)
	}
}

// packBackup writes a backup of files by name.
func packBackup(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for name, content := range files {
		if name == "manifest.json" {
			continue
		}
		paths = append(paths, filepath.Join(dir, name))
		rig.Must(t, os.WriteFile(paths[len(paths)-1], content, 0o600))
	}
	m := struct{ Version string }{}
	rig.Must(t, json.Unmarshal(files["manifest.json"], &m))
	var out bytes.Buffer
	rig.Must(t, backup.Write(&out, m.Version, time.Unix(1700000000, 0), paths))
	return rig.WriteFile(t, "backup", out.String())
}

// A backup from which a daemon could not continue is refused before anything is
// changed.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	withAccount := func(nick string) (dir, saved string) {
		t.Helper()
		dir, saved = t.TempDir(), filepath.Join(t.TempDir(), "backup")
		env := rig.TestEnv(dir)
		rig.Typed(t, env, rig.StormPassword, "account", "create",
			"--email", nick+"@example.com", "--nick", nick, "--uniquenick", nick, "--password-stdin")
		rig.Cli(t, env, "backup", saved)
		return dir, saved
	}
	_, saved := withAccount("Ann")
	target, other := withAccount("Ben")
	before := make(map[string]string)
	for _, name := range rig.Names(t, target) {
		before[name] = rig.ReadFile(t, filepath.Join(target, name))
	}
	foreign := unpacked(t, other)[accounts.KeyName]
	for name, tc := range map[string]struct {
		change func(files map[string][]byte)
		want   string
	}{
		"no key":             {func(f map[string][]byte) { delete(f, accounts.KeyName) }, "not the key"},
		"empty key":          {func(f map[string][]byte) { f[accounts.KeyName] = nil }, "not a sealing key file"},
		"key of noise":       {func(f map[string][]byte) { f[accounts.KeyName] = []byte("noise") }, "not a sealing key file"},
		"key of other store": {func(f map[string][]byte) { f[accounts.KeyName] = foreign }, "opens none"},
		"no store":           {func(f map[string][]byte) { delete(f, daemon.StoreName) }, daemon.StoreName},
		"empty token":        {func(f map[string][]byte) { f[admin.TokenFile] = nil }, admin.TokenFile},
	} {
		files := unpacked(t, saved)
		tc.change(files)
		rig.Refused(t, commands.ExitFailure, rig.TestEnv(target), []string{"restore", packBackup(t, files)}, "nothing was changed", tc.want)
		for name, content := range before {
			if rig.ReadFile(t, filepath.Join(target, name)) != content {
				t.Errorf("%s: %s was changed", tc.want, name)
			}
		}
		if got := len(rig.Names(t, target)); got != len(before) {
			t.Errorf("%s: the data folder has %d files, want the %d from before", name, got, len(before))
		}
	}
	rig.Cli(t, rig.TestEnv(target), "restore", packBackup(t, unpacked(t, saved)))
}

// The sizes that a backup states are checked before it is unpacked.
func TestRestoreOfASparseFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	free, err := backup.FreeSpace(dir)
	rig.Must(t, err)
	size := int64(free) // exactly the free space, which is less than needed
	manifest := fmt.Appendf(nil, `{"format":1,"version":"v1","created":"2026-11-01T12:00:00Z","files":[{"name":"respawnd.db","size":%d,"sha256":""}]}`, size)
	var head bytes.Buffer
	out := tar.NewWriter(&head)
	rig.Must(t, out.WriteHeader(&tar.Header{Name: "manifest.json", Size: int64(len(manifest)), Mode: 0o600, Typeflag: tar.TypeReg}))
	_, err = out.Write(manifest)
	rig.Must(t, err)
	rig.Must(t, out.WriteHeader(&tar.Header{Name: daemon.StoreName, Size: size, Mode: 0o600, Typeflag: tar.TypeReg, Format: tar.FormatGNU}))
	cut := rig.WriteFile(t, "cut", head.String())
	rig.Refused(t, commands.ExitFailure, rig.TestEnv(dir), []string{"restore", cut}, "nothing was changed", fmt.Sprintf("it is to hold %d bytes", size))
	whole := rig.WriteFile(t, "whole", head.String())
	if err := os.Truncate(whole, size+1<<20); err != nil {
		t.Logf("no sparse file of that size here: %v", err)
		return
	}
	rig.Refused(t, commands.ExitFailure, rig.TestEnv(dir), []string{"restore", whole}, "nothing was changed", "data_dir", "bytes free")
	if left := rig.Names(t, dir); len(left) > 0 {
		t.Errorf("the data folder has %q", left)
	}
}
