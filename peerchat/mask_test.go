package peerchat

import (
	"strings"
	"testing"
)

func TestMatchMask(t *testing.T) {
	for _, tc := range []struct {
		mask, s string
		want    bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"**", "abc", true},
		{"?", "", false},
		{"?", "a", true},
		{"#G*", "#gsp!x", true},
		{"#G*", "#chat", false},
		{"*!*@1.2.3.4", "Ann!X|1@1.2.3.4", true},
		{"*!*@1.2.3.*", "Ann!X|1@1.2.30.4", false},
		{"a*b*c", "aXXbYYc", true},
		{"a*b*c", "aXXbYY", false},
		{"*a", "aaab", false},
		{"*ab", "aaab", true},
		{"a?c*", "abc", true},
		{"abc", "ABC", true},
		{"\xe4", "\xc4", false},
		{"ab*bc", "abc", false},
		{"ab*bc", "abbc", true},
		{"*abcde*", "xxABCDExx", true},
		{"*ab?de*f", "ababcdezf", true},
		{"*ab?de*f", "ababcdzf", false},
		{"*aab*aab*", "aaabaab", true},
		{"*aab*aab*", "aaabab", false},
		{"*" + strings.Repeat("?", maxMaskPart) + "*", strings.Repeat("a", maxMaskPart), true},
		{"*" + strings.Repeat("a", maxMaskPart) + "*", strings.Repeat("A", 100), true},
		{"*" + strings.Repeat("a", maxMaskPart+1) + "*", strings.Repeat("A", 100), false},
		{strings.Repeat("a", 100) + "*" + strings.Repeat("b", 100), strings.Repeat("a", 101) + strings.Repeat("b", 100), true},
	} {
		if got := matchMask(tc.mask, tc.s); got != tc.want {
			t.Errorf("matchMask(%q, %q) = %v", tc.mask, tc.s, got)
		}
	}
}

func TestCleanBanMask(t *testing.T) {
	for s, want := range map[string]string{
		"*!*@1.2.3.4":                     "*!*@1.2.3.4",
		"Ann":                             "ann!*@*",
		"Ann!User":                        "ann!user@*",
		"user@Host":                       "*!user@host",
		"@1.2.3.4":                        "*!*@1.2.3.4",
		"!":                               "*!*@*",
		"Ann!@":                           "ann!*@*",
		"a@b!u@h":                         "a@b!u@h",
		"***?*!**@x**":                    "*?*!*@x*",
		"a!b!c@d@e":                       "a!b!c@d@e",
		"\xe4":                            "\xe4!*@*",
		"":                                "",
		":a":                              "",
		"a b":                             "",
		"a,b":                             "",
		"a\x01":                           "",
		strings.Repeat("a", maxBanMask-4): strings.Repeat("a", maxBanMask-4) + "!*@*",
		strings.Repeat("a", maxBanMask-3): "",
		strings.Repeat("a", maxBanMask+1): "",
		"*" + strings.Repeat("a", maxMaskPart) + "*":   "*" + strings.Repeat("a", maxMaskPart) + "*!*@*",
		"*" + strings.Repeat("a", maxMaskPart+1) + "*": "",
		"*" + strings.Repeat("a", maxMaskPart) + "!@h": "",
	} {
		if got, ok := cleanBanMask(s); got != want || ok != (want != "") {
			t.Errorf("cleanBanMask(%q) = %q, %v, want %q", s, got, ok, want)
		}
	}
}

// FuzzMask compares matchMask with a simple one, and normal forms with the
// normal forms of those.
func FuzzMask(f *testing.F) {
	f.Add("*!*@1.2.*", "Ann!u@1.2.3.4")
	f.Add("a?*b", "AxxB")
	f.Fuzz(func(t *testing.T, mask, s string) {
		if searchable(mask) && len(mask)*len(s) < 1<<20 {
			if got, want := matchMask(mask, s), matchTable(mask, s); got != want {
				t.Errorf("matchMask(%q, %q) = %v, want %v", mask, s, got, want)
			}
		} else if !searchable(mask) && matchMask(mask, s) {
			t.Errorf("matchMask(%q, %q) with a part that is too long", mask, s)
		}
		clean, ok := cleanBanMask(mask)
		if !ok {
			return
		}
		if again, ok := cleanBanMask(clean); !ok || again != clean || len(clean) > maxBanMask {
			t.Errorf("cleanBanMask(%q) = %q, then %q, %v", mask, clean, again, ok)
		}
		if strings.Contains(mask, "!") && strings.Contains(mask[strings.Index(mask, "!"):], "@") &&
			!strings.HasPrefix(mask, "!") && !strings.Contains(mask, "!@") && !strings.HasSuffix(mask, "@") &&
			matchMask(mask, s) != matchMask(clean, s) {
			t.Errorf("%q and %q match %q differently", mask, clean, s)
		}
	})
}

// matchTable is matchMask with a table of all beginnings of both.
func matchTable(mask, s string) bool {
	match := make([]bool, len(s)+1) // of the mask so far with the first bytes of s
	match[0] = true
	for i := range len(mask) {
		if mask[i] == '*' {
			for j := range len(s) {
				match[j+1] = match[j+1] || match[j]
			}
			continue
		}
		for j := len(s); j > 0; j-- {
			match[j] = match[j-1] && (mask[i] == '?' || foldNick(mask[i:i+1]) == foldNick(s[j-1:j]))
		}
		match[0] = false
	}
	return match[len(s)]
}

func BenchmarkMatchMask(b *testing.B) {
	for name, tc := range map[string]struct{ mask, s string }{
		"host":    {"*!*@203.0.113.*", "ann!x1lsafvqsx|100001@203.0.113.77"},
		"word":    {"*lsafv*", "ann!x1lsafvqsx|100001@203.0.113.77"},
		"hostile": {"*" + strings.Repeat("a", 63) + "b*", strings.Repeat("a", 255)},
		"stars":   {strings.Repeat("a*", 60) + "b*", strings.Repeat("a", 255)},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				matchMask(tc.mask, tc.s)
			}
		})
	}
}
