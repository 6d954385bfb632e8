package stats

import (
	"bytes"
	"strings"

	"github.com/respawnd/respawnd/internal/clean"
)

// TextPairs returns the pairs of a block that is a list of keys and values and
// text. ok is false for any other block.
func TextPairs(data []byte) (pairs []Pair, ok bool) {
	if text, ok := Text(data); !ok || text[0] != '\\' {
		return nil, false
	}
	pairs, err := ParsePairs(data)
	return pairs, err == nil && len(pairs) > 0
}

// Text returns a block as UTF-8 text without the NUL at its end. ok is false for an
// empty block and for one with other control characters than tabs and line ends.
func Text(data []byte) (text string, ok bool) {
	text = string(bytes.TrimSuffix(data, []byte{0}))
	if text == "" || !isText(text) {
		return "", false
	}
	return clean.UTF8(text), true
}

// isText reports whether a text has no control characters but tabs and line ends.
func isText(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f })
}
