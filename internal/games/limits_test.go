package games

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// many returns n values that differ.
func many[T any](n int, value func(i int) T) (list []T) {
	for i := range n {
		list = append(list, value(i))
	}
	return list
}

// numbered returns n texts.
func numbered(n int, format string) []string {
	return many(n, func(i int) string { return fmt.Sprintf(format, i) })
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

func TestFactsBounds(t *testing.T) {
	problems := func(f Facts) (list []string) {
		f.check("gmtest", func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) })
		return list
	}
	domain := func(i int) string { return fmt.Sprintf("a%d.example.org", i) }
	for name, tt := range map[string]struct {
		most  int
		facts func(n int) Facts
	}{
		"domains":   {MaxDomains, func(n int) Facts { return Facts{Domains: many(n, domain)} }},
		"hosts":     {MaxHosts, func(n int) Facts { return Facts{Hosts: many(n, func(i int) Host { return Host{Name: domain(i)} })} }},
		"lan_ports": {MaxLANPorts, func(n int) Facts { return Facts{LANPorts: many(n, func(i int) uint16 { return uint16(i + 1) })} }},
		"services":  {MaxServices, func(n int) Facts { return Facts{Needs: slices.Repeat([]Service{"qr2"}, n)} }},
		"aliases": {MaxAliases, func(n int) Facts {
			return Facts{Aliases: many(n, func(i int) string { return fmt.Sprint("alias", i) })}
		}},
		"keys": {MaxKeys, func(n int) Facts {
			return Facts{Keys: many(n, func(i int) Key { return Key{Name: fmt.Sprint("key", i)} })}
		}},
		"namespace": {MaxNamespace, func(n int) Facts { return Facts{Namespace: n} }},
	} {
		over := func(n int) bool {
			return slices.ContainsFunc(problems(tt.facts(n)), func(p string) bool {
				return strings.Contains(p, "at most") || strings.Contains(p, "namespace")
			})
		}
		if over(tt.most) || !over(tt.most+1) {
			t.Errorf("%s: %d are too many: %v; %d: %v", name, tt.most, over(tt.most), tt.most+1, over(tt.most+1))
		}
	}
}

func TestTextBounds(t *testing.T) {
	listed := func(n int) bool { _, ok := ListedName(strings.Repeat("x", n)); return ok }
	long := strings.Repeat("a.", maxDomainLen)
	for name, tt := range map[string]struct{ got, want bool }{
		"longest listed name":    {listed(maxListedName), true},
		"listed name too long":   {listed(maxListedName + 1), false},
		"longest domain":         {validDomain("ab" + long[1:maxDomainLen-1]), true},
		"domain one byte longer": {validDomain("abc" + long[1:maxDomainLen-1]), false},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %v, want %v", name, tt.got, tt.want)
		}
	}
}
