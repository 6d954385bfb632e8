// Package clean makes untrusted text safe to show: names of servers, players
// and maps that end up on pages, in JSON, in messages.
//
// It only drops characters. The caller escapes the text for HTML, JSON or
// Markdown.
package clean

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s without its invisible characters. Valid UTF-8 is kept, any
// other text is read as Latin-1. It drops control characters (and with them the
// start of terminal sequences), characters that change direction, join or hide
// others, line separators and blank fillers. The result is valid UTF-8; it may
// be empty.
func Text(s string) string {
	if isPlain(s) {
		return s
	}
	return string(Append(make([]byte, 0, len(s)), s))
}

// UTF8 returns s as the project reads all text of games: s itself if it is valid
// UTF-8, else s read as Latin-1. It drops nothing.
func UTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	b := make([]byte, 0, len(s)+len(s)/2)
	for i := range len(s) {
		b = utf8.AppendRune(b, rune(s[i]))
	}
	return string(b)
}

// isPlain reports whether s is printable ASCII, which is kept unchanged.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Append appends the result of Text.
func Append(dst []byte, s string) []byte {
	if utf8.ValidString(s) {
		for _, r := range s {
			if !IsHidden(r) {
				dst = utf8.AppendRune(dst, r)
			}
		}
		return dst
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= ' ' && c <= '~':
			dst = append(dst, c)
		case !IsHidden(rune(c)):
			dst = utf8.AppendRune(dst, rune(c))
		}
	}
	return dst
}

// IsHidden reports whether Text drops a character.
func IsHidden(r rune) bool {
	switch {
	case r >= ' ' && r <= '~':
		return false
	case r == '\u034F', r == '\u115F', r == '\u1160', r == '\u17B4', r == '\u17B5',
		r == '\u2800', r == '\u3164', r == '\uFFA0': // letters and marks that show nothing
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

// Line returns Text for one cell of a table or one name in a sentence: without
// spaces around it and at most n characters long, n at least 1.
func Line(s string, n int) string {
	return Shorten(strings.TrimSpace(Text(s)), n)
}

// Shorten cuts s to at most n characters, the last of which is an ellipsis then.
func Shorten(s string, n int) string {
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

// Printable returns s for a terminal or a log, without characters that move the
// cursor or change how the rest of the line is shown.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == 0x2028, r == 0x2029: // line ends
			return '?'
		case unicode.Is(unicode.Bidi_Control, r):
			return '?'
		}
		return r
	}, UTF8(s))
}
