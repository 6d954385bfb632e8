//go:build unix

package operator

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/test/rig"
)

// serviceUser is the id of a user that need not exist.
const serviceUser = 54321

// giveAway gives a file to the user of a service.
func giveAway(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	if err := os.Chown(path, serviceUser, serviceUser); err != nil {
		t.Fatal(err)
	}
}

// ownedByService fails the test unless the user of the service owns the files.
func ownedByService(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Uid != serviceUser || s.Gid != serviceUser {
			t.Errorf("%s belongs to %+v, want the user of the service, %d:%d", filepath.Base(path), info.Sys(), serviceUser, serviceUser)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %v, want -rw-------", filepath.Base(path), mode)
		}
	}
}

func TestRestoreByRootKeepsTheOwner(t *testing.T) {
	t.Parallel()
	from, dir, keys := t.TempDir(), t.TempDir(), t.TempDir()
	file := filepath.Join(t.TempDir(), "copy.tar")
	createAccount(t, rig.TestEnv(from))
	rig.Cli(t, rig.TestEnv(from), "backup", file)

	// The folder of the data belongs to the service, that of the key does not.
	giveAway(t, dir)
	key := filepath.Join(keys, "sealing.key")
	if err := os.WriteFile(key, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	giveAway(t, key)
	env := rig.TestEnv(dir, rig.Variable("accounts.key_file", key))
	rig.Cli(t, env, "restore", file)
	ownedByService(t, filepath.Join(dir, daemon.StoreName), key)
}

func TestCommandsByRootKeepTheOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	giveAway(t, dir)
	env := rig.TestEnv(dir)
	createAccount(t, env)
	ownedByService(t, filepath.Join(dir, daemon.StoreName), filepath.Join(dir, accounts.KeyName))
	rig.Cli(t, env, "account", "rotate-key")
	ownedByService(t, filepath.Join(dir, accounts.KeyName))
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			ownedByService(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func createAccount(t *testing.T, env []string) {
	t.Helper()
	rig.Typed(t, env, "secret12\n", "account", "create", "--email", "joe@example.com", "--nick", "Joe", "--password-stdin")
}
