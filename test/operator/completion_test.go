package operator

import (
	"strings"
	"testing"

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
		"hosts --game gmtes":       {"gmtest\t", ":4"},
		"check --config ":          {"yaml", ":8"},
		"check --data-dir ":        {":16"},
		"restore ":                 {":0"},
		"server list --j":          {"--json\tprint JSON, one object per line"},
		"serve --log-format ":      {"json", ":4"},
		"account --game gmtes":     {"gmtest\t"},
		"account ban x --reason ":  {":4"},
		"account list --game gmte": {"gmtest\t"},
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
