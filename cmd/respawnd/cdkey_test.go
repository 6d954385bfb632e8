package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/respawnd/respawnd/cdkey"
)

// askKey asks a daemon for a key and returns the text shown to its player, empty if the
// player may play.
func askKey(t *testing.T, d *child, product int, key string) string {
	t.Helper()
	c, err := cdkey.Dial(t.Context(), d.address["cdkey"].String())
	must(t, err)
	defer func() { _ = c.Close() }()
	if err := c.Auth(product, key, time.Now().Add(hang)); err != nil {
		return err.Error()
	}
	must(t, c.Leave(product, key))
	return ""
}

// Keys are good and banned at once, and still are after the daemon was killed.
func TestCDKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "keys.txt")
	must(t, writeAt(file, "# sold\nKEY-1\n  KEY-2  \n\nKEY-3\n"))
	strict := variable("cdkey.products", "461=strict")
	d := startChild(t, dir, strict)
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
	wantIn(t, d.cli("cdkey", "add", "--product", "461", "KEY-1"), "added 1 key of product 461")
	wantIn(t, d.cli("cdkey", "import", "--product", "461", file), "added 2 keys of product 461, 1 known already")
	wantIn(t, d.cli("cdkey", "ban", "--product", "461", "KEY-2", "--reason", "shared"), cdkey.HashOf("KEY-2"))
	wantIn(t, d.cli("cdkey", "ban", "--product", "462", cdkey.HashOf("KEY-9")), cdkey.HashOf("KEY-9"))
	wantIn(t, d.cli("cdkey", "remove", "--product", "461", "KEY-3"), "removed CD key "+cdkey.HashOf("KEY-3"))
	last := map[string]string{"KEY-1": "", "KEY-2": "CD Key is banned", "KEY-3": "CD Key is invalid"}
	check("after changes", 461, last)
	check("after changes", 462, map[string]string{"KEY-9": "CD Key is banned", "KEY-3": ""})
	d.kill()

	env := testEnv(dir)
	wantIn(t, cli(t, env, "cdkey", "list"), cdkey.HashOf("KEY-1")+"  good", cdkey.HashOf("KEY-2")+"  banned", "shared")
	wantIn(t, cli(t, env, "cdkey", "add", "--product", "461", "KEY-4"), "added 1 key")
	wantIn(t, cli(t, env, "cdkey", "unban", "--product", "462", "KEY-9"), "lifted the ban")
	wantIn(t, cli(t, env, "audit"), "cdkey.add", "cdkey.ban", "cdkey.unban", "cdkey.remove")
	refused(t, exitFailure, env, []string{"cdkey", "remove", "--product", "461", "KEY-9"}, "cdkey list")
	refused(t, exitFailure, env, []string{"cdkey", "add", "--product", "461", `KEY\9`}, "CD key")
	refused(t, exitUsage, env, []string{"cdkey", "add", "KEY"}, "--product")
	d = startChild(t, dir, strict)
	last["KEY-4"] = ""
	check("after a restart", 461, last)
	check("after a restart", 462, map[string]string{"KEY-9": ""})
}
