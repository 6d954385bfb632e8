package operator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/test/rig"
)

func TestCheckSaysSomethingAlsoWhenAllIsWell(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if out := rig.Cli(t, nil, "check", "--data-dir", dir); strings.Count(out, "\n") != 1 || !strings.Contains(out, "fine") {
		t.Errorf("check printed %q, want one line", out)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("check made the data folder")
	}
	sample := filepath.Join("..", "..", "configs", "lan.yaml")
	rig.Cli(t, nil, "check", "--config", sample)
}

func TestCheckCountsTheServicesOfThisVersion(t *testing.T) {
	t.Parallel()
	check := func(env ...string) (out, errOut string) {
		t.Helper()
		code, out, errOut := rig.Command(t, append(env, rig.Variable("data_dir", filepath.Join(t.TempDir(), "data"))), "check")
		if code != 0 {
			t.Errorf("check with %q: exit code %d\n%s", env, code, errOut)
		}
		return strings.SplitN(out, ",", 2)[0], errOut
	}
	want, _ := check()
	if got, errOut := check(rig.Variable("natneg.listen", "127.0.0.1:27901"), rig.Variable("natneg.extra_listen", "127.0.0.2:27901")); got != want || errOut != "" {
		t.Errorf("check with a further address of a service: %q and %q, want %q alone", got, errOut, want)
	}
}

func TestCheckLooksIntoTheFilesToo(t *testing.T) {
	t.Parallel()
	games := rig.WriteFile(t, "games.yaml", "games:\n  - name: ok\n  - name: 'not ok'\n")
	file := rig.WriteFile(t, "own.yaml", fmt.Sprintf("games:\n  file: '%s'\ngeoip:\n  file: '%s.mmdb'\n", games, games))
	rig.Refused(t, commands.ExitFailure, nil, []string{"check", "--config", file}, "games.file", "not ok", "geoip.file")
	wrong := rig.WriteFile(t, "wrong.yaml", "web:\n  lisen: ''\n")
	rig.Refused(t, commands.ExitFailure, nil, []string{"check", "--config", wrong}, "web.lisen", "web.listen")
}

func TestCheckReportsAllMistakes(t *testing.T) {
	t.Parallel()
	token, data := rig.WriteFile(t, "token", "short\n"), rig.WriteFile(t, "data", "a file")
	file := rig.WriteFile(t, "own.yaml", fmt.Sprintf("admin: {token_file: '%s'}\ndata_dir: '%s'\nzanmaster: {ban_files: '%s'}\n"+
		"dns: {enabled: true, listen: '127.0.0.1:5353', upstreams: ['127.0.0.1:5353']}\n"+
		"webhooks: [{name: a, format: discord, url_file: '%s.none'}, {name: b, format: discord, url_file: '%s.none'}]\n", token, data, data, data, data))
	rig.Refused(t, commands.ExitFailure, nil, []string{"check", "--config", file},
		"admin.token_file: ", "data_dir: ", "zanmaster.ban_files: ", "dns.upstreams: ", "webhooks: a: ", "webhooks: b: ")
}

func TestHostsRefusesAnUnknownGame(t *testing.T) {
	t.Parallel()
	hosts := func(game string) []string { return []string{"hosts", "--game", game, "--ip", "192.0.2.1"} }
	rig.Refused(t, commands.ExitFailure, nil, hosts("swat44"), "--game: swat44: not in the catalogue", "game list", "did you mean swat4")
	rig.Refused(t, commands.ExitFailure, nil, hosts("test / DEMO"), "did you mean gmtest (Test")
	rig.Refused(t, commands.ExitFailure, nil, hosts("zz\x1b[2J"), "zz?[2J: not in the catalogue")
	env := rig.TestEnv(t.TempDir())
	rig.Cli(t, env, "game", "add", "owngame", "--title", "Own")
	rig.Refused(t, commands.ExitFailure, env, hosts("owngam"), "did you mean owngame")
	rig.WantIn(t, rig.Cli(t, env, hosts("OwnGame")...), "192.0.2.1 owngame.master.gamespy.com")
	rig.Refused(t, commands.ExitFailure, env, []string{"game", "show", "owngam"}, "did you mean owngame")
}

// TestGamesAreFoundByWhatPlayersCallThem checks that commands say which game they took.
func TestGamesAreFoundByWhatPlayersCallThem(t *testing.T) {
	t.Parallel()
	env := rig.TestEnv(t.TempDir())
	code, out, errOut := rig.Command(t, env, "hosts", "--game", "Civ IV", "--ip", "192.0.2.1")
	if code != 0 || !strings.Contains(errOut, "Civilization IV (civ4)") {
		t.Errorf("hosts: exit code %d, %s", code, errOut)
	}
	rig.WantIn(t, out, "192.0.2.1 civ4.master.gamespy.com")
	out = rig.Cli(t, env, "game", "search", "halo")
	if first, _, _ := strings.Cut(out[strings.Index(out, "\n")+1:], " "); first != "halor" {
		t.Errorf("game search: %q is first:\n%s", first, out)
	}
	_, out, _ = rig.Command(t, env, "game", "show", "civ iv")
	rig.WantIn(t, out, "name: civ4, ")
}

func TestConfigPrintsTheDefaults(t *testing.T) {
	t.Parallel()
	if rig.Cli(t, nil, "config") != string(configs.Default()) {
		t.Error("config does not print the defaults")
	}
}

func TestVersionNamesTheRelease(t *testing.T) {
	t.Parallel()
	out := rig.Cli(t, nil, "version")
	for _, part := range []string{"respawnd " + cli.New(nil, nil, nil, nil).Version(), runtime.Version(), runtime.GOOS} {
		if !strings.Contains(out, part) {
			t.Errorf("version printed %q, want %q in it", out, part)
		}
	}
}

func TestHostsGoldenFiles(t *testing.T) {
	t.Parallel()
	for _, game := range []string{"gmtest", "swat4"} {
		out := rig.Cli(t, nil, "hosts", "--game", game, "--ip", "192.0.2.10")
		golden := filepath.Join("testdata", "hosts-"+game+".txt")
		if want := rig.ReadFile(t, golden); out != want {
			t.Errorf("hosts --game %s differs from %s:\n%s", game, golden, out)
		}
	}
}

func TestHostsRefusals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		code int
		args []string
	}{
		"not an address": {commands.ExitUsage, []string{"--game", "swat4", "--ip", "here"}},
		"IPv6":           {commands.ExitFailure, []string{"--game", "swat4", "--ip", "2001:db8::1"}},
		"everybody":      {commands.ExitFailure, []string{"--game", "swat4", "--ip", "0.0.0.0"}},
		"not a name":     {commands.ExitFailure, []string{"--game", "no game", "--ip", "192.0.2.1"}},
	} {
		if code, out, _ := rig.Command(t, nil, append([]string{"hosts"}, tc.args...)...); code != tc.code || out != "" {
			t.Errorf("%s: exit code %d, want %d; printed %q", name, code, tc.code, out)
		}
	}
}

func TestHostsUsesTheConfiguredDomains(t *testing.T) {
	t.Parallel()
	out := rig.Cli(t, []string{rig.Variable("games.domains", "example.org,gamespy.com")}, "hosts", "--game", "SWAT4", "--ip", "192.0.2.1")
	for _, name := range []string{"swat4.master.example.org", "swat4.master.gamespy.com"} {
		if !strings.Contains(out, name+"\n") {
			t.Errorf("hosts lacks %s:\n%s", name, out)
		}
	}
}

func TestMistakesKeepTheirText(t *testing.T) {
	t.Parallel()
	a, b, c := errors.New("a"), errors.New("b"), errors.New("c")
	for name, tc := range map[string]struct {
		err  error
		want []string
	}{
		"one":              {a, []string{"a"}},
		"joined":           {errors.Join(a, b), []string{"a", "b"}},
		"joined twice":     {errors.Join(a, errors.Join(b, c)), []string{"a", "b", "c"}},
		"with a prefix":    {fmt.Errorf("key: %w", errors.Join(a, b)), []string{"key: a\nb"}},
		"prefix in a join": {errors.Join(c, fmt.Errorf("key: %w", errors.Join(a, b))), []string{"c", "key: a\nb"}},
		"two in one":       {fmt.Errorf("%w: %w", a, b), []string{"a: b"}},
		"deep":             {fmt.Errorf("key: %w", fmt.Errorf("%w: %w", a, b)), []string{"key: a: b"}},
	} {
		var got []string
		for _, e := range daemon.Mistakes(tc.err) {
			got = append(got, e.Error())
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: daemon.Mistakes(%q) = %q, want %q", name, tc.err, got, tc.want)
		}
	}
}
