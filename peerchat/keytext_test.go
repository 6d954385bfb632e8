package peerchat

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParsePairs(t *testing.T) {
	for text, want := range map[string][]keyPair{
		`\gkey1\one\gkey2\two words`:            {{"gkey1", "one"}, {"gkey2", "two words"}},
		`\b_flags\`:                             {{"b_flags", ""}},
		`\b_flags`:                              {{"b_flags", ""}},
		`\a\1\b`:                                {{"a", "1"}, {"b", ""}},
		`\a\\b\2`:                               {{"a", ""}, {"b", "2"}},
		`\\1\b\2`:                               {{"b", "2"}},
		`\a\1\\`:                                {{"a", "1"}},
		`\a\1\a\2`:                              {{"a", "1"}, {"a", "2"}},
		"\\\xe4\\\u20ac":                        {{"\xe4", "\u20ac"}},
		"":                                      nil,
		`\`:                                     nil,
		`\\\\`:                                  nil,
		"a":                                     nil,
		`a\1`:                                   nil,
		strings.Repeat(`\k\v`, maxPairs):        slices.Repeat([]keyPair{{"k", "v"}}, maxPairs),
		strings.Repeat(`\k\v`, maxPairs) + `\k`: nil,
		strings.Repeat(`\k\v`, 10000):           nil,
	} {
		if got, ok := parsePairs(text); !slices.Equal(got, want) || ok != (want != nil) {
			t.Errorf("parsePairs(%.60q) = %q, %v, want %q", text, got, ok, want)
		}
	}
}

func TestParseNames(t *testing.T) {
	for text, want := range map[string]struct {
		names          []string
		broadcast, all bool
	}{
		`\username\b_flags`:                {[]string{"username", "b_flags"}, false, false},
		`\username\b_*`:                    {[]string{"username"}, true, false},
		`\b_*`:                             {nil, true, false},
		`\b_*\a`:                           {[]string{"a"}, true, false},
		`*`:                                {nil, false, true},
		`\*`:                               {[]string{"*"}, false, false},
		`a`:                                {[]string{"a"}, false, false},
		`\a\\b`:                            {[]string{"a", "", "b"}, false, false},
		`\a\`:                              {[]string{"a", ""}, false, false},
		`\`:                                {},
		``:                                 {},
		strings.Repeat(`\a`, 100) + `\b_*`: {slices.Repeat([]string{"a"}, maxPairs), true, false},
	} {
		names, broadcast, all := parseNames(text)
		if !slices.Equal(names, want.names) || broadcast != want.broadcast || all != want.all {
			t.Errorf("parseNames(%.40q) = %q, %v, %v, want %+v", text, names, broadcast, all, want)
		}
	}
}

func TestAppendPairs(t *testing.T) {
	for want, got := range map[string][]byte{
		"":                  appendPairs(nil),
		`\`:                 appendValues(nil, ""),
		`\v1\\v3`:           appendValues(nil, "v1", "", "v3"),
		`\v0\b_flags\sh`:    appendPairs(appendValues(nil, "v0"), keyPair{"b_flags", "sh"}),
		`\a/b\c/`:           appendPairs(nil, keyPair{`a\b`, `c\`}),
		"\\\xe4 \u20ac\x01": appendValues(nil, "\xe4\r\n \u20ac\x00\x01"),
	} {
		if string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestIsBroadcast(t *testing.T) {
	for key, want := range map[string]bool{"b_flags": true, "b_": true, "B_flags": false, "flags": false, "": false, "b": false} {
		if isBroadcast(key) != want {
			t.Errorf("isBroadcast(%q) = %v", key, !want)
		}
	}
}

// FuzzKeyText writes pairs and names that it read and reads them again.
func FuzzKeyText(f *testing.F) {
	f.Add(`\b_flags\sh\b_ready\1`)
	f.Add(`\a\\\b`)
	f.Add(`\username\b_*`)
	f.Fuzz(func(t *testing.T, text string) {
		text = string(appendClean(nil, text))
		if pairs, ok := parsePairs(text); ok {
			if again, ok := parsePairs(string(appendPairs(nil, pairs...))); !ok || !slices.Equal(again, pairs) {
				t.Errorf("%q: %q, then %q, %v", text, pairs, again, ok)
			}
		}
		names, broadcast, all := parseNames(text)
		if len(names) > maxPairs || all && len(names) > 0 {
			t.Fatalf("%q: %d names, all %v", text, len(names), all)
		}
		if len(names) == 0 {
			return
		}
		again, more, _ := parseNames(string(appendValues(nil, names...)))
		if len(names) == 1 && names[0] == "" && broadcast {
			return // reads as nothing without the wish behind it
		}
		if !slices.Equal(again, names) || more {
			t.Errorf("%q: %q, then %q, %v", text, names, again, more)
		}
	})
}

func BenchmarkParsePairs(b *testing.B) {
	for _, n := range []int{1, 8} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			text := strings.Repeat(`\b_flags\sh`, n)
			b.ReportAllocs()
			for b.Loop() {
				parsePairs(text)
			}
		})
	}
}
