package filter

import (
	"math"
	"math/bits"
	"strconv"
)

// maxNumber is the maximum length of a number in bytes. It bounds the cost of
// finding out whether a text looks like one.
const maxNumber = 64

type kind uint8

const (
	kindNull    kind = iota // null itself, or a result that does not exist
	kindField               // value of a field, "" if it is missing
	kindQuoted              // a literal between quotes
	kindInteger             // a number; text is set for a literal only
	kindFloat
)

// value is an operand or an intermediate result.
type value struct {
	kind    kind
	text    string
	integer int64
	float   float64
}

func integer(i int64) value { return value{kind: kindInteger, integer: i} }

// float returns a number, or null if it is not finite.
func float(f float64) value {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return value{}
	}
	return value{kind: kindFloat, float: f}
}

// asText returns v as text: a literal as it was written, a calculated number in
// decimal.
func (v value) asText() string {
	switch {
	case v.text != "":
		return v.text
	case v.kind == kindInteger:
		return strconv.FormatInt(v.integer, 10)
	case v.kind == kindFloat:
		return formatFloat(v.float)
	}
	return ""
}

// formatFloat writes plain decimals unless they would get long.
func formatFloat(f float64) string {
	if size := math.Abs(f); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// asNumber returns the number v is or looks like. Null is not a number.
func (v value) asNumber() (number value, ok bool) {
	switch v.kind {
	case kindInteger, kindFloat:
		return v, true
	case kindField, kindQuoted:
		return parseNumber(v.text)
	default:
		return value{}, false
	}
}

func (v value) isEmptyField() bool { return v.kind == kindField && v.text == "" }

// asFloat returns a number as a float64.
func (v value) asFloat() float64 {
	if v.kind == kindInteger {
		return float64(v.integer)
	}
	return v.float
}

// asInteger returns a number without its fraction; ok is false if it does not
// fit 64 bits.
func (v value) asInteger() (i int64, ok bool) {
	if v.kind == kindInteger {
		return v.integer, true
	}
	if v.float >= -(1<<63) && v.float < 1<<63 {
		return int64(v.float), true
	}
	return 0, false
}

func (v value) truth() bool {
	if number, ok := v.asNumber(); ok {
		return number.integer != 0 || number.float != 0
	}
	return v.text != ""
}

// parseNumber reads digits with an optional minus sign before and an optional
// fraction after them.
func parseNumber(text string) (number value, ok bool) {
	if i, ok := parseShort(text); ok {
		return integer(i), true
	}
	if text == "" || len(text) > maxNumber {
		return value{}, false
	}
	start := 0
	if text[0] == '-' {
		start = 1
	}
	whole := digits(text[start:])
	switch end := start + whole; {
	case whole == 0:
		return value{}, false
	case end < len(text):
		return parseFraction(text, end)
	}
	return parseLong(text)
}

// parseShort reads a whole number of so few digits that it fits 64 bits, as
// nearly all do.
func parseShort(text string) (i int64, ok bool) {
	const most = 18 // digits
	rest := text
	if rest != "" && rest[0] == '-' {
		rest = rest[1:]
	}
	if rest == "" || len(rest) > most {
		return 0, false
	}
	for at := range len(rest) {
		digit := rest[at] - '0'
		if digit > 9 {
			return 0, false
		}
		i = i*10 + int64(digit)
	}
	if len(rest) < len(text) {
		return -i, true
	}
	return i, true
}

// parseFraction reads a number that continues after its whole part at byte at.
func parseFraction(text string, at int) (number value, ok bool) {
	if fraction := digits(text[at+1:]); text[at] != '.' || fraction == 0 || at+1+fraction != len(text) {
		return value{}, false
	}
	return parseFloat(text)
}

// parseLong reads a whole number that may or may not fit 64 bits. That is
// decided beforehand because an error of strconv allocates.
func parseLong(text string) (number value, ok bool) {
	var size uint64
	negative := text[0] == '-'
	start := 0
	if negative {
		start = 1
	}
	for i := start; i < len(text); i++ {
		high, low := bits.Mul64(size, 10)
		sum, carry := bits.Add64(low, uint64(text[i]-'0'), 0)
		if high != 0 || carry != 0 {
			return parseFloat(text)
		}
		size = sum
	}
	switch {
	case negative && size <= 1<<63:
		return integer(int64(-size)), true
	case !negative && size < 1<<63:
		return integer(int64(size)), true
	}
	return parseFloat(text)
}

// parseFloat reads a text that is known to look like a number. With maxNumber
// bytes it cannot be too large for a float64.
func parseFloat(text string) (number value, ok bool) {
	f, err := strconv.ParseFloat(text, 64)
	return value{kind: kindFloat, float: f}, err == nil
}
