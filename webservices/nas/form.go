package nas

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of a form.
const (
	maxBody   = 8 << 10 // bytes
	maxFields = 64
	maxKey    = 32 // bytes of a key
)

// Field is a field of a form.
type Field struct {
	Name  string
	Value []byte // decoded
}

// Form is a form that consoles send and get.
type Form []Field

// errForm reports a body that is not a form of consoles.
var errForm = errors.New("not a form with values in base64")

// ParseForm reads a form. Line ends and zeros around it are ignored.
func ParseForm(body []byte) (Form, error) {
	body = bytes.Trim(body, "\r\n\x00")
	if len(body) > maxBody {
		return nil, errForm
	}
	var f Form
	for n := 0; len(body) > 0; n++ {
		var part []byte
		part, body, _ = bytes.Cut(body, []byte("&"))
		if len(part) == 0 && n < maxFields {
			continue
		}
		key, value, ok := bytes.Cut(part, []byte("="))
		name, named := unescape(key)
		if !ok || !named || len(name) == 0 || len(name) > maxKey || n == maxFields {
			return nil, errForm
		}
		if name[0] == '_' {
			continue
		}
		text, ok := unescape(value)
		if !ok {
			return nil, errForm
		}
		decoded, ok := decode(text)
		if !ok {
			return nil, errForm
		}
		f = append(f, Field{string(name), decoded})
	}
	return f, nil
}

// Append appends the form as it is sent.
func (f Form) Append(b []byte) []byte {
	for i, v := range f {
		if i > 0 {
			b = append(b, '&')
		}
		b = append(appendEscaped(b, v.Name), '=')
		start := len(b)
		b = base64.StdEncoding.AppendEncode(b, v.Value)
		for j, c := range b[start:] {
			b[start+j] = sent[c]
		}
	}
	return b
}

// Value returns the first field of a name, nil if there is none.
func (f Form) Value(name string) []byte {
	for i := range f {
		if f[i].Name == name {
			return f[i].Value
		}
	}
	return nil
}

// Has reports whether there is a field of a name.
func (f Form) Has(name string) bool {
	return slices.ContainsFunc(f, func(x Field) bool { return x.Name == name })
}

// Text returns a field that is printable ASCII, without zeros at its end; empty if it is
// missing. ok is false if it is something else.
func (f Form) Text(name string) (text string, ok bool) {
	v := bytes.TrimRight(f.Value(name), "\x00")
	for _, c := range v {
		if c < ' ' || c > '~' {
			return "", false
		}
	}
	return string(v), true
}

// sent is the alphabet of consoles: their character for each one of base64.
var sent = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
	}
	t['+'], t['/'], t['='] = '.', '-', '*'
	return t
}()

// read is the reverse of sent, with the other characters that stand for them; 0: none.
var read = func() (t [256]byte) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") {
		t[c], t[sent[c]] = c, c
	}
	t['>'], t['?'] = '+', '/'
	return t
}()

// decode decodes base64, with or without padding, in place.
func decode(text []byte) ([]byte, bool) {
	for i, c := range text {
		if read[c] == 0 {
			return nil, false
		}
		text[i] = read[c]
	}
	text = bytes.TrimRight(text, "=")
	n, err := base64.RawStdEncoding.Decode(text, text)
	return text[:n], err == nil
}

// unescape returns a copy of a text without its escapes. "+" stands for itself: it is a
// character of base64.
func unescape(text []byte) ([]byte, bool) {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' {
			if i+2 >= len(text) {
				return nil, false
			}
			high, low := digit(text[i+1]), digit(text[i+2])
			if high|low > 0xF {
				return nil, false
			}
			c, i = high<<4|low, i+2
		}
		out = append(out, c)
	}
	return out, true
}

// digit returns the value of a hex digit; above 15: it is none.
func digit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 0xFF
}

// appendEscaped appends a name with escapes for all but letters and digits.
func appendEscaped(b []byte, name string) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(name) {
		if c := name[i]; isAlnum(rune(c)) {
			b = append(b, c)
		} else {
			b = append(b, '%', digits[c>>4], digits[c&0xF])
		}
	}
	return b
}

// isAlnum reports whether a character is a letter or a digit of ASCII.
func isAlnum(c rune) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

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
