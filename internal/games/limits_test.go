package games

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The limits that the tags of Game and its parts state.
const (
	maxID           = 1<<31 - 1
	maxRoomCapacity = 1_000_000
	maxRoomFields   = 32
	maxFieldKeyLen  = 64
	maxBoards       = 32
	maxBoardKeyLen  = 64
	maxTables       = 1000
	maxTableFields  = 200
	maxTableName    = 64
	maxTableLimit   = 10_000
	maxDomains      = 8
	maxHosts        = 16
	maxNamespace    = 65535
	maxLANPorts     = 8
	maxServices     = 16
	maxAliases      = 32
	maxKeys         = 64
	maxQuake3       = 8
	maxQuake3Name   = 63
	maxProtocols    = 32
	maxQuake3Ports  = 4
	maxFiles        = 16
	maxFilePath     = 128
	maxFileText     = 16 << 10
	maxQuickMaps    = 128
	maxQuickMap     = 64
	maxEpic         = 8
	maxEpicWord     = 32
	maxEpicVersion  = 1 << 20
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
	long := strings.Repeat("n", maxTableName)
	word := strings.Repeat("q", maxQuake3Name)
	field := func(n int) string { return "tables: [{name: t, fields: " + flow(numbered(n, "f%d:int")) + "}]" }
	quick := func(nick, m string, n int) string {
		return "quickmatch: {room: r, profile: 1, nick: " + nick + ", maps: " + flow(numbered(n, m+"%d")) + "}"
	}
	ports := func(n int) string { return "q3: [{name: q, ports: " + flow(numbered(n, "1%d")) + "}]" }
	epic := func(word string, most int) string {
		return fmt.Sprintf("epic: [{word: %s, versions: [1, %d]}]", word, most)
	}
	protocols := func(n int) string { return "q3: [{name: q, protocols: " + flow(numbered(n, "%d")) + "}]" }
	for name, tc := range map[string]struct{ at, over string }{
		"tables":       {"tables: " + flow(numbered(maxTables, "{name: t%d}")), "tables: " + flow(numbered(maxTables+1, "{name: t%d}"))},
		"fields":       {field(maxTableFields), field(maxTableFields + 1)},
		"table name":   {"tables: [{name: " + long + "}]", "tables: [{name: " + long + "n}]"},
		"table limit":  {fmt.Sprintf("tables: [{name: t, limit: %d}]", maxTableLimit), fmt.Sprintf("tables: [{name: t, limit: %d}]", maxTableLimit+1)},
		"files":        {"files: " + flow(numbered(maxFiles, "{path: /a%d}")), "files: " + flow(numbered(maxFiles+1, "{path: /a%d}"))},
		"file path":    {"files: [{path: /" + strings.Repeat("p", maxFilePath-1) + "}]", "files: [{path: /" + strings.Repeat("p", maxFilePath) + "}]"},
		"wildcards":    {"files: [{path: /" + strings.Repeat("*a", maxWildcards) + "}]", "files: [{path: /" + strings.Repeat("*a", maxWildcards+1) + "}]"},
		"file text":    {"files: [{path: /, text: " + strings.Repeat("t", maxFileText) + "}]", "files: [{path: /, text: " + strings.Repeat("t", maxFileText+1) + "}]"},
		"bot nick":     {quick(strings.Repeat("n", maxBotNick), "m", 1), quick(strings.Repeat("n", maxBotNick+1), "m", 1)},
		"quick maps":   {quick("n", "m", maxQuickMaps), quick("n", "m", maxQuickMaps+1)},
		"quick map":    {quick("n", strings.Repeat("m", maxQuickMap-1), 1), quick("n", strings.Repeat("m", maxQuickMap), 1)},
		"q3 names":     {"q3: " + flow(numbered(maxQuake3, "{name: q%d}")), "q3: " + flow(numbered(maxQuake3+1, "{name: q%d}"))},
		"q3 name":      {"q3: [{name: " + word + "}]", "q3: [{name: " + word + "q}]"},
		"q3 protocols": {protocols(maxProtocols), protocols(maxProtocols + 1)},
		"q3 ports":     {ports(maxQuake3Ports), ports(maxQuake3Ports + 1)},
		"epic":         {"epic: " + flow(numbered(maxEpic, "{versions: [1, 1%d]}")), "epic: " + flow(numbered(maxEpic+1, "{versions: [1, 1%d]}"))},
		"epic word":    {epic(strings.Repeat("E", maxEpicWord), 1), epic(strings.Repeat("E", maxEpicWord+1), 1)},
		"epic version": {epic("E", maxEpicVersion), epic("E", maxEpicVersion+1)},
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
		var p problems
		(&Game{Name: "gmtest", Facts: f}).check(&p)
		for _, problem := range p.list {
			list = append(list, problem.Reason)
		}
		return list
	}
	domain := func(i int) string { return fmt.Sprintf("a%d.example.org", i) }
	for name, tt := range map[string]struct {
		most  int
		facts func(n int) Facts
	}{
		"domains":   {maxDomains, func(n int) Facts { return Facts{Domains: many(n, domain)} }},
		"hosts":     {maxHosts, func(n int) Facts { return Facts{Hosts: many(n, func(i int) Host { return Host{Name: domain(i)} })} }},
		"lan_ports": {maxLANPorts, func(n int) Facts { return Facts{LANPorts: many(n, func(i int) uint16 { return uint16(i + 1) })} }},
		"services":  {maxServices, func(n int) Facts { return Facts{Needs: slices.Repeat([]Service{"qr2"}, n)} }},
		"aliases": {maxAliases, func(n int) Facts {
			return Facts{Aliases: many(n, func(i int) string { return fmt.Sprint("alias", i) })}
		}},
		"keys": {maxKeys, func(n int) Facts {
			return Facts{Keys: many(n, func(i int) Key { return Key{Name: fmt.Sprint("key", i)} })}
		}},
		"namespace": {maxNamespace, func(n int) Facts { return Facts{Namespace: n} }},
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
