package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netclient"
)

// hostsOf returns the arguments of a command on a hosts file of a test.
func hostsOf(path string, args ...string) []string {
	return append(append([]string{"point"}, args...), "--file", path)
}

func TestPoint(t *testing.T) {
	t.Parallel()
	const before = "127.0.0.1 localhost\n"
	path := writeFile(t, "hosts", before)
	content := func() string {
		b, err := os.ReadFile(path)
		must(t, err)
		return string(b)
	}

	wantIn(t, cli(t, nil, hostsOf(path, "gmtest", "--to", "192.0.2.1", "--dry-run")...), "192.0.2.1 gmtest.master.gamespy.com")
	if got := content(); got != before {
		t.Errorf("--dry-run wrote %q", got)
	}
	code, out, errOut := command(t, nil, hostsOf(path, "gmtest", "--to", "192.0.2.1")...)
	if code != exitFailure || content() != before {
		t.Errorf("without an answer: exit code %d, wrote %q", code, content())
	}
	wantIn(t, out, "192.0.2.1 gmtest.master.gamespy.com")
	wantIn(t, errOut, "into "+path+"? [y/N]", "nothing was changed")

	wantIn(t, cli(t, nil, hostsOf(path, "GMTest", "--to", "192.0.2.1", "--yes")...), "gmtest leads to 192.0.2.1", "point --undo gmtest", "hosts.before-respawnd")
	wantIn(t, content(), before, "192.0.2.1 gmtest.master.gamespy.com # respawnd gmtest;\n")
	wantIn(t, cli(t, nil, hostsOf(path, "gmtest", "--to", "192.0.2.1", "--yes")...), "already")
	wantIn(t, cli(t, nil, hostsOf(path, "--status")...), "gmtest", "192.0.2.1", "not tested")
	wantIn(t, cli(t, nil, hostsOf(path, "--status", "--json")...), `"game":"gmtest","address":"192.0.2.1"`, `"tested":false`)
	refused(t, exitFailure, nil, hostsOf(path, "swat4", "--to", "192.0.2.2", "--yes", "--dry-run"), "for the game gmtest: undo that game first")

	wantIn(t, cli(t, nil, hostsOf(path, "--undo", "gmtest", "--dry-run")...), "192.0.2.1 gmtest.master.gamespy.com")
	wantIn(t, cli(t, nil, hostsOf(path, "--undo", "gmtest")...), "removed the lines of gmtest")
	if got := content(); got != before {
		t.Errorf("undone: %q, want %q", got, before)
	}
	wantIn(t, cli(t, nil, hostsOf(path, "--undo")...), "no lines of all games")
	wantIn(t, cli(t, nil, hostsOf(path, "--status")...), "no game leads")
}

func TestPointRefuses(t *testing.T) {
	t.Parallel()
	path := writeFile(t, "hosts", "")
	for _, args := range [][]string{
		{}, {"gmtest"}, {"--to", "192.0.2.1"}, {"gmtest", "--to", "192.0.2.1", "--undo"}, {"--undo", "--status"}, {"gmtest", "--status"}, {"a", "b", "--to", "192.0.2.1"},
	} {
		refused(t, exitUsage, nil, hostsOf(path, args...))
	}
	for to, want := range map[string]string{"::1": "IPv4", "0.0.0.0": "IPv4", "224.0.0.1": "IPv4"} {
		refused(t, exitFailure, nil, hostsOf(path, "gmtest", "--to", to, "--yes"), "--to: ", want)
	}
	refused(t, exitFailure, nil, hostsOf(path, "gmtes", "--to", "192.0.2.1"), "did you mean gmtest")
	none := filepath.Join(t.TempDir(), "none")
	refused(t, exitFailure, nil, hostsOf(none, "--status"), none)
	refused(t, exitFailure, nil, hostsOf(writeFile(t, "utf16", "\xff\xfe1\x00"), "--undo"), "UTF-16")
	refused(t, exitUsage, nil, []string{"point", "test", "gmtest"}, "--to is needed")
}

// TestPointTest plays the first steps of a game against the daemon, and against a
// machine where nothing listens.
func TestPointTest(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	env := testEnv(t.TempDir())
	for service, at := range d.address {
		env = append(env, configs.EnvPrefix+strings.ToUpper(service)+"_LISTEN="+at.String())
	}
	out := cli(t, env, "point", "test", "gmtest", "--to", "127.0.0.1", "--no-names")
	for _, service := range []string{"qr2", "serverbrowse", "legacylist", "gpcm", "gpsp", "peerchat", "natneg", "gstats", "webservices"} {
		if !strings.Contains(out, service+": ") {
			t.Errorf("%s was not tested", service)
		}
	}
	if strings.Contains(out, "FAILED") || strings.Contains(out, "failed") {
		t.Errorf("a step failed:\n%s", out)
	}
	wantIn(t, cli(t, env, "point", "test", "openarena", "--to", "127.0.0.1", "--no-names"), "q3master: ", "0 servers")
	console := cli(t, env, "point", "test", "mariokartwii", "--to", "127.0.0.1", "--no-names")
	wantIn(t, console, "nas: Nintendo's sign-in", "it answers over http")
	if list, err := netclient.Get(t.Context(), d.address["web"].String(), "/api/v1/servers"); err != nil || strings.Contains(string(list), "gmtest") {
		t.Errorf("the test left a server: %s, %v", list, err)
	}
	code, out, errOut := command(t, env, "point", "test", "gmtest", "--to", "127.0.0.1", "--json")
	if code != exitFailure {
		t.Errorf("names that lead nowhere: exit code %d\n%s", code, errOut)
	}
	wantIn(t, out, `{"step":"names","needed":true,"failed":"`, "respawnd point gmtest --to 127.0.0.1")

	d.stop()
	code, out, _ = command(t, env, "point", "test", "swat4", "--to", "127.0.0.1", "--no-names")
	if code != exitFailure {
		t.Errorf("a stopped daemon: exit code %d", code)
	}
	wantIn(t, out, "FAILED: nothing listens on TCP "+d.address["serverbrowse"].String(), "so the server browser of the game stays empty")
}
