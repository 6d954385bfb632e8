package colour

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
)

// marked writes parts as text with the class in braces before each coloured part.
func marked(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Ink != Text {
			fmt.Fprintf(&b, "{%s}", strings.TrimPrefix(p.Class(), "ink-"))
		} else if b.Len() > 0 {
			b.WriteString("{}")
		}
		b.WriteString(p.Text)
	}
	return b.String()
}

func TestParts(t *testing.T) {
	tests := map[string]struct {
		family Family
		in     string
		want   string
	}{
		"none":                     {None, "^1a\x1c[Red]b", "^1a[Red]b"},
		"empty":                    {Quake, "", ""},
		"only codes":               {Quake, "^1^2^7 ", ""},
		"quake":                    {Quake, "^1The ^7Inn^2!", "{red}The {}Inn{green}!"},
		"quake letters":            {Quake, "^bGreen", "{green}Green"}, // b is 2, as the engine counts
		"quake eight and nine":     {Quake, "^8a^9b^0c", "{orange}a{grey}b{}c"},
		"quake double":             {Quake, "a^^1b", "a^1b"},
		"quake at the end":         {Quake, "a^", "a^"},
		"quake no code":            {Quake, "^_^ ^ ^\x01", "^_^ ^ ^"},
		"quake same ink":           {Quake, "^1a^1b", "{red}ab"},
		"doom byte":                {Doom, "\x1cgRed\x1c-plain", "{red}Red{}plain"},
		"doom text":                {Doom, `\cgRed\cjWhite\cVcyan`, "{red}Red{}White{cyan}cyan"},
		"doom word":                {Doom, "\x1c[Dark Green]x\\c[LightBlue]y\\c[nosuch]z", "{green}x{blue}y{}z"},
		"doom no code":             {Doom, `C:\cxz \c`, `C:\cxz \c`},
		"doom bracket without end": {Doom, "\x1c[Red", "[Red"},
		"doom long bracket":        {Doom, `\c[` + strings.Repeat("x", maxWord) + "]y", `\c[` + strings.Repeat("x", maxWord) + "]y"},
		"unreal":                   {Unreal, "\x1b\xff\x01\x01Red\x1b\x01\x01\xffBlue\x1b\xff\xff\xffWhite", "{red}Red{blue}Blue{}White"},
		"unreal cut off":           {Unreal, "a\x1b\xff\x01", "a"},
		"unreal, Latin-1":          {Unreal, "M\xfc\x1b\xff\x01\x01nchen", "Mü{red}nchen"},
		"unreal, UTF-8":            {Unreal, "ü\x1b\xff\x01\x01ö", "ü{red}ö"},
		"unreal in a character":    {Unreal, "\xc3\x1b\xff\x01\x01\xbc", "ü"}, // no colours then
		"swat":                     {Swat, `[c=FF0000][b]My[\b] [c=00ff00]Inn[\c]!`, "{red}My {green}Inn{}!"},
		"swat no code":             {Swat, "[clan] [c=red] [c=zz0000]x[", "[clan] [c=red] [c=zz0000]x["},
		"hidden characters":        {Quake, "^1a\u202e^2\u200bb\x1b", "{red}a{green}b"},
		"markup stays":             {Quake, "^1<b>^2&amp;", "{red}<b>{green}&amp;"},
		"spaces around":            {Quake, " ^1 a ^2 ", "{red}a"},
		"too long":                 {Quake, "^1aaaa^2bbbbbbbbbbbb", "{red}aaaa{green}bbbbb…"},
		"too long, between":        {Quake, "^1aaaabbbbb^2ccc", "{red}aaaabbbbb…"},
	}
	for name, tc := range tests {
		n := 100
		if strings.HasPrefix(name, "too long") {
			n = 10
		}
		if got := marked(Parts(tc.family, tc.in, n)); got != tc.want {
			t.Errorf("%s: Parts(%v, %q, %d): got %q, want %q", name, tc.family, tc.in, n, got, tc.want)
		}
	}
}

func TestNearest(t *testing.T) {
	for in, want := range map[[3]byte]Ink{
		{255, 0, 0}: Red, {200, 60, 60}: Red, {255, 0, 80}: Red, {255, 128, 0}: Orange, {255, 255, 0}: Yellow, {0, 255, 0}: Green, {128, 255, 0}: Green,
		{0, 255, 255}: Cyan, {0, 0, 255}: Blue, {64, 128, 255}: Blue, {255, 0, 255}: Purple, {128, 0, 255}: Purple,
		{0, 0, 0}: Text, {1, 1, 1}: Text, {255, 255, 255}: Text, {230, 230, 220}: Text, {128, 128, 128}: Grey, {90, 100, 90}: Grey,
	} {
		if got := nearest(in[0], in[1], in[2]); got != want {
			t.Errorf("nearest(%v): got %s, want %s", in, got.Class(), want.Class())
		}
	}
}

func TestFamilies(t *testing.T) {
	if diff := cmp.Diff(games.Words("colours"), Words()); diff != "" {
		t.Errorf("families of the catalogue and of this package (-catalogue +package):\n%s", diff)
	}
	for _, word := range append(Words(), "") {
		if f, ok := ParseFamily(word); !ok || f.String() != word {
			t.Errorf("ParseFamily(%q) = %v, %v", word, f, ok)
		}
	}
	if _, ok := ParseFamily("Quake"); ok || len(Words()) != int(families)-1 {
		t.Errorf("families %q, and Quake is one: %t", Words(), ok)
	}
	seen := map[string]bool{}
	for i := range inks {
		seen[i.Class()] = true
	}
	if len(seen) != int(inks) {
		t.Errorf("%d inks have %d classes", inks, len(seen))
	}
}

func TestStripWithoutCodes(t *testing.T) {
	for _, f := range []Family{None, Quake, Doom, Unreal, Swat} {
		const name = "The Inn (no codes) #1"
		if n := testing.AllocsPerRun(100, func() { Strip(f, name) }); n != 0 || Strip(f, name) != name {
			t.Errorf("%v: %q with %v allocations", f, Strip(f, name), n)
		}
	}
}

func FuzzParts(f *testing.F) {
	for _, s := range []string{
		"", "^1a^^2b^", "\x1c[Red]x\\cgy\x1c", "\x1b\xff\x01\x01x\x1b\x01", "[c=ff0000]x[\\c]", "\xc3\x1b\xff\x01\x01\xbc", "M\xfc^1nch", " ^1\u202e ^2x…", "^1…^2 …  ",
	} {
		for family := range families {
			f.Add(uint8(family), s, 10)
		}
	}
	f.Fuzz(func(t *testing.T, family uint8, s string, n int) {
		fam, n := Family(family%uint8(families)), n&63+1
		stripped := Strip(fam, s)
		if len(stripped) > len(s) {
			t.Errorf("Strip(%v, %q) = %q, which is longer", fam, s, stripped)
		}
		if !has(fam, s) && stripped != s {
			t.Errorf("Strip(%v, %q) = %q", fam, s, stripped)
		}
		line := Line(fam, s, n)
		var whole strings.Builder
		for _, p := range Parts(fam, s, n) {
			whole.WriteString(p.Text)
			if p.Text == "" || p.Ink >= inks || !utf8.ValidString(p.Text) || strings.ContainsFunc(p.Text, clean.IsHidden) {
				t.Errorf("Parts(%v, %q, %d): part %+v", fam, s, n, p)
			}
		}
		if whole.String() != line {
			t.Errorf("Parts(%v, %q, %d): got %q, want %q", fam, s, n, whole.String(), line)
		}
	})
}

func BenchmarkParts(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Parts(Quake, "^1The ^2Inn ^7of ^3many ^4colours", 80)
	}
}
