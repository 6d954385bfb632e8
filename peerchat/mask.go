package peerchat

import (
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Limits of masks, in bytes.
const (
	maxBanMask  = 128
	maxMaskPart = 64 // between two *
)

// matchMask reports whether s matches a mask, in which * stands for any text
// and ? for one byte. The case of ASCII letters is not significant. A part
// between two * of more than maxMaskPart bytes matches nothing. The time grows
// with the lengths of both, not with their product, because players choose
// both.
func matchMask(mask, s string) bool {
	head, rest, ok := strings.Cut(mask, "*")
	if !ok {
		return len(mask) == len(s) && matchPart(mask, s)
	}
	parts, tail := "", rest
	if i := strings.LastIndexByte(rest, '*'); i >= 0 {
		parts, tail = rest[:i], rest[i+1:]
	}
	if len(s) < len(head)+len(tail) || !matchPart(head, s[:len(head)]) || !matchPart(tail, s[len(s)-len(tail):]) {
		return false
	}
	s = s[len(head) : len(s)-len(tail)]
	for parts != "" {
		var part string
		part, parts, _ = strings.Cut(parts, "*")
		end := findPart(part, s)
		if end < 0 {
			return false
		}
		s = s[end:]
	}
	return true
}

// matchPart reports whether s, which is as long as a part without *, matches it.
func matchPart(part, s string) bool {
	for i := range len(part) {
		if part[i] != '?' && ascii.Lower(part[i]) != ascii.Lower(s[i]) {
			return false
		}
	}
	return true
}

// findPart returns the end in s of the first match of a part without *, -1 if
// there is none.
func findPart(part, s string) int {
	const short = 4 // not worth the table
	n := len(part)
	switch {
	case n > len(s) || n > maxMaskPart:
		return -1
	case n <= short:
		for i := range len(s) - n + 1 {
			if matchPart(part, s[i:i+n]) {
				return i + n
			}
		}
		return -1
	}
	var table [256]uint64 // for each byte, where it may stand in part, as bits
	var wild uint64       // the same for all bytes
	for i := range n {
		if part[i] == '?' {
			wild |= 1 << i
		} else {
			table[ascii.Lower(part[i])] |= 1 << i
		}
	}
	var matched uint64 // bit i: the first i+1 bytes of part match up to here
	for i := range len(s) {
		matched = (matched<<1 | 1) & (table[ascii.Lower(s[i])] | wild)
		if matched>>(n-1)&1 != 0 {
			return i + 1
		}
	}
	return -1
}

// searchable reports whether all parts between two * of a mask can match.
func searchable(mask string) bool {
	_, rest, _ := strings.Cut(mask, "*")
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return true
		}
		if len(part) > maxMaskPart {
			return false
		}
		rest = after
	}
}

// cleanBanMask returns the normal form of a mask, nick!user@host in lower case, in
// which masks that are written differently can be compared; missing parts are *.
// A mask without ! and @ is a nick. It returns false if s is not a mask, is too long,
// or has a part that matchMask does not search for.
func cleanBanMask(s string) (string, bool) {
	if s == "" || len(s) > maxBanMask || s[0] == ':' {
		return "", false
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == ',' || c == 0x7F {
			return "", false
		}
	}
	nick, rest, hasUser := strings.Cut(s, "!")
	if !hasUser && strings.IndexByte(s, '@') >= 0 {
		nick, rest = "", s
	}
	user, host := rest, ""
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, host = rest[:at], rest[at+1:]
	}
	var buf [maxBanMask + len("*!*@*")]byte
	mask := appendMaskPart(buf[:0], nick)
	mask = appendMaskPart(append(mask, '!'), user)
	mask = appendMaskPart(append(mask, '@'), host)
	if len(mask) > maxBanMask || !searchable(string(mask)) {
		return "", false
	}
	return string(mask), true
}

// appendMaskPart appends a part of a mask: in lower case, one * for several in a
// row and for nothing.
func appendMaskPart(dst []byte, part string) []byte {
	if part == "" {
		return append(dst, '*')
	}
	for i := range len(part) {
		if i > 0 && part[i] == '*' && part[i-1] == '*' {
			continue
		}
		dst = append(dst, ascii.Lower(part[i]))
	}
	return dst
}
