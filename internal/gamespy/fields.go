package gamespy

import "bytes"

// FieldScanner reads the fields of one datagram of backslash text. It allocates
// nothing and may be copied. See [ScanFields].
type FieldScanner struct {
	rest       []byte
	key, value []byte
	behindKey  []byte // value and the rest after it
}

// ScanFields starts reading the fields of b. It accepts the same forms as
// [ParseMessage] and finds the same fields, but has no limit: a caller that
// keeps fields must count them.
func ScanFields(b []byte) FieldScanner {
	_, b, _ = bytes.Cut(b, []byte{'\\'})
	b, _, _ = bytes.Cut(b, []byte{0})
	return FieldScanner{rest: bytes.TrimRight(b, messageTrim)}
}

// Next moves to the next field and reports whether there is one.
func (s *FieldScanner) Next() bool {
	backslash := []byte{'\\'}
	for len(s.rest) > 0 {
		key, rest, _ := bytes.Cut(s.rest, backslash)
		s.key = bytes.Trim(key, keyTrim)
		if s.rest = rest; len(s.key) == 0 {
			continue
		}
		s.behindKey = rest
		s.value, s.rest, _ = bytes.Cut(rest, backslash)
		return true
	}
	s.key, s.value = nil, nil
	return false
}

// Key returns the key that Next moved to, a part of the input.
func (s *FieldScanner) Key() []byte { return s.key }

// Value returns the value that Next moved to, a part of the input.
func (s *FieldScanner) Value() []byte { return s.value }

// DropValue treats the value as the next key: the key that Next moved to has no
// value. It may be called once after Next.
func (s *FieldScanner) DropValue() {
	s.value, s.rest = nil, s.behindKey
}
