package crash

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/test/rig"
)

// Kinds of pages of the store, in their headers.
const (
	pageLeaf     = 2
	pageMeta     = 4
	pageFreelist = 16
)

// zeroPages returns content with every page of a kind overwritten.
func zeroPages(content []byte, kind uint16) []byte {
	bad, page := bytes.Clone(content), os.Getpagesize()
	for at := 0; at+page <= len(bad); at += page {
		if binary.NativeEndian.Uint16(bad[at+8:]) == kind {
			clear(bad[at : at+page])
		}
	}
	return bad
}

// runProgram runs the built program to its end: a damaged store may stay locked
// until then.
func runProgram(t *testing.T, env []string, args ...string) (code int, out string) {
	t.Helper()
	path := rig.BuiltProgram(t)
	ctx, cancel := context.WithTimeout(t.Context(), rig.Hang)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), env...)
	text, _ := cmd.CombinedOutput() // the caller checks the exit code
	return cmd.ProcessState.ExitCode(), string(text)
}

// A damaged file of the data folder is named, together with the way out, which
// works.
func TestDamagedFilesAreNamedAndRestored(t *testing.T) {
	t.Parallel()
	dir, saved := t.TempDir(), filepath.Join(t.TempDir(), "backup")
	env := rig.TestEnv(dir)
	rig.Typed(t, env, rig.StormPassword, "account", "create",
		"--email", "ann@example.com", "--nick", "Ann", "--uniquenick", "Ann", "--password-stdin")
	rig.Start(t, dir).Stop() // makes the other files
	rig.Cli(t, env, "backup", saved)
	store := filepath.Join(dir, daemon.StoreName)
	content := []byte(rig.ReadFile(t, store))
	page := os.Getpagesize()
	for name, tc := range map[string]struct {
		file  string
		text  []byte
		parts []string
	}{
		"empty store":           {daemon.StoreName, nil, []string{"data_dir", store, "respawnd restore"}},
		"store of one page":     {daemon.StoreName, content[:page], []string{"data_dir", store, "respawnd restore"}},
		"store without its end": {daemon.StoreName, content[:5*page], []string{"data_dir", store, "respawnd restore"}},
		"store of noise":        {daemon.StoreName, bytes.Repeat([]byte("noise"), len(content)/5), []string{"data_dir", store, "respawnd restore"}},
		"store without heads":   {daemon.StoreName, zeroPages(content, pageMeta), []string{"data_dir", store, "respawnd restore"}},
		"store without leaves":  {daemon.StoreName, zeroPages(content, pageLeaf), []string{"data_dir", store, "respawnd restore"}},
		"empty key":             {accounts.KeyName, nil, []string{"accounts.key_file", filepath.Join(dir, accounts.KeyName), "respawnd restore"}},
		"key of noise":          {accounts.KeyName, []byte("noise"), []string{"accounts.key_file", filepath.Join(dir, accounts.KeyName), "respawnd restore"}},
		"empty token":           {admin.TokenFile, nil, []string{"admin.token_file", filepath.Join(dir, admin.TokenFile)}},
	} {
		rig.Must(t, os.WriteFile(filepath.Join(dir, tc.file), tc.text, 0o600))
		code, out := runProgram(t, env, "serve")
		if code != commands.ExitFailure || strings.Contains(out, "goroutine ") {
			t.Errorf("%s: serve: exit code %d, want %d\n%s", name, code, commands.ExitFailure, out)
		}
		for _, p := range tc.parts {
			if !strings.Contains(strings.ReplaceAll(out, `\\`, `\`), p) {
				t.Errorf("%s: the log lacks %q:\n%s", name, p, out)
			}
		}
		if code, out := runProgram(t, env, "restore", saved); code != 0 {
			t.Fatalf("%s: restore: exit code %d\n%s", name, code, out)
		}
	}
	rig.Must(t, os.Remove(filepath.Join(dir, accounts.KeyName))) // gone altogether
	if code, out := runProgram(t, env, "serve"); code != commands.ExitFailure || !strings.Contains(out, "accounts.key_file") || !strings.Contains(out, "respawnd restore") {
		t.Errorf("no key: serve: exit code %d\n%s", code, out)
	}
	if code, out := runProgram(t, env, "restore", saved); code != 0 {
		t.Fatalf("no key: restore: exit code %d\n%s", code, out)
	}
	c := rig.StartChild(t, dir)
	if !rig.TakesPassword(t, c, "Ann", rig.StormPassword) {
		t.Error("the account is gone after all that")
	}
}

// Without its list of free pages the store is refused, too.
func TestStoreWithoutFreelistIsRestored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := rig.TestEnv(dir)
	rig.Typed(t, env, rig.StormPassword, "account", "create",
		"--email", "ann@example.com", "--nick", "Ann", "--uniquenick", "Ann", "--password-stdin")
	saved := filepath.Join(t.TempDir(), "backup")
	rig.Cli(t, env, "backup", saved)
	store := filepath.Join(dir, daemon.StoreName)
	rig.Must(t, os.WriteFile(store, zeroPages([]byte(rig.ReadFile(t, store)), pageFreelist), 0o600))
	code, out := runProgram(t, env, "serve")
	if code != commands.ExitFailure || strings.Contains(out, "goroutine ") || !strings.Contains(out, "respawnd restore") {
		t.Errorf("serve: exit code %d\n%s", code, out)
	}
	if code, out := runProgram(t, env, "restore", saved); code != 0 {
		t.Fatalf("restore: exit code %d\n%s", code, out)
	}
}

// Errors of the system in the data folder name data_dir.
func TestUnusableDataFolderIsNamed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes of folders mean nothing")
	}
	blocked := rig.WriteFile(t, "file", "not a folder")
	closed := t.TempDir()
	rig.Must(t, os.Chmod(closed, 0o500))
	t.Run("not ours", func(t *testing.T) {
		if os.Getuid() == 0 {
			t.Skip("root may write anywhere")
		}
		rig.WantOne(t, rig.StartRefused(t, rig.TestEnv(closed)), "data_dir", closed)
	})
	rig.WantOne(t, rig.StartRefused(t, rig.TestEnv(blocked)), "data_dir", blocked)
	rig.WantOne(t, rig.StartRefused(t, rig.TestEnv(filepath.Join(blocked, "data"))), "data_dir", blocked)
	taken := t.TempDir()
	rig.Must(t, os.Mkdir(filepath.Join(taken, daemon.StoreName), 0o700))
	rig.WantOne(t, rig.StartRefused(t, rig.TestEnv(taken)), "data_dir", filepath.Join(taken, daemon.StoreName), "is a directory")
}
