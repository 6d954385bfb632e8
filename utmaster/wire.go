package utmaster

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"unicode/utf16"
	"unicode/utf8"
)

// maxFrame is the longest message that is read, in bytes without its length.
const maxFrame = 64 << 10

// frameHead is the size of the length before each message.
const frameHead = 4

// Errors of the codec.
var (
	ErrFrame   = errors.New("utmaster: message too long")
	ErrCut     = errors.New("utmaster: message cut off")
	ErrIndex   = errors.New("utmaster: compact index beyond 31 bits")
	ErrText    = errors.New("utmaster: text without end, with a NUL inside, or with half of a UTF-16 pair")
	ErrTooMany = errors.New("utmaster: more elements than a message may have")
	ErrKind    = errors.New("utmaster: unknown kind of message")
)

// readFrame reads a message into buf, which grows with the received bytes and not with the
// announced length. The error is ErrFrame for one of more than most bytes.
func readFrame(r io.Reader, buf []byte, most int) ([]byte, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return buf[:0], err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if uint64(n) > uint64(most) {
		return buf[:0], ErrFrame
	}
	buf = buf[:0]
	for len(buf) < int(n) {
		step := min(int(n)-len(buf), 4096)
		if cap(buf)-len(buf) < step {
			buf = append(make([]byte, 0, min(2*cap(buf)+step, int(n))), buf...)
		}
		part := buf[len(buf) : len(buf)+step]
		if _, err := io.ReadFull(r, part); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return buf[:0], err
		}
		buf = buf[:len(buf)+step]
	}
	return buf, nil
}

// frame appends the length of a message whose bytes body appends, and the message.
func frame(dst []byte, body func([]byte) []byte) []byte {
	at := len(dst)
	dst = body(append(dst, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-frameHead))
	return dst
}

// appendIndex appends a compact index: 1 to 5 bytes, the sign and then the magnitude.
//
//	byte 0    bit 7 sign, bit 6 more, 6 bits
//	byte 1-3  bit 7 more, 7 bits each
//	byte 4    8 bits
func appendIndex(dst []byte, v int32) []byte {
	n, first := uint64(v), byte(0)
	if v < 0 {
		n, first = uint64(-int64(v)), 0x80
	}
	first |= byte(n & 0x3F)
	if n >>= 6; n == 0 {
		return append(dst, first)
	}
	dst = append(dst, first|0x40)
	for range 3 {
		b := byte(n & 0x7F)
		if n >>= 7; n == 0 {
			return append(dst, b)
		}
		dst = append(dst, b|0x80)
	}
	return append(dst, byte(n))
}

// cursor reads the fields of a message. After an error it returns zero values.
type cursor struct {
	b   []byte
	err error
}

func (c *cursor) take(n int) []byte {
	if c.err == nil && n > len(c.b) {
		c.err = ErrCut
	}
	if c.err != nil {
		return nil
	}
	out := c.b[:n]
	c.b = c.b[n:]
	return out
}

func (c *cursor) uint8() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) uint16() uint16 {
	if b := c.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) int32() int32 {
	if b := c.take(4); b != nil {
		return int32(binary.LittleEndian.Uint32(b))
	}
	return 0
}

func (c *cursor) index() int32 {
	first := c.uint8()
	n, more := uint64(first&0x3F), first&0x40 != 0
	shift := 6
	for i := 1; more && i < 5; i++ {
		b := c.uint8()
		if i == 4 {
			n |= uint64(b) << shift
			break
		}
		n |= uint64(b&0x7F) << shift
		more = b&0x80 != 0
		shift += 7
	}
	if n > math.MaxInt32 {
		c.fail(ErrIndex)
		return 0
	}
	if first&0x80 != 0 {
		return -int32(n)
	}
	return int32(n)
}

// count reads the number of elements of an array. Each has at least least bytes, so
// that a message can hold no more than its length allows.
func (c *cursor) count(most, least int) int {
	n := c.index()
	switch {
	case c.err != nil:
		return 0
	case n < 0 || int(n) > most:
		c.fail(ErrTooMany)
		return 0
	case int(n)*least > len(c.b):
		c.fail(ErrCut)
		return 0
	}
	return int(n)
}

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// escape begins the code of a colour, of which colourSize characters follow.
const (
	escape     = 0x1B
	colourSize = 3
)

// text reads a string: its length as a compact index and the characters with a final
// NUL, in Latin-1, or in UTF-16 if the length is negative. The empty string may lack
// the NUL. The result is UTF-8, apart from the three bytes of a colour, which are as
// they came.
func (c *cursor) text() string {
	n := int(c.index())
	switch {
	case c.err != nil || n == 0:
		return ""
	case n > 0:
		return c.narrow(c.take(n))
	default:
		return c.wide(c.take(min(-n, maxFrame) * 2)) // longer ones are cut off anyway
	}
}

func (c *cursor) narrow(b []byte) string {
	if c.err != nil {
		return ""
	}
	plain := true
	for i, x := range b {
		if (x == 0) != (i == len(b)-1) {
			c.fail(ErrText)
			return ""
		}
		plain = plain && x < utf8.RuneSelf
	}
	b = b[:len(b)-1]
	if plain {
		return string(b)
	}
	out, raw := make([]byte, 0, len(b)+len(b)/2), 0
	for _, x := range b {
		out, raw = appendUnit(out, rune(x), raw)
	}
	return string(out)
}

func (c *cursor) wide(b []byte) string {
	if c.err != nil {
		return ""
	}
	out, raw := make([]byte, 0, len(b)), 0
	for i := 0; i < len(b); i += 2 {
		r := rune(binary.LittleEndian.Uint16(b[i:]))
		if (r == 0) != (i == len(b)-2) {
			c.fail(ErrText)
			return ""
		}
		if r == 0 {
			break
		}
		if utf16.IsSurrogate(r) {
			if i += 2; i < len(b) {
				r = utf16.DecodeRune(r, rune(binary.LittleEndian.Uint16(b[i:])))
			}
			if r < 0x10000 || i >= len(b) {
				c.fail(ErrText)
				return ""
			}
		}
		out, raw = appendUnit(out, r, raw)
	}
	return string(out)
}

// appendUnit appends a character. raw is the number of characters of a colour that are
// missing; the next one is returned.
func appendUnit(dst []byte, r rune, raw int) ([]byte, int) {
	switch {
	case raw > 0:
		return append(dst, byte(min(max(r, 1), 0xFF))), raw - 1
	case r == escape:
		return append(dst, escape), colourSize
	default:
		return utf8.AppendRune(dst, r), 0
	}
}

// appendText appends a string as cursor.text reads it. Text that is not UTF-8 beside
// its colours is taken for Latin-1, and NULs are left out.
func appendText(dst []byte, s string) []byte {
	for i := range len(s) {
		if s[i] == 0 || s[i] >= utf8.RuneSelf {
			return appendMixed(dst, s)
		}
	}
	dst = appendIndex(dst, int32(len(s)+1))
	return append(append(dst, s...), 0)
}

// appendMixed is appendText for text that is not ASCII.
func appendMixed(dst []byte, s string) []byte {
	units, wide := unitsOf(s)
	if !wide {
		dst = appendIndex(dst, int32(len(units)+1))
		for _, u := range units {
			dst = append(dst, byte(u))
		}
		return append(dst, 0)
	}
	coded := utf16.Encode(units)
	dst = appendIndex(dst, -int32(len(coded)+1))
	for _, u := range coded {
		dst = binary.LittleEndian.AppendUint16(dst, u)
	}
	return append(dst, 0, 0)
}

// unitsOf returns the characters of a text, and whether one of them is beyond Latin-1.
func unitsOf(s string) (units []rune, wide bool) {
	units = make([]rune, 0, len(s))
	raw := 0
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		switch {
		case raw > 0:
			raw--
		case r == escape:
			raw = colourSize
		case r >= utf8.RuneSelf:
			if r, size = utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && size == 1 {
				return latin1(s), false
			}
		}
		if i += size; r != 0 {
			units = append(units, r)
			wide = wide || r > 0xFF
		}
	}
	return units, wide
}

// cutText returns a text of at most some characters, its beginning.
func cutText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	units, _ := unitsOf(s)
	if len(units) <= most {
		return s
	}
	out, raw := make([]byte, 0, len(s)), 0
	for _, r := range units[:most] {
		out, raw = appendUnit(out, r, raw)
	}
	return string(out)
}

// latin1 returns the bytes of a text as characters, without NULs.
func latin1(s string) (units []rune) {
	for i := range len(s) {
		if s[i] != 0 {
			units = append(units, rune(s[i]))
		}
	}
	return units
}
