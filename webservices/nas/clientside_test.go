package nas

import (
	"encoding/binary"
	"unicode/utf16"
)

// encodeUTF16 returns a text in UTF-16.
func encodeUTF16(s string, order binary.AppendByteOrder) (b []byte) {
	for _, c := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, c)
	}
	return b
}
