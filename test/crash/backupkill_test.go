//go:build !windows

package crash

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/zanmaster"
)

// killedBackup runs the command backup and kills it when it has copied the store:
// at one of the further files, which is a pipe.
func killedBackup(t *testing.T, env []string, pipe, to string) {
	t.Helper()
	path := rig.BuiltProgram(t)
	rig.Must(t, syscall.Mkfifo(pipe, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), rig.Hang)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "backup", to)
	cmd.Env = append(os.Environ(), env...)
	rig.Must(t, cmd.Start())
	ended := make(chan error, 1)
	opened := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	go func() { // until the command opens the other end, or does not
		f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		if err == nil {
			defer func() { _ = f.Close() }()
			_ = cmd.Process.Kill()
		}
		opened <- err
	}()
	rig.Must(t, <-opened)
	if err := <-ended; err == nil {
		t.Fatal("the backup was not killed")
	}
	rig.Must(t, os.Remove(pipe))
}

// The temporary files of a killed backup are removed: those in the data folder when
// it is next opened, the one beside the backup by the next backup to the same file.
// Files of others stay.
func TestKilledBackupIsCleanedUp(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), t.TempDir()
	to := filepath.Join(out, "saved")
	env := rig.TestEnv(dir)
	pipe := filepath.Join(dir, zanmaster.FileNames()[0])
	rig.Start(t, dir).Stop()
	clean := rig.Names(t, dir)
	for _, path := range []string{filepath.Join(dir, "backup-20261101"), filepath.Join(dir, "restore-1"), filepath.Join(out, "mine")} {
		rig.Must(t, os.Mkdir(path, 0o700))
		rig.Must(t, os.WriteFile(filepath.Join(path, daemon.StoreName), []byte("mine"), 0o600))
	}
	rig.Must(t, os.WriteFile(to+".part-00", []byte("mine"), 0o600))

	killedBackup(t, env, pipe, to)
	parts := func(path string) []string {
		return slices.DeleteFunc(rig.Names(t, path), func(n string) bool { return !strings.Contains(n, ".respawnd-part-") })
	}
	if len(parts(dir)) != 1 || len(parts(out)) != 1 {
		t.Fatalf("a killed backup left %q and %q, want one part each: the test kills at the wrong time", parts(dir), parts(out))
	}
	rig.Cli(t, env, "backup", to)
	if got, want := rig.Names(t, dir), append(slices.Clone(clean), "backup-20261101", "restore-1"); !sameNames(got, want) {
		t.Errorf("after the next backup the data folder has %q, want %q", got, want)
	}
	if got, want := rig.Names(t, out), []string{"mine", "saved", "saved.part-00"}; !sameNames(got, want) {
		t.Errorf("after the next backup its folder has %q, want %q", got, want)
	}

	killedBackup(t, env, pipe, to)
	d := rig.Start(t, dir)
	d.WaitFor("what was cleaned up", 0, rig.Message("removed the files of an unfinished backup"))
	if left := parts(dir); len(left) > 0 {
		t.Errorf("after a start the data folder has %q", left)
	}
	d.Stop()
	rig.Must(t, os.Mkdir(filepath.Join(dir, "restore.respawnd-part-12"), 0o700)) // as a killed restore leaves it
	rig.Cli(t, env, "restore", to)
	if left := parts(dir); len(left) > 0 {
		t.Errorf("after a restore the data folder has %q", left)
	}
}

func sameNames(a, b []string) bool {
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
