//go:build !windows

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/respawnd/respawnd/qr2"
)

// end waits for the process to end by itself.
func (c *child) end() *os.ProcessState {
	c.t.Helper()
	guard := time.NewTimer(stopHang)
	defer guard.Stop()
	select {
	case <-c.ended:
	case <-guard.C:
		c.t.Fatalf("the process did not end within %v", stopHang)
	}
	return c.state
}

func (c *child) signal(s os.Signal) {
	c.t.Helper()
	if err := c.process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// stop asks the process to end and waits for it.
func (c *child) stop() {
	c.t.Helper()
	c.signal(syscall.SIGTERM)
	if state := c.end(); state.ExitCode() != 0 {
		c.t.Errorf("the process ended with %v, want exit code 0:\n%s", state, c.log)
	}
	c.log.check(c.t)
}

// configured is a process with a configuration file of its own.
type configured struct {
	*child
	file, data string
}

func startConfigured(t testing.TB, text string, more ...string) *configured {
	t.Helper()
	dir := t.TempDir()
	c := &configured{file: filepath.Join(dir, "own.yaml"), data: filepath.Join(dir, "data")}
	if err := writeAt(c.file, text); err != nil {
		t.Fatal(err)
	}
	c.child = startChild(t, c.data, append(more, "--config", c.file)...)
	return c
}

// reload changes the configuration file and waits for the log line with the result of
// that. It returns the line and the length of the log before it.
func (c *configured) reload(text string, done func(entry) bool) (line entry, n int) {
	c.t.Helper()
	if err := writeAt(c.file, text); err != nil {
		c.t.Fatal(err)
	}
	n = c.log.len()
	c.signal(syscall.SIGHUP)
	return c.waitFor("the end of the reload", n, done), n
}

func TestSignalsStopTheDaemon(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]os.Signal{"interrupt": os.Interrupt, "terminate": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startChild(t, t.TempDir())
			browse(t, &c.running).write([]byte{0, 9})
			c.signal(s)
			if state := c.end(); state.ExitCode() != 0 {
				t.Errorf("the process ended with %v, want exit code 0:\n%s", state, c.log)
			}
			c.log.check(t)
		})
	}
}

// A reload that comes with the line "ready" must not kill the daemon.
func TestReloadTakesOverGamesAndLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	games := filepath.Join(dir, "games.yaml")
	config := filepath.Join(dir, "own.yaml")
	write := func(path, text string) {
		t.Helper()
		if err := writeAt(path, text); err != nil {
			t.Fatal(err)
		}
	}
	write(games, "games:\n  - name: firstgame\n    secret: aB3dE6\n")
	settings := "games:\n  file: '" + games + "'\nmaster:\n  max_servers: "
	write(config, settings+"10\n")
	c := startChild(t, filepath.Join(dir, "data"), "--config", config)
	c.signal(syscall.SIGHUP)
	c.waitFor("the first reload", 0, reloaded)

	one := register(t, &c.running, "hostname", "One")
	write(games, "games:\n  - name: secondgame\n    secret: aB3dE6\n")
	write(config, settings+"1\n")
	n := c.log.len()
	c.signal(syscall.SIGHUP)
	c.waitFor("the second reload", n, reloaded)
	out := c.cli("game", "list")
	if !strings.Contains(out, "secondgame") || strings.Contains(out, "firstgame") {
		t.Errorf("game list after the reload has not the games of the new file")
	}
	two := newHost(t, c.address["qr2"], "hostname", "Two")
	two.heartbeat("3")
	two.answer()
	two.expect(qr2.KindRefusal)
	wantListed(t, &c.running, one)

	// After a mistake nothing has changed.
	for name, broken := range map[string]func(){
		"games":  func() { write(games, "games:\n  - name: 'not a name'\n") },
		"limits": func() { write(games, "games: []\n"); write(config, settings+"none\n") },
		"file":   func() { write(config, "games:\n  file: '"+games+".none'\n") },
	} {
		broken()
		n = c.log.len()
		c.signal(syscall.SIGHUP)
		c.waitFor("the refusal of the "+name, n, message("not reloaded"))
		if _, body := get(t, &c.running, "web", "GET", "/api/v1/games", ""); !strings.Contains(body, "secondgame") {
			t.Errorf("%s: after a reload that failed the games are others", name)
		}
	}
	write(games, "games:\n  - name: secondgame\n    secret: aB3dE6\n")
	c.cli("game", "add", "thirdgame", "--secret", "dE6gH9")
	write(config, settings+"5\n")
	n = c.log.len()
	c.signal(syscall.SIGHUP)
	c.waitFor("the last reload", n, reloaded)
	two.heartbeat("3")
	two.prove()
	wantListed(t, &c.running, one, two)
	c.stop()
}

func reloaded(e entry) bool { return strings.HasPrefix(e.text("message"), "reloaded") }

func TestReloadChangesTheDNSLimits(t *testing.T) {
	t.Parallel()
	c := startConfigured(t, "dns: {rate: 1, burst: 1}\n")
	const asked = 10
	answered := func() (n int) {
		client := dns.Client{Net: "tcp4", Timeout: hang}
		for range asked { // a connection over the limit is closed
			if _, _, err := client.ExchangeContext(t.Context(), new(dns.Msg).SetQuestion("gpcm.gamespy.com.", dns.TypeA), c.address["dns"].String()); err == nil {
				n++
			}
		}
		return n
	}
	if n := answered(); n == 0 || n == asked {
		t.Errorf("%d of %d questions answered with a limit of one a second", n, asked)
	}
	c.reload("dns: {rate: 1000, burst: 1000}\n", reloaded)
	if n := answered(); n != asked {
		t.Errorf("%d of %d questions answered after the reload, want all", n, asked)
	}
	c.stop()
}
