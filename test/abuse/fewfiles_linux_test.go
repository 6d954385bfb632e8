package abuse

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/test/rig"
)

// fewFiles makes a program have at most n open files.
func fewFiles(n int) []string {
	return []string{"sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$@"`, n), "sh"}
}

func TestStartWithoutFilesSaysSo(t *testing.T) {
	t.Parallel()
	c := rig.Launch(t, "", fewFiles(16), rig.TestEnv(t.TempDir()))
	rig.WantRefusedStart(t, c, "too many open files", ".listen")
}

// An open-file limit too low for the configured connections is logged at the
// start as a warning, with both numbers and the keys. A sufficient one is not.
func TestFewFilesAtTheStart(t *testing.T) {
	t.Parallel()
	file := rig.WriteFile(t, "files.yaml", `
gpsp: {max_conns: 50}
peerchat: {max_conns: 15}
serverbrowse: {max_conns: 30}
legacylist: {max_conns: 20}
web: {max_conns: 10}
gstats: {max_conns: 25}
webservices: {max_conns: 35}
utmaster: {max_conns: 40}
relay: {max_pairs: 45}
fesl: {max_conns: 5}
theater: {max_conns: 55}
`)
	const others = 256 + 285 + 2*45 // the daemon's own, and those beside gpcm.max_conns
	for _, c := range []struct{ players, allowed int }{{100, others + 99}, {100, others + 100}, {6000, others + 5999}} {
		allowed, needed := c.allowed, others+c.players
		c := rig.StartWrapped(t, fewFiles(allowed), rig.TestEnv(t.TempDir(), rig.Variable("gpcm.max_conns", strconv.Itoa(c.players))), "--config", file)
		lines, _ := c.Log.Since(0)
		told := 0
		for _, e := range lines {
			if !rig.Message(daemon.TooFewFiles)(e) {
				continue
			}
			told++
			if e["allowed"] != float64(allowed) || e["needed"] != float64(needed) || len(keysOf(e)) != 12 || e.Text("level") != "warn" {
				t.Errorf("with %d of %d files the log says %v", allowed, needed, e)
			}
		}
		if told != needed-allowed {
			t.Errorf("with %d of %d files %d lines tell of it:\n%s", allowed, needed, told, c.Log)
		}
		c.Kill()
	}
}

// A start with defaults under an ordinary limit has nothing to warn of, and one with a higher key has.
func TestOrdinaryNumberOfFiles(t *testing.T) {
	t.Parallel()
	for key, warned := range map[string]bool{"gpcm.max_conns=32768": false, "gpcm.max_conns=40000": true} {
		name, value, _ := strings.Cut(key, "=")
		c := rig.StartWrapped(t, fewFiles(20_000), rig.TestEnv(t.TempDir(), rig.Variable(name, value)))
		lines, _ := c.Log.Since(0)
		if got := slices.ContainsFunc(lines, rig.Message(daemon.TooFewFiles)); got != warned {
			t.Errorf("%s: the log warns of few files: %t, want %t", key, got, warned)
		}
		c.Kill()
	}
}

// With 64 files the daemon serves. When connections have used them all, UDP
// services continue, waiting costs almost no processor time, the log reports it
// once, and afterwards everything is as before.
func TestConnectionsThatTakeAllFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := rig.WriteFile(t, "few.yaml", "net:\n  trusted: [127.0.0.0/8]\n")
	c := rig.StartWrapped(t, fewFiles(64), rig.TestEnv(dir, rig.Variable("log.level", "info")), "--config", file) // how many lines there are at that level
	stays := rig.Register(t, &c.Running, "hostname", "Stays")

	var held []net.Conn
	t.Cleanup(func() {
		for _, conn := range held {
			_ = conn.Close()
		}
	})
	dial := func(service string) net.Conn {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp4", c.Address[service].String())
		rig.Must(t, err)
		held = append(held, conn)
		return conn
	}
	for range 100 { // the kernel accepts more than the daemon can
		for _, service := range []string{"gpcm", "peerchat", "serverbrowse", "legacylist"} {
			dial(service)
		}
	}
	c.WaitFor("that files ran out", 0, rig.Message("accepting connections has trouble"))

	comes := rig.Register(t, &c.Running, "hostname", "Comes")
	for _, conn := range held {
		_ = conn.Close()
	}
	held = nil
	if rig.NewUser(t.Context(), c.Address["gpsp"], "after") == "" {
		t.Errorf("no account although there are files again:\n%s", c.Log)
	}
	rig.WantListed(t, &c.Running, stays, comes)
	if _, err := rig.Enter(t.Context(), c.Address["gpcm"], "after"); err != nil {
		t.Errorf("login although there are files again: %v", err)
	}
	// A loop without pauses would have failed thousands of times.
	failed := 0
	_, scraped := rig.Get(t, &c.Running, "admin", http.MethodGet, "/metrics", "")
	for line := range strings.Lines(scraped) {
		if strings.HasPrefix(line, "respawnd_dropped_total{") && strings.Contains(line, `reason="accept_error"`) {
			var n int
			_, err := fmt.Sscan(line[strings.LastIndex(line, " ")+1:], &n)
			rig.Must(t, err)
			failed += n
		}
	}
	if failed == 0 || failed > 500 {
		t.Errorf("accepting failed %d times", failed)
	}
	if n := c.Log.Len(); n > 60 {
		t.Errorf("%d lines of log:\n%s", n, c.Log)
	}
}

// keysOf returns the keys that a line of the log names.
func keysOf(e rig.Entry) []string {
	list, _ := e["keys"].([]any)
	return rig.Texts(list)
}
