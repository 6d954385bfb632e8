package games

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/respawnd/respawnd/cdkey"
	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/test/rig"
)

// askKey asks a daemon for a key and returns the text shown to its player, empty if the
// player may play.
func askKey(t *testing.T, d *rig.Child, product int, key string) string {
	t.Helper()
	c, err := cdkey.Dial(t.Context(), d.Address["cdkey"].String())
	rig.Must(t, err)
	defer func() { _ = c.Close() }()
	if err := c.Auth(product, key, time.Now().Add(rig.Hang)); err != nil {
		return err.Error()
	}
	rig.Must(t, c.Leave(product, key))
	return ""
}

// Keys are good and banned at once, and still are after the daemon was killed.
func TestCDKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "keys.txt")
	rig.Must(t, rig.WriteAt(file, "# sold\nKEY-1\n  KEY-2  \n\nKEY-3\n"))
	strict := rig.Variable("cdkey.products", "461=strict")
	d := rig.StartChild(t, dir, strict)
	check := func(when string, product int, want map[string]string) {
		t.Helper()
		for key, text := range want {
			if got := askKey(t, d, product, key); got != text {
				t.Errorf("%s: %s of product %d: %q, want %q", when, key, product, got, text)
			}
		}
	}
	check("at first", 461, map[string]string{"KEY-1": "CD Key is invalid"})
	check("permissive", 462, map[string]string{"KEY-1": ""})
	rig.WantIn(t, d.Cli("cdkey", "add", "--product", "461", "KEY-1"), "added 1 key of product 461")
	rig.WantIn(t, d.Cli("cdkey", "import", "--product", "461", file), "added 2 keys of product 461, 1 known already")
	rig.WantIn(t, d.Cli("cdkey", "ban", "--product", "461", "KEY-2", "--reason", "shared"), cdkey.HashOf("KEY-2"))
	rig.WantIn(t, d.Cli("cdkey", "ban", "--product", "462", cdkey.HashOf("KEY-9")), cdkey.HashOf("KEY-9"))
	rig.WantIn(t, d.Cli("cdkey", "remove", "--product", "461", "KEY-3"), "removed CD key "+cdkey.HashOf("KEY-3"))
	last := map[string]string{"KEY-1": "", "KEY-2": "CD Key is banned", "KEY-3": "CD Key is invalid"}
	check("after changes", 461, last)
	check("after changes", 462, map[string]string{"KEY-9": "CD Key is banned", "KEY-3": ""})
	d.Kill()

	env := rig.TestEnv(dir)
	rig.WantIn(t, rig.Cli(t, env, "cdkey", "list"), cdkey.HashOf("KEY-1")+"  good", cdkey.HashOf("KEY-2")+"  banned", "shared")
	rig.WantIn(t, rig.Cli(t, env, "cdkey", "add", "--product", "461", "KEY-4"), "added 1 key")
	rig.WantIn(t, rig.Cli(t, env, "cdkey", "unban", "--product", "462", "KEY-9"), "lifted the ban")
	rig.WantIn(t, rig.Cli(t, env, "audit"), "cdkey.add", "cdkey.ban", "cdkey.unban", "cdkey.remove")
	rig.Refused(t, commands.ExitFailure, env, []string{"cdkey", "remove", "--product", "461", "KEY-9"}, "cdkey list")
	rig.Refused(t, commands.ExitFailure, env, []string{"cdkey", "add", "--product", "461", `KEY\9`}, "CD key")
	rig.Refused(t, commands.ExitUsage, env, []string{"cdkey", "add", "KEY"}, "--product")
	d = rig.StartChild(t, dir, strict)
	last["KEY-4"] = ""
	check("after a restart", 461, last)
	check("after a restart", 462, map[string]string{"KEY-9": ""})
}
