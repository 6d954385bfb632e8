package nas

import (
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// errText reports a text that is not in the encoding that it should have.
var errText = errors.New("not a text in its encoding")

// decodeUTF16 returns a text in UTF-16. Half a character, of a byte or of a pair, is an
// error.
func decodeUTF16(b []byte, order binary.ByteOrder) (string, error) {
	if len(b)%2 != 0 {
		return "", errText
	}
	var out strings.Builder
	for i := 0; i < len(b); i += 2 {
		c := rune(order.Uint16(b[i:]))
		if utf16.IsSurrogate(c) {
			if i+4 > len(b) {
				return "", errText
			}
			i += 2
			if c = utf16.DecodeRune(c, rune(order.Uint16(b[i:]))); c == utf8.RuneError {
				return "", errText
			}
		}
		out.WriteRune(c)
	}
	return out.String(), nil
}

// orderOf returns the byte order of a console.
func orderOf(wii bool) binary.ByteOrder {
	if wii {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// upToZero returns the part before the first zero of a text: fields of a fixed length are
// filled with them.
func upToZero(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s
}
