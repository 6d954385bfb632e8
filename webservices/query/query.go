// Package query reads the parameters of addresses as games write them: every space is a
// plus sign, and nothing else is escaped. So a percent sign that begins no escape stands
// for itself, and a value ends only at the next ampersand.
package query

import (
	"strconv"
	"strings"
)

// Get returns the first parameter with a name, of which case does not count, in a query
// without its question mark. ok is false if there is none.
func Get(raw, name string) (value string, ok bool) {
	for field := range strings.SplitSeq(raw, "&") {
		key, value, _ := strings.Cut(field, "=")
		if strings.EqualFold(key, name) {
			return decode(value), true
		}
	}
	return "", false
}

// Number is Get for a number from 0 to 2^31-1. ok is false for everything else.
func Number(raw, name string) (n int, ok bool) {
	value, ok := Get(raw, name)
	if !ok || value == "" || strings.Trim(value, "0123456789") != "" {
		return 0, false
	}
	long, err := strconv.ParseInt(value, 10, 32)
	return int(long), err == nil
}

// decode returns a value with its spaces, and without its escapes.
func decode(s string) string {
	if !strings.ContainsAny(s, "+%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '+' {
			c = ' '
		} else if c == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				c = byte(n)
				i += 2
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}
