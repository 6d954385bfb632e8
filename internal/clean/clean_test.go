package clean

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain": "plain", "caf\u00e9\x1b": "caf\u00e9\x1b", "M\xfcnchen\x9b": "M\u00fcnchen\u009b", "\xc3\xbc\xff": "\u00c3\u00bc\u00ff", "\ufffd": "\ufffd",
	} {
		if got := UTF8(in); got != want {
			t.Errorf("UTF8(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestText(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"plain":              {"My Server #1 ~", "My Server #1 ~"},
		"empty":              {"", ""},
		"UTF-8":              {"caf\u00e9 \U0001F3AE 日本 العربية", "caf\u00e9 \U0001F3AE 日本 العربية"},
		"Latin-1":            {"M\xfcnchen \xa9", "München ©"},
		"Latin-1 controls":   {"a\x80\x9b\xffb", "aÿb"},
		"mixed is Latin-1":   {"\xc3\xbc\xff", "Ã¼ÿ"},
		"half a character":   {"ab\xc3", "abÃ"},
		"surrogate":          {"\xed\xa0\x80", "í\u00a0"},
		"controls":           {"a\x00b\r\nc\td\x7f", "abcd"},
		"terminal":           {"\x1b[31mred\x1b[0m", "[31mred[0m"},
		"C1 terminal":        {"\u009b31mred", "31mred"},
		"direction":          {"\u202e\u2066\u200e\u200f\u061cabc\u2069\u202c", "abc"},
		"zero width":         {"a\u200b\u200c\u200d\u2060\ufeffb", "ab"},
		"soft hyphen":        {"a\u00adb", "ab"},
		"tags":               {"a\U000E0041\U000E007Fb", "ab"},
		"separators":         {"a\u2028b\u2029c", "abc"},
		"blank fillers":      {"\u3164\u115f\u2800\uffa0", ""},
		"markup is not ours": {"<b>&amp;", "<b>&amp;"},
		"replacement":        {"a\ufffdb", "a\ufffdb"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Text(tc.in); got != tc.want {
				t.Errorf("Text(%q): got %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}

func TestShorten(t *testing.T) {
	tests := map[string]struct {
		in   string
		n    int
		want string
	}{
		"fits":               {"abcd", 4, "abcd"},
		"one too many":       {"abcde", 4, "abc…"},
		"counts characters":  {"äöüß", 4, "äöüß"},
		"cuts at characters": {"äöüßé", 4, "äöü…"},
		"one":                {"abc", 1, "…"},
		"empty":              {"", 4, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Shorten(tc.in, tc.n); got != tc.want {
				t.Errorf("Shorten(%q, %d): got %q, want %q", tc.in, tc.n, got, tc.want)
			}
		})
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{
		"", "plain", "\x1b[31mred", "\u202eevil\u202c", "zero\u200bwidth", "\xff\xfe", "M\xfcnchen", "\xed\xa0\x80", "\U000E0041tag", "\u3164",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out := Text(in)
		if !utf8.ValidString(out) || strings.ContainsFunc(out, IsHidden) {
			t.Errorf("Text(%q): got %q, which is not clean", in, out)
		}
		if again := Text(out); again != out {
			t.Errorf("Text(%q): got %q, and of that %q", in, out, again)
		}
		if n := utf8.RuneCountInString(Line(in, 5)); n > 5 {
			t.Errorf("Line(%q, 5): got %d characters", in, n)
		}
	})
}
