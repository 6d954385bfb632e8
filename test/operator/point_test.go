package operator

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/test/rig"
)

// hostsOf returns the arguments of a command on a hosts file of a test.
func hostsOf(path string, args ...string) []string {
	return append(append([]string{"point"}, args...), "--file", path)
}

func TestPoint(t *testing.T) {
	t.Parallel()
	const before = "127.0.0.1 localhost\n"
	path := rig.WriteFile(t, "hosts", before)
	content := func() string {
		b, err := os.ReadFile(path)
		rig.Must(t, err)
		return string(b)
	}

	rig.WantIn(t, rig.Cli(t, nil, hostsOf(path, "gmtest", "--to", "192.0.2.1", "--dry-run")...), "192.0.2.1 gmtest.master.gamespy.com")
	if got := content(); got != before {
		t.Errorf("--dry-run wrote %q", got)
	}
	code, out, errOut := rig.Command(t, nil, hostsOf(path, "gmtest", "--to", "192.0.2.1")...)
	if code != commands.ExitFailure || content() != before {
		t.Errorf("without an answer: exit code %d, wrote %q", code, content())
	}
	rig.WantIn(t, out, "192.0.2.1 gmtest.master.gamespy.com")
	rig.WantIn(t, errOut, "into "+path+"? [y/N]", "nothing was changed")

	rig.WantIn(t, rig.Cli(t, nil, hostsOf(path, "GMTest", "--to", "192.0.2.1", "--yes")...), "gmtest leads to 192.0.2.1", "point --undo gmtest", "hosts.before-respawnd")
	rig.WantIn(t, content(), before, "192.0.2.1 gmtest.master.gamespy.com # respawnd gmtest;\n")
	rig.WantIn(t, rig.Cli(t, nil, hostsOf(path, "gmtest", "--to", "192.0.2.1", "--yes")...), "already")
	rig.WantIn(t, rig.Cli(t, nil, hostsOf(path, "--status")...), "gmtest", "192.0.2.1", "not tested")
	rig.WantIn(t, rig.Cli(t, nil, hostsOf(path, "--status", "--json")...), `"game":"gmtest","address":"192.0.2.1"`, `"tested":false`)
	rig.Refused(t, commands.ExitFailure, nil, hostsOf(path, "swat4", "--to", "192.0.2.2", "--yes", "--dry-run"), "for the game gmtest: undo that game first")

	rig.WantIn(t, rig.Cli(t, nil, hostsOf(path, "--undo", "gmtest", "--dry-run")...), "192.0.2.1 gmtest.master.gamespy.com")
	rig.WantIn(t, rig.Cli(t, nil, hostsOf(path, "--undo", "gmtest")...), "removed the lines of gmtest")
	if got := content(); got != before {
		t.Errorf("undone: %q, want %q", got, before)
	}
	rig.WantIn(t, rig.Cli(t, nil, hostsOf(path, "--undo")...), "no lines of all games")
	rig.WantIn(t, rig.Cli(t, nil, hostsOf(path, "--status")...), "no game leads")
}

// TestPointManyGames directs several games in one step, moves them, and takes one back.
func TestPointManyGames(t *testing.T) {
	t.Parallel()
	path := rig.WriteFile(t, "hosts", "127.0.0.1 localhost\n")
	content := func() string {
		b, err := os.ReadFile(path)
		rig.Must(t, err)
		return string(b)
	}
	rig.Refused(t, commands.ExitFailure, nil, hostsOf(path, "gmtes", "gmtest", "halfway", "--to", "192.0.2.1", "--yes"), "did you mean gmtest", "halfway")
	rig.WantIn(t, rig.Cli(t, nil, hostsOf(path, "gmtest", "swat4", "--to", "192.0.2.1", "--yes")...), "2 games lead to 192.0.2.1", "point --undo\n")
	rig.WantIn(t, content(), "192.0.2.1 gmtest.master.gamespy.com # respawnd gmtest;", "192.0.2.1 swat4.master.gamespy.com # respawnd swat4;")
	rig.WantIn(t, rig.Cli(t, nil, hostsOf(path, "--move", "192.0.2.9", "--dry-run")...), "192.0.2.9 swat4.master.gamespy.com (swat4, was 192.0.2.1)")
	rig.WantIn(t, rig.Cli(t, nil, hostsOf(path, "--move", "192.0.2.9", "--yes")...), "all games lead to 192.0.2.9")
	if got := content(); strings.Contains(got, "192.0.2.1") || !strings.HasPrefix(got, "127.0.0.1 localhost\n") {
		t.Errorf("moved: %q", got)
	}
	rig.WantIn(t, rig.Cli(t, nil, hostsOf(path, "--move", "192.0.2.9")...), "no lines of games that lead elsewhere")
	rig.Cli(t, nil, hostsOf(path, "--undo", "swat4", "other")...)
	if got := content(); strings.Contains(got, "swat4") || !strings.Contains(got, "gmtest") {
		t.Errorf("swat4 undone: %q", got)
	}
	rig.Cli(t, nil, hostsOf(path, "--undo")...)
	out := rig.Cli(t, nil, hostsOf(path, "--all", "--to", "192.0.2.1", "--yes")...)
	rig.WantIn(t, out, "swat4: ", "games lead to 192.0.2.1")
	if n := strings.Count(out, "\n"); n < 10 {
		t.Errorf("--all directs %d games", n)
	}
	rig.WantIn(t, rig.Cli(t, nil, "hosts", "--game", "gmtest,swat4", "--ip", "192.0.2.1"), "# gmtest under", "# swat4 under")
}

func TestPointRefuses(t *testing.T) {
	t.Parallel()
	path := rig.WriteFile(t, "hosts", "")
	for _, args := range [][]string{
		{},
		{"gmtest"},
		{"--to", "192.0.2.1"},
		{"gmtest", "--to", "192.0.2.1", "--undo"},
		{"--undo", "--status"},
		{"gmtest", "--status"},
		{"gmtest", "--all", "--to", "192.0.2.1"},
		{"--all"},
		{"gmtest", "--move", "192.0.2.1"},
		{"--move", "192.0.2.1", "--to", "192.0.2.1"},
		{"gmtest", "swat4", "--to", "192.0.2.1", "--kit", "kit.zip"},
	} {
		rig.Refused(t, commands.ExitUsage, nil, hostsOf(path, args...))
	}
	for to, want := range map[string]string{"::1": "IPv4", "0.0.0.0": "IPv4", "224.0.0.1": "IPv4"} {
		rig.Refused(t, commands.ExitFailure, nil, hostsOf(path, "gmtest", "--to", to, "--yes"), "--to: ", want)
	}
	rig.Refused(t, commands.ExitFailure, nil, hostsOf(path, "gmtes", "--to", "192.0.2.1"), "did you mean gmtest")
	none := filepath.Join(t.TempDir(), "none")
	rig.Refused(t, commands.ExitFailure, nil, hostsOf(none, "--status"), none)
	rig.Refused(t, commands.ExitFailure, nil, hostsOf(rig.WriteFile(t, "utf16", "\xff\xfe1\x00"), "--undo"), "UTF-16")
	rig.Refused(t, commands.ExitUsage, nil, []string{"point", "test", "gmtest"}, "--to is needed")
}

// TestPointKit writes an archive for players, and changes nothing.
func TestPointKit(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kit.zip")
	out := rig.Cli(t, rig.TestEnv(t.TempDir()), "point", "swat4", "--to", "192.0.2.1", "--kit", file)
	rig.WantIn(t, out, "swat4 to 192.0.2.1. SHA-256: ")
	r, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if len(r.File) != 4 || r.File[0].Name != "swat4/README.txt" {
		t.Errorf("the archive has %d files: %+v", len(r.File), r.File[0].Name)
	}
	rig.Refused(t, commands.ExitUsage, nil, []string{"point", "swat4", "--kit", file})
}

// TestPointTest plays the first steps of a game against the daemon, and against a
// machine where nothing listens.
func TestPointTest(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	env := rig.TestEnv(t.TempDir())
	for service, at := range d.Address {
		env = append(env, configs.EnvPrefix+strings.ToUpper(service)+"_LISTEN="+at.String())
	}
	out := rig.Cli(t, env, "point", "test", "gmtest", "--to", "127.0.0.1", "--no-names")
	for _, service := range []string{"qr2", "serverbrowse", "legacylist", "gpcm", "gpsp", "peerchat", "natneg", "gstats", "webservices"} {
		if !strings.Contains(out, service+": ") {
			t.Errorf("%s was not tested", service)
		}
	}
	if strings.Contains(out, "FAILED") || strings.Contains(out, "failed") {
		t.Errorf("a step failed:\n%s", out)
	}
	rig.WantIn(t, rig.Cli(t, env, "point", "test", "openarena", "--to", "127.0.0.1", "--no-names"), "q3master: ", "0 servers")
	code, console, _ := rig.Command(t, env, "point", "test", "mariokartwii", "--to", "127.0.0.1", "--no-names")
	if code != commands.ExitFailure {
		t.Errorf("a test of a game that needs a patched copy: exit code %d, want %d", code, commands.ExitFailure)
	}
	rig.WantIn(t, console, "needs a patched game: https to http, certificate", "nas: Nintendo's sign-in", "it answers over http")
	if list, err := netclient.Get(t.Context(), d.Address["web"].String(), "/api/v1/servers"); err != nil || strings.Contains(string(list), "gmtest") {
		t.Errorf("the test left a server: %s, %v", list, err)
	}
	code, out, errOut := rig.Command(t, env, "point", "test", "gmtest", "--to", "127.0.0.1", "--json")
	if code != commands.ExitFailure {
		t.Errorf("names that lead nowhere: exit code %d\n%s", code, errOut)
	}
	rig.WantIn(t, out, `{"step":"names","needed":true,"failed":"`, "respawnd point gmtest --to 127.0.0.1")

	d.Stop()
	code, out, _ = rig.Command(t, env, "point", "test", "swat4", "--to", "127.0.0.1", "--no-names")
	if code != commands.ExitFailure {
		t.Errorf("a stopped daemon: exit code %d", code)
	}
	rig.WantIn(t, out, "FAILED: nothing listens on TCP "+d.Address["serverbrowse"].String(), "so the server browser of the game stays empty")
}
