package clean

import (
	"strconv"
	"unicode/utf8"
)

// MaxEcho is the length in bytes of the longest error text that is sent to the
// client that caused it: errors quote their input.
const MaxEcho = 4 << 10

// Cut returns s if it has at most limit bytes. Otherwise it returns its
// beginning, cut between characters, and a note of its length.
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
