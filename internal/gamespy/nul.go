package gamespy

import (
	"bytes"
	"strings"
)

// CutString cuts a NUL-terminated string from p. s and rest are parts of p,
// without the NUL. If ok is false there is no NUL, s is all of p and rest is
// nil.
func CutString(p []byte) (s, rest []byte, ok bool) {
	return bytes.Cut(p, []byte{0})
}

// AppendString appends s and a NUL to dst and returns the longer slice. A NUL
// in s ends it there: no value may break the framing.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, untilNUL(s)...)
	return append(dst, 0)
}

// AppendPair appends a key and its value for [Pairs] to read. An empty key
// would end the section, so nothing is written for it.
func AppendPair(dst []byte, key, value string) []byte {
	if untilNUL(key) == "" {
		return dst
	}
	return AppendString(AppendString(dst, key), value)
}

// AppendEnd appends the empty key that ends a section of pairs or the column
// names of a table.
func AppendEnd(dst []byte) []byte {
	return append(dst, 0)
}

func untilNUL(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s
}

// PairScanner reads a section of pairs. It allocates nothing and may be copied.
// See [Pairs].
type PairScanner struct {
	rest       []byte
	key, value []byte
	complete   bool
}

// Pairs starts reading a section of key and value strings at the start of p:
//
//	s := Pairs(p)
//	for s.Next() {
//		use(s.Key(), s.Value())
//	}
//	rest, complete := s.Rest()
//
// An empty key ends the section. An empty value does not, although followed by
// the end it looks like two ends in a row. There is no limit but the length of
// p; a caller that keeps pairs must count them.
func Pairs(p []byte) PairScanner {
	return PairScanner{rest: p}
}

// Next moves to the next whole pair and reports whether there is one. A
// truncated pair does not count.
func (s *PairScanner) Next() bool {
	s.key, s.value = nil, nil
	if s.complete {
		return false
	}
	key, rest, ok := CutString(s.rest)
	if !ok {
		return false
	}
	if len(key) == 0 {
		s.rest, s.complete = rest, true
		return false
	}
	value, rest, ok := CutString(rest)
	if !ok {
		return false
	}
	s.key, s.value, s.rest = key, value, rest
	return true
}

// Key returns the key of the pair that Next moved to, a part of the input.
func (s *PairScanner) Key() []byte { return s.key }

// Value returns the value of the pair that Next moved to, a part of the input.
func (s *PairScanner) Value() []byte { return s.value }

// Rest returns the input after the section once Next returned false. If complete
// is false the input ended inside the section, and rest is the piece of a pair
// that was left over.
func (s *PairScanner) Rest() (rest []byte, complete bool) {
	return s.rest, s.complete
}
