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
	secret := func(n int) bool {
		fits := true
		checkSecrets([]string{strings.Repeat("x", n)}, func(string, ...any) { fits = false })
		return fits
	}
	listed := func(n int) bool { _, ok := ListedName(strings.Repeat("x", n)); return ok }
	long := strings.Repeat("a.", maxDomainLen)
	for name, tt := range map[string]struct{ got, want bool }{
		"shortest secret":        {secret(MinSecretLen), true},
		"secret too short":       {secret(MinSecretLen - 1), false},
		"longest secret":         {secret(MaxSecretLen), true},
		"secret too long":        {secret(MaxSecretLen + 1), false},
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
