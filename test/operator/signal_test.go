//go:build !windows

package operator

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/miekg/dns"

	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/test/rig"
)

func TestSignalsStopTheDaemon(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]os.Signal{"interrupt": os.Interrupt, "terminate": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := rig.StartChild(t, t.TempDir())
			rig.Browse(t, &c.Running).Write([]byte{0, 9})
			c.Signal(s)
			if state := c.End(); state.ExitCode() != 0 {
				t.Errorf("the process ended with %v, want exit code 0:\n%s", state, c.Log)
			}
			c.Log.Check(t)
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
		if err := rig.WriteAt(path, text); err != nil {
			t.Fatal(err)
		}
	}
	write(games, "games:\n  - name: firstgame\n    secret: aB3dE6\n")
	settings := "games:\n  file: '" + games + "'\nmaster:\n  max_servers: "
	write(config, settings+"10\n")
	c := rig.StartChild(t, filepath.Join(dir, "data"), "--config", config)
	c.Signal(syscall.SIGHUP)
	c.WaitFor("the first reload", 0, rig.Reloaded)

	one := rig.Register(t, &c.Running, "hostname", "One")
	write(games, "games:\n  - name: secondgame\n    secret: aB3dE6\n")
	write(config, settings+"1\n")
	n := c.Log.Len()
	c.Signal(syscall.SIGHUP)
	c.WaitFor("the second reload", n, rig.Reloaded)
	out := c.Cli("game", "list")
	if !strings.Contains(out, "secondgame") || strings.Contains(out, "firstgame") {
		t.Errorf("game list after the reload has not the games of the new file")
	}
	two := rig.NewHost(t, c.Address["qr2"], "hostname", "Two")
	two.MustHeartbeat("3")
	two.MustAnswer()
	two.Expect(qr2.KindRefusal)
	rig.WantListed(t, &c.Running, one)

	// After a mistake nothing has changed.
	for name, broken := range map[string]func(){
		"games":  func() { write(games, "games:\n  - name: 'not a name'\n") },
		"limits": func() { write(games, "games: []\n"); write(config, settings+"none\n") },
		"file":   func() { write(config, "games:\n  file: '"+games+".none'\n") },
	} {
		broken()
		n = c.Log.Len()
		c.Signal(syscall.SIGHUP)
		c.WaitFor("the refusal of the "+name, n, rig.Message("not reloaded"))
		if _, body := rig.Get(t, &c.Running, "web", "GET", "/api/v1/games", ""); !strings.Contains(body, "secondgame") {
			t.Errorf("%s: after a reload that failed the games are others", name)
		}
	}
	write(games, "games:\n  - name: secondgame\n    secret: aB3dE6\n")
	c.Cli("game", "add", "thirdgame", "--secret", "dE6gH9")
	write(config, settings+"5\n")
	n = c.Log.Len()
	c.Signal(syscall.SIGHUP)
	c.WaitFor("the last reload", n, rig.Reloaded)
	two.MustHeartbeat("3")
	two.MustProve()
	rig.WantListed(t, &c.Running, one, two)
	c.Stop()
}

func TestReloadChangesTheDNSLimits(t *testing.T) {
	t.Parallel()
	c := rig.StartConfigured(t, "dns: {rate: 1, burst: 1}\n")
	const asked = 10
	answered := func() (n int) {
		client := dns.Client{Net: "tcp4", Timeout: rig.Hang}
		for range asked { // a connection over the limit is closed
			if _, _, err := client.ExchangeContext(t.Context(), new(dns.Msg).SetQuestion("gpcm.gamespy.com.", dns.TypeA), c.Address["dns"].String()); err == nil {
				n++
			}
		}
		return n
	}
	if n := answered(); n == 0 || n == asked {
		t.Errorf("%d of %d questions answered with a limit of one a second", n, asked)
	}
	c.Reload("dns: {rate: 1000, burst: 1000}\n", rig.Reloaded)
	if n := answered(); n != asked {
		t.Errorf("%d of %d questions answered after the reload, want all", n, asked)
	}
	c.Stop()
}
