//go:build !windows

package operator

import (
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/respawnd/respawnd/test/rig"
)

// manager stands in for the service manager. Its socket has a name without its
// folder: with it, the name can be too long for the system.
func manager(t *testing.T) (name string, next func() string) {
	t.Helper()
	rig.BuiltProgram(t) // skips the test if the program is not built
	t.Chdir(t.TempDir())
	name = "notify"
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return name, func() string {
		t.Helper()
		if err := conn.SetReadDeadline(time.Now().Add(rig.Hang)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 4096)
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatalf("the service manager was told nothing: %v", err)
		}
		return string(buf[:n])
	}
}

func TestServiceManagerNotifications(t *testing.T) {
	name, next := manager(t)
	t.Setenv("NOTIFY_SOCKET", name)
	c := rig.StartChild(t, t.TempDir())
	if got, want := next(), "READY=1\nSTATUS=serving\n"; got != want {
		t.Errorf("told at the start: %q, want %q", got, want)
	}
	c.Signal(syscall.SIGHUP)
	for _, want := range []string{"RELOADING=1\nSTATUS=reloading\n", "READY=1\nSTATUS=serving\n"} {
		if got := next(); got != want {
			t.Errorf("told at a reload: %q, want %q", got, want)
		}
	}
	c.Signal(syscall.SIGTERM)
	if got, want := next(), "STOPPING=1\nSTATUS=stopping\n"; got != want {
		t.Errorf("told at the stop: %q, want %q", got, want)
	}
	c.End()
}

// The status and the metrics report a failed reload until the next one succeeds.
func TestServiceManagerHearsOfAFailedReload(t *testing.T) {
	name, next := manager(t)
	t.Setenv("NOTIFY_SOCKET", name)
	c := rig.StartConfigured(t, "")
	next() // ready
	began := rig.Number(t, &c.Running, "respawnd_last_reload_success_timestamp_seconds")
	if now := float64(time.Now().Unix()); began < now-60 || began > now+1 {
		t.Errorf("the start counts as a reload at %v, now is %v", began, now)
	}
	failed := regexp.MustCompile(`^READY=1\nSTATUS=serving with the settings from before: the reload at \S+Z failed: [^\n]*(no_such_key|max_servers)[^\n]*\n$`)
	for _, tc := range []struct{ config, part string }{
		{"master: {max_servers: none}\n", "none"},
		{"master: {max_servers: none}\nno_such_key: 1\n", " (and 1 more, see the log)"},
	} {
		c.Reload(tc.config, rig.Message("not reloaded"))
		if got, want := next(), "RELOADING=1\nSTATUS=reloading\n"; got != want {
			t.Errorf("told at a reload: %q, want %q", got, want)
		}
		if got := next(); !failed.MatchString(got) || !strings.Contains(got, tc.part) {
			t.Errorf("told after a reload that failed: %q, want a reason and %q", got, tc.part)
		}
		rig.WantSamples(t, &c.Running, map[string]float64{"respawnd_last_reload_success": 0, "respawnd_last_reload_success_timestamp_seconds": began})
	}
	c.Reload("", rig.Reloaded)
	next()
	if got, want := next(), "READY=1\nSTATUS=serving\n"; got != want {
		t.Errorf("told after a reload without a mistake: %q, want %q", got, want)
	}
	rig.WantSamples(t, &c.Running, map[string]float64{"respawnd_last_reload_success": 1})
	if last := rig.Number(t, &c.Running, "respawnd_last_reload_success_timestamp_seconds"); last <= began {
		t.Errorf("the last good reload was at %v, want a time after the start at %v", last, began)
	}
	c.Stop()
}

func TestServiceManagerThatIsGoneStopsNothing(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "unknown"))
	c := rig.StartChild(t, t.TempDir())
	c.Log.Wait(t, "the failed report", 0, c.Ended, rig.Message("the service manager was not informed"))
	c.Signal(syscall.SIGTERM)
	if state := c.End(); state.ExitCode() != 0 {
		t.Errorf("the process ended with %v, want exit code 0", state)
	}
}
