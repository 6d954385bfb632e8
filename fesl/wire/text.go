package wire

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Limits of the text of a payload.
const (
	MaxLines     = 512  // of a frame
	MaxLongLines = 2048 // of a long message
	MaxKey       = 128  // bytes
	MaxValue     = 4 << 10
)

// ErrText reports a text that exceeds a limit.
var ErrText = errors.New("the text has too many or too long lines")

// Field is one line of a text, its value without escapes.
type Field struct{ Key, Value string }

// Text is the text of a payload.
type Text []Field

// ParseText reads a payload with at most so many lines. Lines without a key are skipped.
func ParseText(payload []byte, lines int) (Text, error) { return parseText(payload, lines, MaxValue) }

func parseText(payload []byte, lines, value int) (Text, error) {
	payload, _, _ = bytes.Cut(payload, []byte{0})
	var t Text
	for line := range bytes.SplitSeq(payload, []byte{'\n'}) {
		key, text, ok := bytes.Cut(line, []byte{'='})
		if !ok || len(key) == 0 {
			continue
		}
		if len(t) == lines || len(key) > MaxKey {
			return nil, ErrText
		}
		v := Unescape(string(text))
		if len(v) > value {
			return nil, ErrText
		}
		t = append(t, Field{string(key), v})
	}
	return t, nil
}

// Get returns the value of a key, empty if there is none.
func (t Text) Get(key string) string {
	v, _ := t.Look(key)
	return v
}

// Look returns the value of a key, and whether there is one.
func (t Text) Look(key string) (string, bool) {
	i := slices.IndexFunc(t, func(f Field) bool { return ascii.EqualFold(f.Key, key) })
	if i < 0 {
		return "", false
	}
	return t[i].Value, true
}

// TXN returns the name of the request.
func (t Text) TXN() string { return t.Get("TXN") }

// List returns the values of the members of a list in their order. The line with their number
// is not looked at.
func (t Text) List(name string) []string {
	type member struct {
		index int
		value string
	}
	var found []member
	for _, f := range t {
		if len(f.Key) <= len(name)+1 || f.Key[len(name)] != '.' || !ascii.EqualFold(f.Key[:len(name)], name) {
			continue
		}
		if i, err := strconv.ParseUint(f.Key[len(name)+1:], 10, 31); err == nil {
			found = append(found, member{int(i), f.Value})
		}
	}
	slices.SortStableFunc(found, func(a, b member) int { return a.index - b.index })
	values := make([]string, len(found))
	for i, m := range found {
		values[i] = m.value
	}
	return values
}

// Add appends a line.
func (t *Text) Add(key, value string) { *t = append(*t, Field{key, value}) }

// AddNumber appends a line with a number.
func (t *Text) AddNumber(key string, n int64) { t.Add(key, strconv.FormatInt(n, 10)) }

// AddList appends a list.
func (t *Text) AddList(name string, values ...string) {
	t.AddNumber(name+".[]", int64(len(values)))
	for i, v := range values {
		t.Add(Member(name, i), v)
	}
}

// Member returns the key of a member of a list.
func Member(name string, i int) string { return name + "." + strconv.Itoa(i) }

// The ends of a payload.
const (
	ServerEnd = "\x00"
	ClientEnd = "\n\x00"
)

// Append appends the text as a payload with its end.
func (t Text) Append(b []byte, end string) []byte {
	for i, f := range t {
		if i > 0 {
			b = append(b, '\n')
		}
		b = append(b, f.Key...)
		b = append(b, '=')
		b = AppendValue(b, f.Value)
	}
	return append(b, end...)
}

// AppendValue appends a value with its escapes.
func AppendValue(b []byte, v string) []byte {
	const digits = "0123456789abcdef"
	quoted := strings.IndexByte(v, ' ') >= 0
	if quoted {
		b = append(b, '"')
	}
	for i := range len(v) {
		switch c := v[i]; {
		case c < ' ' || c == 0x7f || c == '%' || c == '=' || c == ':' || c == '"':
			b = append(b, '%', digits[c>>4], digits[c&15])
		default:
			b = append(b, c)
		}
	}
	if quoted {
		b = append(b, '"')
	}
	return b
}

// Unescape returns the value that was written so. A % that begins no escape stays.
func Unescape(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(n))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// Time returns a time in the form of FESL.
func Time(t time.Time) string { return t.UTC().Format("Jan-02-2006 15:04:05 UTC") }

// Float returns a number in the form of FESL.
func Float(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }
