package stats

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/respawnd/respawnd/internal/clean"
)

// Pair is a key with its value.
type Pair struct{ Key, Value string }

// A list of keys and values is \key\value\key\value and a NUL, which clients
// count in its length and which may be missing. A key without value at the end
// has an empty one, a backslash at the end has no meaning.

// ParsePairs returns the pairs of a list. The error is ErrPairs if it does not
// begin with a backslash; an empty list has no pairs.
func ParsePairs(data []byte) ([]Pair, error) {
	text := string(data)
	if i := strings.IndexByte(text, 0); i >= 0 {
		text = text[:i]
	}
	if text == "" {
		return nil, nil
	}
	if text[0] != '\\' {
		return nil, fmt.Errorf("%w: it must begin with a backslash", ErrPairs)
	}
	pairs := make([]Pair, 0, strings.Count(text, `\`)/2+1)
	for rest, more := text[1:], true; more && rest != ""; {
		var p Pair
		if p.Key, rest, more = strings.Cut(rest, `\`); more {
			p.Value, rest, more = strings.Cut(rest, `\`)
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// AppendPairs appends pairs in the form of ParsePairs, without the NUL. A
// backslash in a key or value becomes a slash, and a NUL a space.
func AppendPairs(dst []byte, pairs []Pair) []byte {
	for _, p := range pairs {
		dst = appendText(append(dst, '\\'), p.Key)
		dst = appendText(append(dst, '\\'), p.Value)
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; c {
		case '\\':
			dst = append(dst, '/')
		case 0:
			dst = append(dst, ' ')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// mergePairs returns the list old with the pairs of data: those of known keys
// in place of the old ones, the others behind them. Of equal keys in data the last
// counts.
func mergePairs(old, data []byte) ([]byte, error) {
	fresh, err := ParsePairs(data)
	if err != nil {
		return nil, err
	}
	pairs, err := ParsePairs(old)
	if err != nil {
		pairs = nil // the game has changed the form of its data
	}
	at := make(map[string]int, len(pairs)+len(fresh))
	merged := make([]Pair, 0, len(pairs)+len(fresh))
	for _, list := range [][]Pair{pairs, fresh} {
		for _, p := range list {
			if i, known := at[p.Key]; known {
				merged[i].Value = p.Value
				continue
			}
			at[p.Key] = len(merged)
			merged = append(merged, p)
		}
	}
	return append(AppendPairs(make([]byte, 0, len(old)+len(data)+1), merged), 0), nil
}

// selectPairs returns the pairs of the keys, each once, as a list with a NUL; keys without
// a pair have the value missing.
func selectPairs(data []byte, keys []string, missing string) []byte {
	pairs, err := ParsePairs(data)
	if err != nil {
		pairs = nil
	}
	values := make(map[string]string, len(pairs))
	for _, p := range pairs {
		values[p.Key] = p.Value
	}
	var out bytes.Buffer
	done := make(map[string]bool, len(keys))
	for _, key := range keys {
		if done[key] {
			continue
		}
		done[key] = true
		value, ok := values[key]
		if !ok {
			value = missing
		}
		out.Write(AppendPairs(out.AvailableBuffer(), []Pair{{key, value}}))
	}
	return append(out.Bytes(), 0)
}

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
