package clean

import (
	"strconv"
	"unicode/utf8"
)

// MaxEcho is the length in bytes of the longest error text that is sent to the one
// who caused it: errors quote what they are about.
const MaxEcho = 4 << 10

// Cut returns s if it has at most limit bytes. Else it returns its beginning, cut
// between characters, and says how long it was.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := limit
	for n > 0 && limit-n < utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "... (" + strconv.Itoa(len(s)) + " bytes in all)"
}
