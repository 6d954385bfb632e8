package crash

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/test/rig"
)

// remount mounts the disk again: how is ro (read-only) or rw.
func (d *smallDisk) remount(how string) {
	d.t.Helper()
	line := append(d.wrapper, "mount", "-o", "remount,"+how, d.path)
	if out, err := exec.CommandContext(d.t.Context(), line[0], line[1:]...).CombinedOutput(); err != nil {
		d.t.Skipf("the system does not let us mount a disk %s: %v\n%s", how, err, out)
	}
}

// command runs a command of the program that sees the disk.
func (d *smallDisk) command(env []string, args ...string) (code int, out string) {
	d.t.Helper()
	path := rig.BuiltProgram(d.t)
	ctx, cancel := context.WithTimeout(d.t.Context(), rig.Hang)
	defer cancel()
	line := append(append(slices.Clip(d.wrapper), path), args...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(os.Environ(), env...)
	text, _ := cmd.CombinedOutput() // the caller checks the exit code
	return cmd.ProcessState.ExitCode(), string(text)
}

// A data folder that cannot be written is refused, empty or not, and is as it was
// when it can be written again.
func TestReadOnlyDataFolderIsRefused(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t, "4m")
	d.remount("ro")
	for name, dir := range map[string]string{"empty": d.path, "to be made": filepath.Join(d.path, "data")} {
		c := rig.Launch(t, "", d.wrapper, rig.TestEnv(dir))
		t.Log(name)
		rig.WantRefusedStart(t, c, "data_dir", "read-only file system", dir)
	}
	d.remount("rw")
	env := rig.TestEnv(d.path)
	c := rig.StartWrapped(t, d.wrapper, env)
	if rig.NewUser(t.Context(), c.Address["gpsp"], "early") == "" {
		t.Fatal("no account")
	}
	c.Kill()
	d.remount("ro")
	before := rig.Names(t, d.view)
	rig.WantRefusedStart(t, rig.Launch(t, "", d.wrapper, env), "data_dir", "read-only file system", filepath.Join(d.path, daemon.StoreName))
	for _, args := range [][]string{
		{"ban", "add", "192.0.2.1"},
		{"account", "list"},
		{"backup", filepath.Join(t.TempDir(), "saved")},
		{"restore", filepath.Join(d.path, "none")},
	} {
		code, out := d.command(env, args...)
		if code != commands.ExitFailure || strings.Contains(out, "goroutine ") || !strings.Contains(out, "read-only file system") && args[0] != "restore" {
			t.Errorf("respawnd %s: exit code %d, want %d and the reason:\n%s", strings.Join(args, " "), code, commands.ExitFailure, out)
		}
	}
	if after := rig.Names(t, d.view); !sameNames(before, after) {
		t.Errorf("the read-only folder had %q and has %q", before, after)
	}
	d.remount("rw")
	if c = rig.StartWrapped(t, d.wrapper, env); !rig.TakesPassword(t, c, "early", rig.StormPassword) {
		t.Error("the account is gone after all that")
	}
}

// With a store that is truncated anywhere, or has a flipped bit, the daemon
// starts or reports the reason; it neither hangs nor crashes.
func TestCutOrFlippedStoreNeverHangsTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	rig.Register(t, d, "hostname", "Stays")
	if rig.NewUser(t.Context(), d.Address["gpsp"], "stays") == "" {
		t.Fatal("no account")
	}
	d.Stop()
	store := filepath.Join(dir, daemon.StoreName)
	content, page := []byte(rig.ReadFile(t, store)), os.Getpagesize()
	check := func(what string, at int, bad []byte) {
		t.Helper()
		rig.Must(t, os.WriteFile(store, bad, 0o600))
		c := rig.Launch(t, "", nil, rig.TestEnv(dir))
		guard := time.NewTimer(rig.Hang)
		defer guard.Stop()
		select {
		case <-c.Ended:
			rig.WantRefusedStart(t, c, "data_dir", store)
		case <-c.Readied():
			c.Kill()
		case <-guard.C:
			t.Errorf("the daemon neither starts nor ends:\n%s", c.Log)
		}
		if t.Failed() {
			t.Fatalf("the store was %s at %d of %d", what, at, len(content))
		}
	}
	size := len(content)
	for _, n := range []int{1, 15, 16, page - 1, page, page + 1, 2 * page, 3 * page, 4*page + 100, size / 2, size - page, size - 1} {
		check("cut off", n, content[:n])
	}
	for at := 3; at < size; at += size/8 + 1 {
		bad := append([]byte(nil), content...)
		bad[at] ^= 1 << (at % 8)
		check("flipped", at, bad)
	}
}
