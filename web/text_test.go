package web

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/respawnd/respawnd/master"
)

func TestCleanText(t *testing.T) {
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
			if got := cleanText(tc.in); got != tc.want {
				t.Errorf("cleanText(%q): got %q, want %q", tc.in, got, tc.want)
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
			if got := shorten(tc.in, tc.n); got != tc.want {
				t.Errorf("shorten(%q, %d): got %q, want %q", tc.in, tc.n, got, tc.want)
			}
		})
	}
}

func FuzzCleanText(f *testing.F) {
	for _, s := range hostileTexts() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out := cleanText(in)
		if !utf8.ValidString(out) || strings.ContainsFunc(out, isHidden) {
			t.Errorf("cleanText(%q): got %q, which is not clean", in, out)
		}
		if again := cleanText(out); again != out {
			t.Errorf("cleanText(%q): got %q, and of that %q", in, out, again)
		}
		if n := utf8.RuneCountInString(displayText(in, 5)); n > 5 {
			t.Errorf("displayText(%q, 5): got %d characters", in, n)
		}
		quoted := string(appendString(nil, in))
		if got := decode[string](t, strings.NewReader(quoted)); got != out {
			t.Errorf("appendString(%q): got %s, which reads %q, want %q", in, quoted, got, out)
		}
	})
}

func FuzzParameters(f *testing.F) {
	for _, s := range []string{
		"", "game=gmtest", "q=x&limit=10&full=1", "cursor=" + place{"gmtest", 3, addr("192.0.2.1:1")}.cursor(), "a=1;b", "%", "limit=-1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		p, err := parseListParams(query)
		if err == nil && (p.limit < 1 || p.limit > MaxLimit || len(p.query) > 4*MaxQuery) {
			t.Errorf("parseListParams(%q): got %+v", query, p)
		}
		if err == nil && p.cursor {
			if again, ok := parseCursor(p.after.cursor()); !ok || again != p.after {
				t.Errorf("cursor of %+v: got %+v, %v", p.after, again, ok)
			}
		}
		if err != nil && strings.ContainsFunc(strings.ReplaceAll(err.Error(), "\n", ""), isHidden) {
			t.Errorf("parseListParams(%q): the error %q is not clean", query, err)
		}
		if page := parsePageParams(query); page.page < 1 || page.page > maxPage {
			t.Errorf("parsePageParams(%q): got %+v", query, page)
		}
	})
}

func FuzzServerID(f *testing.F) {
	for _, s := range []string{"qr2-192.0.2.1-6500", "zandronum-2001:db8::1-1", "static-fe80::1%eth-0-7", "x", "-", "qr2--"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		origin, public, ok := parseID(id)
		if !ok {
			return
		}
		o, p, ok := parseID(string(appendID(nil, &master.Server{Origin: origin, Public: public})))
		if !ok || o != origin || p != public {
			t.Errorf("parseID(%q): %v %v, but the id of that reads %v %v %v", id, origin, public, o, p, ok)
		}
	})
}
