package web

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// cleanText makes text of strangers fit to be shown. Valid UTF-8 is kept, any
// other text is read as Latin-1. Characters that cannot be seen are dropped:
// controls (and with them the start of terminal sequences), everything that
// steers direction, joins or hides, line separators and blank fillers. What is
// left is valid UTF-8; it may be empty.
func cleanText(s string) string {
	if isPlain(s) {
		return s
	}
	return string(appendClean(make([]byte, 0, len(s)), s))
}

// isPlain reports whether s is printable ASCII, which is kept as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// appendClean appends what cleanText returns.
func appendClean(dst []byte, s string) []byte {
	if utf8.ValidString(s) {
		for _, r := range s {
			if !isHidden(r) {
				dst = utf8.AppendRune(dst, r)
			}
		}
		return dst
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= ' ' && c <= '~':
			dst = append(dst, c)
		case !isHidden(rune(c)):
			dst = utf8.AppendRune(dst, rune(c))
		}
	}
	return dst
}

// isHidden reports whether a character is dropped.
func isHidden(r rune) bool {
	switch {
	case r >= ' ' && r <= '~':
		return false
	case r == '\u034F', r == '\u115F', r == '\u1160', r == '\u17B4', r == '\u17B5',
		r == '\u2800', r == '\u3164', r == '\uFFA0': // letters and marks that show nothing
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

// shorten cuts s to at most n characters, the last of which is an ellipsis then.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	seen := 0
	cut := 0 // where the ellipsis goes
	for i := range s {
		if seen == n-1 {
			cut = i
		}
		if seen++; seen > n {
			return s[:cut] + "…"
		}
	}
	return s
}

// displayText is cleanText for a cell of a table: without spaces around it and
// at most n characters long.
func displayText(s string, n int) string {
	return shorten(strings.TrimSpace(cleanText(s)), n)
}
