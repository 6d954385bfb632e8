package peerchat

import (
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/ascii"
)

func TestValidNick(t *testing.T) {
	for nick, want := range map[string]bool{
		"a": true, "SdkNick": true, "`{|}~": true, "a@b#c+d:e": true, "\"$%&'()*,-./;<": true, "=>?[]^_": true, "**": true, "1": true,
		strings.Repeat("n", 20): true, strings.Repeat("n", 21): false,
		"": false, "*": false, "@a": false, "#a": false, "+a": false, ":a": false, "a b": false, `a\b`: false, "a!b": false,
		"a\x01": false, "a\x7f": false, "\xe4": false, "a\x00": false,
	} {
		if got := validNick(nick); got != want {
			t.Errorf("validNick(%q) = %v", nick, got)
		}
	}
}

func TestValidChannel(t *testing.T) {
	for name, want := range map[string]bool{
		"#a": true, "#GSP!gmtest!MqNKN001KM": true, "#GPG!12": true, "##": true, "#\xe4\u20ac": true, "#a\\b:c": true,
		"#" + strings.Repeat("c", 255): true, "#" + strings.Repeat("c", 256): false,
		"": false, "#": false, "a": false, "#a b": false, "#a,#b": false, "#a\x07": false, "#a\x7f": false, "&a": false,
	} {
		if got := validChannel(name); got != want {
			t.Errorf("validChannel(%q) = %v", name, got)
		}
	}
}

func TestKindOf(t *testing.T) {
	for name, want := range map[string]struct {
		kind channelKind
		fold string
	}{
		"#GSP!GmTest":              {channelKind{room: roomTitle, game: "gmtest"}, "#gsp!gmtest"},
		"#gsp!gmtest":              {channelKind{room: roomTitle, game: "gmtest"}, "#gsp!gmtest"},
		"#GPG!12":                  {channelKind{room: roomGroup, group: 12}, "#gpg!12"},
		"#gPg!4294967295":          {channelKind{room: roomGroup, group: 4294967295}, "#gpg!4294967295"},
		"#GSP!GmTest!MqNKN001KM":   {channelKind{room: roomStaging, game: "gmtest"}, "#gsp!gmtest!MqNKN001KM"},
		"#GSP!gmtestam!XsGpFFva1X": {channelKind{room: roomStaging, game: "gmtestam"}, "#gsp!gmtestam!XsGpFFva1X"},
		"#gsp!gmtest!A!B":          {channelKind{room: roomStaging, game: "gmtest"}, "#gsp!gmtest!A!B"},
		"#GSP!gmtest!":             {channelKind{}, "#gsp!gmtest!"},
		"#GSP!!Xa":                 {channelKind{}, "#gsp!!xa"},
		"#GSP!":                    {channelKind{}, "#gsp!"},
		"#GPG!":                    {channelKind{}, "#gpg!"},
		"#GPG!0":                   {channelKind{}, "#gpg!0"},
		"#GPG!012":                 {channelKind{}, "#gpg!012"},
		"#GPG!+1":                  {channelKind{}, "#gpg!+1"},
		"#GPG!4294967296":          {channelKind{}, "#gpg!4294967296"},
		"#GPG!12!X":                {channelKind{}, "#gpg!12!x"},
		"#Chat":                    {channelKind{}, "#chat"},
		"#a!B!C":                   {channelKind{}, "#a!b!c"},
		"#\xc4\xd6":                {channelKind{}, "#\xc4\xd6"},
		"":                         {channelKind{}, ""},
	} {
		if got := kindOf(name); got != want.kind {
			t.Errorf("kindOf(%q) = %+v, want %+v", name, got, want.kind)
		}
		if got := foldChannel(name); got != want.fold {
			t.Errorf("foldChannel(%q) = %q, want %q", name, got, want.fold)
		}
		if kindOf(want.fold) != want.kind || foldChannel(want.fold) != want.fold {
			t.Errorf("%q changes when it is folded twice", name)
		}
	}
	if foldNick("A[b]\xc4") != "a[b]\xc4" {
		t.Error("foldNick changes more than ASCII letters")
	}
}

// FuzzChannelName folds names: that changes neither what they are nor, twice, the
// name, and keeps names apart that differ in more than case.
func FuzzChannelName(f *testing.F) {
	f.Add("#GSP!GmTest!MqNKN001KM", "#gsp!gmtest!mqnkn001km")
	f.Add("#GPG!12", "#gpg!12")
	f.Fuzz(func(t *testing.T, a, b string) {
		fold := foldChannel(a)
		if foldChannel(fold) != fold || kindOf(fold) != kindOf(a) || validChannel(fold) != validChannel(a) {
			t.Errorf("%q and %q, folded, are different", a, fold)
		}
		same := foldChannel(b) == fold
		switch equal := ascii.EqualFold(a, b); {
		case same && !equal, equal && !same && kindOf(a).room != roomStaging:
			t.Errorf("%q and %q: the same %v", a, b, same)
		}
	})
}

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
	} {
		if got := matchMask(tc.mask, tc.s); got != tc.want {
			t.Errorf("matchMask(%q, %q) = %v", tc.mask, tc.s, got)
		}
	}
	if matchMask(strings.Repeat("a*", 2000)+"b", strings.Repeat("a", 4000)) { // ends at all only if it is not exponential
		t.Error("a text without b matches")
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
	} {
		if got, ok := cleanBanMask(s); got != want || ok != (want != "") {
			t.Errorf("cleanBanMask(%q) = %q, %v, want %q", s, got, ok, want)
		}
	}
}

// FuzzMask compares matchMask with a simple matcher, and normal forms with the
// normal forms of those.
func FuzzMask(f *testing.F) {
	f.Add("*!*@1.2.*", "Ann!u@1.2.3.4")
	f.Add("a?*b", "AxxB")
	f.Fuzz(func(t *testing.T, mask, s string) {
		if len(mask) <= 12 && len(s) <= 12 {
			if got, want := matchMask(mask, s), matchSlowly(mask, s); got != want {
				t.Errorf("matchMask(%q, %q) = %v, want %v", mask, s, got, want)
			}
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

// matchSlowly tries all lengths of each star.
func matchSlowly(mask, s string) bool {
	switch {
	case mask == "":
		return s == ""
	case mask[0] == '*':
		return matchSlowly(mask[1:], s) || s != "" && matchSlowly(mask, s[1:])
	case s == "" || mask[0] != '?' && foldNick(mask[:1]) != foldNick(s[:1]):
		return false
	}
	return matchSlowly(mask[1:], s[1:])
}

func BenchmarkMatchMask(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		matchMask("*!*@203.0.113.*", "ann!x1lsafvqsx|100001@203.0.113.77")
	}
}
