package crash

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/test/rig"
)

// smallDisk is a file system in memory, with little room. Only programs that
// are run through wrapper see it at path.
type smallDisk struct {
	t       *testing.T
	path    string // as its programs see it
	view    string // as the test sees it
	wrapper []string
}

// newSmallDisk makes a disk in a mount namespace, which needs root or a system
// that allows user namespaces to all users. Without, the test is skipped.
func newSmallDisk(t *testing.T, size string) *smallDisk {
	t.Helper()
	path := t.TempDir()
	const script = `mount --make-rprivate / && mount -t tmpfs -o size="$2",mode=700 none "$1" && echo mounted && exec cat`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", path, size)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	enter := []string{"nsenter", "--mount", "--target"}
	if id := os.Getuid(); id != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
		enter = []string{"nsenter", "--user", "--preserve-credentials", "--mount", "--target"}
	}
	in, err := cmd.StdinPipe() // its end is the end of the namespace
	rig.Must(t, err)
	out, err := cmd.StdoutPipe()
	rig.Must(t, err)
	if err := cmd.Start(); err != nil {
		t.Skipf("a small disk takes a mount namespace: %v", err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "mounted\n" {
		t.Skip("a small disk takes the right to mount one")
	}
	_ = rig.Program(t, "nsenter", "util-linux")
	pid := fmt.Sprint(cmd.Process.Pid)
	return &smallDisk{t: t, path: path, view: filepath.Join("/proc", pid, "root", path), wrapper: append(enter, pid, "--")}
}

// fill uses all the space but some bytes.
func (d *smallDisk) fill(left int64) {
	d.t.Helper()
	f, err := os.Create(filepath.Join(d.view, "fill"))
	rig.Must(d.t, err)
	buf := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(buf)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatalf("fill the disk: %v", err)
	}
	info, err := f.Stat()
	rig.Must(d.t, err)
	rig.Must(d.t, errors.Join(f.Truncate(max(info.Size()-left, 0)), f.Close()))
}

func (d *smallDisk) free() { d.t.Helper(); rig.Must(d.t, os.Remove(filepath.Join(d.view, "fill"))) }

// With any amount of free space, the first start either succeeds or reports the
// reason and leaves nothing that prevents the next.
func TestFirstStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t, "1m")
	for _, room := range []int64{0, 4 << 10, 8 << 10, 12 << 10, 20 << 10, 32 << 10, 36 << 10} {
		dir := fmt.Sprint("data", room)
		d.fill(room)
		c := rig.Launch(t, "", d.wrapper, rig.TestEnv(filepath.Join(d.path, dir)))
		select {
		case <-c.Ended:
			rig.WantRefusedStart(t, c, "no space left on device")
		case <-c.Readied():
			c.Kill()
		}
		d.free()
		rig.StartWrapped(t, d.wrapper, rig.TestEnv(filepath.Join(d.path, dir))).Kill()
		rig.Must(t, os.RemoveAll(filepath.Join(d.view, dir)))
	}
}

// On a full disk changes are refused with an error of the protocol, the rest
// continues, and nothing is lost; with room again everything works.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t, "2m")
	file := rig.WriteFile(t, "full.yaml", "net:\n  trusted: [127.0.0.0/8]\nmaster:\n  save_every: 10s\n")
	c := rig.StartWrapped(t, d.wrapper, rig.TestEnv(d.path, rig.Variable("log.level", "info")), "--config", file)
	op := c.Client(d.view)
	if rig.NewUser(t.Context(), c.Address["gpsp"], "early") == "" {
		t.Fatal("no account")
	}

	d.fill(0)
	made := []string{"early"}
	bans := 0
	for n, full := 0, 0; n < 10_000 && full < 20; n++ { // pages that a reader still uses become free later
		name := fmt.Sprint("full", n)
		if full++; rig.NewUser(t.Context(), c.Address["gpsp"], name) != "" {
			made, full = append(made, name), 0
		}
	}
	lines := c.Log.Len() - 1
	const refusals = 60
	for n := range refusals {
		name := fmt.Sprint("refused", n)
		answer, err := rig.AskSearch(t.Context(), c.Address["gpsp"], rig.NewUserRequest(name))
		if err != nil || !strings.HasPrefix(answer, `\error\`) && !strings.HasPrefix(answer, `\nur\`) || strings.HasPrefix(answer, `\nur\0\`) {
			t.Fatalf("newuser on a full disk is answered with %q, %v, want an error", answer, err)
		}
		ban := storage.Ban{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(n)}), 32), Scope: storage.ScopeAll}
		if err := operator.AddBan.Exec(t.Context(), op, operator.NewBan(ban)); err == nil {
			bans++
		} else if !strings.Contains(err.Error(), "no space left") {
			t.Fatalf("a ban on a full disk: %v, want the reason", err)
		}
	}
	for n := range refusals {
		g, err := rig.Meet(t.Context(), c.Address["gpcm"])
		rig.Must(t, err)
		rig.Must(t, g.MustSend(rig.GameUserRequest(fmt.Sprint("refused", n))))
		if m, err := g.MustNext(); err != nil || !strings.HasPrefix(m, `\error\`) {
			t.Errorf("newuser in presence on a full disk is answered with %q, %v, want an error", m, err)
		}
		rig.Must(t, g.Close())
	}
	c.WaitFor("the full disk", lines, func(e rig.Entry) bool {
		return e.Text("level") == "error" && strings.Contains(e.Text("error"), "no space left on device")
	})
	told := 0
	written, _ := c.Log.Since(lines)
	for _, e := range written {
		if e.Text("service") == "gpsp" || e.Text("service") == "gpcm" {
			told++
		}
	}
	if told == 0 || told > refusals {
		t.Errorf("%d lines of log for %d refused changes:\n%s", told, 2*refusals, c.Log)
	}
	if _, err := rig.Enter(t.Context(), c.Address["gpcm"], "early"); err != nil {
		t.Errorf("login on a full disk: %v", err)
	}
	isReady := func() (code int, body string) { return rig.Get(t, &c.Running, "admin", http.MethodGet, "/readyz", "") }
	c.WaitFor("the store that cannot be written", lines, func(e rig.Entry) bool { return strings.HasPrefix(e.Text("message"), "the store cannot be written") })
	if code, body := isReady(); code != http.StatusServiceUnavailable || !strings.Contains(body, "the store cannot be written") || !strings.Contains(body, "no space left") {
		t.Errorf("readyz on a full disk: %d %s", code, body)
	}
	if n := rig.Number(t, &c.Running, "respawnd_store_write_errors_total"); n < refusals {
		t.Errorf("%v failed writes are counted, want at least %d", n, refusals)
	}
	rig.WantSamples(t, &c.Running, map[string]float64{"respawnd_ready": 0})

	d.free()
	c.WaitFor("the store that can be written again", lines, rig.Message("the store can be written again"))
	if code, body := isReady(); code != http.StatusOK {
		t.Errorf("readyz with room again: %d %s", code, body)
	}
	rig.WantSamples(t, &c.Running, map[string]float64{"respawnd_ready": 1})
	if rig.NewUser(t.Context(), c.Address["gpsp"], "later") == "" {
		t.Errorf("no account although there is room again:\n%s", c.Log)
	}
	made = append(made, "later")
	rig.Must(t, operator.AddBan.Exec(t.Context(), op, operator.NewBan(storage.Ban{Prefix: netip.MustParsePrefix("10.9.9.9/32"), Scope: storage.ScopeAll})))
	c.Kill()

	c = rig.StartWrapped(t, d.wrapper, rig.TestEnv(d.path), "--config", file)
	for _, name := range made {
		if !rig.TakesPassword(t, c, name, rig.StormPassword) {
			t.Errorf("the account %s, which was acknowledged, is gone", name)
		}
	}
	list, err := operator.ListBans.Call(t.Context(), c.Client(d.view), operator.None{})
	if err != nil || len(list) != bans+1 {
		t.Errorf("%d bans, %v, want %d", len(list), err, bans+1)
	}
}

// A daemon that has nothing to write notices a full disk, too, and that it has room
// again.
func TestFullDiskOfAnIdleDaemon(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t, "2m")
	c := rig.StartWrapped(t, d.wrapper, rig.OnlyEnv(d.path, []string{"admin"}))
	full := rig.Number(t, &c.Running, "respawnd_disk_free_bytes")
	for _, step := range []struct {
		change func()
		line   string
		code   int
		ready  float64
	}{
		{func() { d.fill(0) }, "the store cannot be written; /readyz answers 503 until it can", http.StatusServiceUnavailable, 0},
		{d.free, "the store can be written again", http.StatusOK, 1},
	} {
		n := c.Log.Len()
		step.change()
		c.WaitFor("the change of the disk", n, rig.Message(step.line))
		if code, body := rig.Get(t, &c.Running, "admin", http.MethodGet, "/readyz", ""); code != step.code {
			t.Errorf("%s, and /readyz answers %d %s, want %d", step.line, code, body, step.code)
		}
		rig.WantSamples(t, &c.Running, map[string]float64{"respawnd_ready": step.ready})
		if free := rig.Number(t, &c.Running, "respawnd_disk_free_bytes"); (free > full/2) != (step.ready == 1) {
			t.Errorf("%s with %v bytes free, at the start %v", step.line, free, full)
		}
	}
	c.Stop()
}
