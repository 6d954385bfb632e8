package games

import (
	"fmt"
	"strings"
	"testing"
)

// numbered returns n texts.
func numbered(n int, format string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return all
}

// flow returns a list in YAML.
func flow(items []string) string { return "[" + strings.Join(items, ", ") + "]" }

func TestLimitsOfRecords(t *testing.T) {
	long := strings.Repeat("n", MaxTableName)
	word := strings.Repeat("q", MaxQuake3Name)
	field := func(n int) string { return "tables: [{name: t, fields: " + flow(numbered(n, "f%d:int")) + "}]" }
	quick := func(nick, m string, n int) string {
		return "quickmatch: {room: r, profile: 1, nick: " + nick + ", maps: " + flow(numbered(n, m+"%d")) + "}"
	}
	protocols := func(n int) string { return "q3: [{name: q, protocols: " + flow(numbered(n, "%d")) + "}]" }
	for name, tc := range map[string]struct{ at, over string }{
		"tables":       {"tables: " + flow(numbered(MaxTables, "{name: t%d}")), "tables: " + flow(numbered(MaxTables+1, "{name: t%d}"))},
		"fields":       {field(MaxTableFields), field(MaxTableFields + 1)},
		"table name":   {"tables: [{name: " + long + "}]", "tables: [{name: " + long + "n}]"},
		"table limit":  {fmt.Sprintf("tables: [{name: t, limit: %d}]", MaxTableLimit), fmt.Sprintf("tables: [{name: t, limit: %d}]", MaxTableLimit+1)},
		"files":        {"files: " + flow(numbered(MaxFiles, "{path: /a%d}")), "files: " + flow(numbered(MaxFiles+1, "{path: /a%d}"))},
		"file path":    {"files: [{path: /" + strings.Repeat("p", MaxFilePath-1) + "}]", "files: [{path: /" + strings.Repeat("p", MaxFilePath) + "}]"},
		"wildcards":    {"files: [{path: /" + strings.Repeat("*a", maxWildcards) + "}]", "files: [{path: /" + strings.Repeat("*a", maxWildcards+1) + "}]"},
		"file text":    {"files: [{path: /, text: " + strings.Repeat("t", MaxFileText) + "}]", "files: [{path: /, text: " + strings.Repeat("t", MaxFileText+1) + "}]"},
		"bot nick":     {quick(strings.Repeat("n", MaxBotNick), "m", 1), quick(strings.Repeat("n", MaxBotNick+1), "m", 1)},
		"quick maps":   {quick("n", "m", MaxQuickMaps), quick("n", "m", MaxQuickMaps+1)},
		"quick map":    {quick("n", strings.Repeat("m", maxQuickMap-1), 1), quick("n", strings.Repeat("m", maxQuickMap), 1)},
		"q3 names":     {"q3: " + flow(numbered(MaxQuake3, "{name: q%d}")), "q3: " + flow(numbered(MaxQuake3+1, "{name: q%d}"))},
		"q3 name":      {"q3: [{name: " + word + "}]", "q3: [{name: " + word + "q}]"},
		"q3 protocols": {protocols(MaxQuake3Protocols), protocols(MaxQuake3Protocols + 1)},
	} {
		if _, err := ParseYAML(strings.NewReader("games: [{name: x, "+tc.at+"}]"), Source{}); err != nil {
			t.Errorf("%s at the limit: %v", name, err)
		}
		if _, err := ParseYAML(strings.NewReader("games: [{name: x, "+tc.over+"}]"), Source{}); err == nil {
			t.Errorf("%s: one too many is taken", name)
		}
	}
}
