//go:build !windows

package operator

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/respawnd/respawnd/test/rig"
)

func TestReloadNamesTheKeysThatNeedARestart(t *testing.T) {
	t.Parallel()
	c := rig.StartConfigured(t, "master: {max_servers: 5}\n")
	e, _ := c.Reload("master: {max_servers: 6, restore_for: 10s}\nserverbrowse: {idle: 60s}\n",
		func(e rig.Entry) bool { return strings.Contains(e.Text("message"), "restart") })
	if keys, _ := e["keys"].([]any); len(keys) != 2 || keys[0] != "master.restore_for" || keys[1] != "serverbrowse.idle" {
		t.Errorf("line %v, want the keys master.restore_for and serverbrowse.idle", e)
	}
	c.Stop()
}

// A reload replaces the configuration while goroutines of the daemon run. The race
// detector reports one that reads it without a lock.
func TestReloadRace(t *testing.T) {
	t.Parallel()
	c := rig.StartChild(t, t.TempDir())
	c.Signal(syscall.SIGHUP)
	c.WaitFor("the reload", 0, rig.Reloaded)
	c.Stop()
}

// After one mistake anywhere, no change takes effect.
func TestReloadMistake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, games := filepath.Join(dir, "bans"), filepath.Join(dir, "games.yaml")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		t.Helper()
		if err := rig.WriteAt(path, text); err != nil {
			t.Fatal(err)
		}
	}
	const first, second = "games:\n  - name: firstgame\n", "games:\n  - name: secondgame\n"
	settings := "games: {file: '" + games + "'}\n"
	static := "servers: {static: ['a2s 192.0.2.77:27015']}\n"
	write(games, first)
	c := rig.StartConfigured(t, settings, rig.Variable("zanmaster.ban_files", folder))
	taken := func() (games, static bool) {
		t.Helper()
		return strings.Contains(c.Cli("game", "list"), "secondgame"), strings.Contains(c.Cli("server", "list", "--kept"), "192.0.2.77")
	}
	none := filepath.Join(dir, "none")
	for name, tc := range map[string]struct {
		games, config string
		broken        func()
		want          string // in the log line
	}{
		"not YAML":            {second, settings + static + "gpcm: [\n", nil, "not YAML"},
		"unknown key":         {second, settings + static + "no_such_key: 1\n", nil, "no_such_key"},
		"limit":               {second, settings + static + "master: {max_servers: none}\n", nil, "master.max_servers"},
		"static server":       {second, settings + "servers: {static: ['a2s 192.0.2.77:27015', 'a2s nowhere']}\n", nil, "servers.static"},
		"games file":          {second + "  - name: 'not a name'\n", settings + static, nil, "games.file"},
		"games file missing":  {second, "games: {file: '" + none + "'}\n" + static, nil, "games.file"},
		"file of a webhook":   {second, settings + static + "webhooks: [{name: chat, secret: 0123456789abcdef, url_file: '" + none + "'}]\n", nil, "url_file"},
		"country file":        {second, settings + static + "geoip: {file: '" + none + "'}\n", nil, "geoip.file"},
		"folder of ban files": {second, settings + static, func() { _ = os.Rename(folder, none) }, "zanmaster.ban_files"},
		"ban file":            {second, settings + static, func() { _ = os.Mkdir(filepath.Join(folder, "banlist.txt"), 0o700) }, "banlist.txt"},
		"admin token":         {second, settings + static + "admin: {token_file: '" + folder + "'}\n", nil, "admin.token_file"},
	} {
		write(games, tc.games)
		if tc.broken != nil {
			tc.broken()
		}
		e, _ := c.Reload(tc.config, rig.Message("not reloaded"))
		if !strings.Contains(e.Text("error"), tc.want) {
			t.Errorf("%s: the error is %q, want one that names %s", name, e.Text("error"), tc.want)
		}
		if g, s := taken(); g || s {
			t.Errorf("%s: after a reload that failed, the new games are in force: %v; the new servers: %v", name, g, s)
		}
		_ = os.Rename(none, folder)
		_ = os.Remove(filepath.Join(folder, "banlist.txt"))
	}
	write(games, second)
	c.Reload(settings+static, rig.Reloaded)
	if g, s := taken(); !g || !s {
		t.Errorf("after a reload without a mistake, the new games are in force: %v; the new servers: %v", g, s)
	}
	c.Stop()
}
