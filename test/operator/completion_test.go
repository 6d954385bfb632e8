package operator

import (
	"os"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/test/rig"
)

// Shells ask the program itself for completions.
func TestCompletions(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"ban ":                     {"add\tBan an address", "list\tShow all bans"},
		"ban add 192.0.2.1 --sco":  {"--scope"},
		"ban add --scope ":         {"zandronum", ":4"},
		"ban list ":                {":4"}, // and no files
		"hosts --game gmtes":       {"gmtest\t", ":36"},
		"check --config ":          {"yaml", ":8"},
		"check --data-dir ":        {":16"},
		"restore ":                 {":0"},
		"server list --j":          {"--json\tprint JSON, one object per line"},
		"serve --log-format ":      {"json", ":4"},
		"account --game gmtes":     {"gmtest\t"},
		"account ban x --reason ":  {":4"},
		"account list --game gmte": {"gmtest\t"},
		"point gmtes":              {"gmtest\t", ":36"},
		"game show gmtes":          {"gmtest\t", ":36"},
		"stats show 7 gmtes":       {"gmtest\t", ":36"},
		"webhook test ":            {":4"},
		"query ":                   {"gs1", "a2s", ":4"},
	} {
		args := strings.Split(line, " ")
		out, ok := complete(t, args...)
		for _, w := range want {
			ok = ok && strings.Contains("\n"+out, "\n"+w)
		}
		if !ok {
			t.Errorf("%q is completed to:\n%s\nwant %q", line, out, want)
		}
	}
}

// complete returns the program's answer to a shell.
func complete(t *testing.T, args ...string) (string, bool) {
	t.Helper()
	code, out, _ := rig.Command(t, nil, append([]string{"__complete"}, args...)...)
	return out, code == 0
}

// Bans are completed where they are lifted, and completing makes no store.
func TestBansAreCompleted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := rig.TestEnv(dir)
	completed := func() string {
		_, out, _ := rig.Command(t, env, "__complete", "ban", "remove", "")
		return out
	}
	if out := completed(); out != ":4\n" {
		t.Errorf("without a store is completed: %q", out)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("completing has made %v, %v", list, err)
	}
	rig.Cli(t, env, "ban", "add", "192.0.2.7", "--reason", "cheating")
	if out := completed(); out != "192.0.2.7/32\tcheating\n:4\n" {
		t.Errorf("with one ban is completed: %q", out)
	}
}

// Without a daemon the self-test says so at once.
func TestSelftestWithoutDaemon(t *testing.T) {
	t.Parallel()
	const at = "127.0.0.1:1"
	code, out, errOut := rig.Command(t, rig.TestEnv(t.TempDir(), rig.Variable("admin.listen", at)), "selftest")
	if want := "respawnd: no daemon answers at " + at + ": start one with respawnd serve\n"; code != commands.ExitFailure || out != "" || errOut != want {
		t.Errorf("exit code %d, printed %q and %q, want %q", code, out, errOut, want)
	}
}
