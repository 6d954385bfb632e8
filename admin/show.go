package admin

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/respawnd/respawnd/internal/clean"
)

// maxShown is the longest untrusted text that a page shows, in characters.
const maxShown = 400

// show makes a text safe for a page without hiding any of it: characters that
// are invisible, or change the text around them, become their code, such as
// \u202e. These are control characters, terminal sequences, characters that
// change direction, join or hide, and fillers. Invalid UTF-8 is read as
// described at clean.UTF8. Many accents on one letter are cut to a few.
func show(s string) string {
	if isPlain(s) && len(s) <= maxShown {
		return s
	}
	var b strings.Builder
	n, marks := 0, 0
	for _, r := range clean.UTF8(s) {
		if n++; n > maxShown {
			b.WriteString("…")
			break
		}
		if !unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Me, r) {
			marks = 0
		} else if marks++; marks > maxMarks {
			continue
		}
		switch {
		case !isHidden(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// maxMarks is the number of consecutive accents that are shown.
const maxMarks = 3

// isPlain reports whether s is printable ASCII.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// isHidden reports whether a character is invisible.
func isHidden(r rune) bool {
	switch r {
	case '\u034F', '\u115F', '\u1160', '\u17B4', '\u17B5', '\u2800', '\u3164', '\uFFA0': // letters and marks that show nothing
		return true
	case ' ':
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Zs, unicode.Co, unicode.Variation_Selector)
}
