package stats

import (
	"slices"
	"testing"
)

func TestText(t *testing.T) {
	for data, want := range map[string]string{
		"":                                "",
		"\x00":                            "",
		"plain":                           "plain",
		"two\r\n\tlines\x00":              "two\r\n\tlines",
		"caf\xe9":                         "café",
		"caf\u00e9":                       "café",
		"a\x00b":                          "",
		"a\x00\x00":                       "",
		"\x1f\x8b":                        "",
		"a\x7f":                           "",
		"\\clan\\The A-Team\\age\\15\x00": `\clan\The A-Team\age\15`,
	} {
		if text, ok := Text([]byte(data)); text != want || ok != (want != "") {
			t.Errorf("Text(%q) = %q, %v, want %q", data, text, ok, want)
		}
	}
}

func TestTextPairs(t *testing.T) {
	for data, want := range map[string][]Pair{
		"": nil, "plain": nil, "\\clan\\\x01": nil, "\\\x00\x01": nil,
		"\\clan\\The A-Team\\age\\15\x00": {{"clan", "The A-Team"}, {"age", "15"}},
		"\\clan":                          {{"clan", ""}},
	} {
		if pairs, ok := TextPairs([]byte(data)); ok != (want != nil) || ok && !slices.Equal(pairs, want) {
			t.Errorf("TextPairs(%q) = %q, %v, want %q", data, pairs, ok, want)
		}
	}
}
