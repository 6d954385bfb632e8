package sake

import (
	"cmp"
	"math"
	"unicode/utf8"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/storage"
)

// Costs of the parts of a search, in units of work; a unit is about one byte that is
// compared.
const (
	rowWork      = 32
	termWork     = 16
	rowWorkShift = 2 // a unit for as many bytes of a row, as a power of 2
)

// compareConstant compares a value with a constant. ok is false if the value is missing
// or of another kind.
func compareConstant(v *storage.SakeValue, c *constant, work *int) (order int, ok bool) {
	switch v.Type {
	case storage.SakeFloat:
		return cmp.Compare(v.Float(), float32(c.number)), c.isNumber
	case storage.SakeDate:
		if c.isDate {
			return cmp.Compare(v.Num, c.date), true
		}
		return compareInteger(v.Num, c)
	case storage.SakeASCII, storage.SakeUnicode:
		return compareFolded(v.Text, c.text, work), true
	case 0, storage.SakeBinary:
		return 0, false
	default:
		return compareInteger(v.Num, c)
	}
}

// compareInteger compares an integer with a constant, exactly if that is one too.
func compareInteger(n int64, c *constant) (int, bool) {
	if c.isInteger {
		return cmp.Compare(n, c.integer), true
	}
	return cmp.Compare(float64(n), c.number), c.isNumber
}

// compareFolded compares a text with one in lower case, ignoring case.
func compareFolded(text []byte, folded string, work *int) int {
	n := min(len(text), len(folded))
	for i := range n {
		if c := lower(text[i]); c != folded[i] {
			*work += i
			return cmp.Compare(c, folded[i])
		}
	}
	*work += n
	return cmp.Compare(len(text), len(folded))
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// class orders values of types that cannot be compared: none, numbers, texts, binary
// data.
func class(t storage.SakeType) int {
	switch {
	case t == 0:
		return 0
	case t.IsText():
		return 2
	case t == storage.SakeBinary:
		return 3
	default:
		return 1
	}
}

// compareValues compares two values. ok is false if one is missing or they are of
// different kinds.
func compareValues(a, b *storage.SakeValue, work *int) (order int, ok bool) {
	k := class(a.Type)
	if k != class(b.Type) || k == 0 {
		return 0, false
	}
	if k == 1 {
		return compareNumbers(a, b), true
	}
	n := min(len(a.Text), len(b.Text))
	for i := range n {
		x, y := a.Text[i], b.Text[i]
		if k == 2 {
			x, y = lower(x), lower(y)
		}
		if x != y {
			*work += i
			return cmp.Compare(x, y), true
		}
	}
	*work += n
	return cmp.Compare(len(a.Text), len(b.Text)), true
}

// compareNumbers compares the numbers of two values exactly: with rounding, an integer
// could equal a float that equals another integer, and a sort would have no order.
func compareNumbers(a, b *storage.SakeValue) int {
	switch {
	case a.Type != storage.SakeFloat && b.Type != storage.SakeFloat:
		return cmp.Compare(a.Num, b.Num)
	case a.Type != storage.SakeFloat:
		return compareWithFloat(a.Num, float64(b.Float()))
	case b.Type != storage.SakeFloat:
		return -compareWithFloat(b.Num, float64(a.Float()))
	}
	return cmp.Compare(a.Float(), b.Float())
}

// compareWithFloat compares an integer with a float, exactly.
func compareWithFloat(n int64, f float64) int {
	switch {
	case f >= math.MaxInt64: // rounded to 2^63
		return -1
	case f < math.MinInt64:
		return 1
	}
	whole := math.Trunc(f)
	return cmp.Or(cmp.Compare(n, int64(whole)), cmp.Compare(whole, f))
}

// pattern is the pattern of a like: pieces between the % signs, in lower case.
type pattern struct {
	pieces []string
}

// newPattern returns a pattern. % stands for any text, _ for a character.
func newPattern(text string) pattern {
	var p pattern
	folded := ascii.ToLower(text)
	start := 0
	for i := range len(folded) {
		if folded[i] == '%' {
			p.pieces = append(p.pieces, folded[start:i])
			start = i + 1
		}
	}
	p.pieces = append(p.pieces, folded[start:])
	return p
}

// match reports whether a text has the pattern. Each piece is looked for behind the one
// before, and never again elsewhere: if the first occurrence does not lead to a match, no
// other one does.
func (p *pattern) match(text []byte, work *int) bool {
	last := len(p.pieces) - 1
	n, ok := piece(text, p.pieces[0], work)
	if !ok {
		return false
	}
	text = text[n:]
	if last == 0 {
		return len(text) == 0
	}
	for _, want := range p.pieces[1:last] {
		for {
			if n, ok = piece(text, want, work); ok {
				break
			}
			if len(text) == 0 {
				return false
			}
			text = text[1:]
		}
		text = text[n:]
	}
	return endsWith(text, p.pieces[last], work)
}

// piece reports whether a text begins with a piece, and with how many bytes.
func piece(text []byte, want string, work *int) (n int, ok bool) {
	for i := range len(want) {
		*work++
		switch {
		case n == len(text):
			return 0, false
		case want[i] == '_':
			_, size := utf8.DecodeRune(text[n:])
			n += size
		case lower(text[n]) != want[i]:
			return 0, false
		default:
			n++
		}
	}
	return n, true
}

func endsWith(text []byte, want string, work *int) bool {
	for i := len(want) - 1; i >= 0; i-- {
		*work++
		switch {
		case len(text) == 0:
			return false
		case want[i] == '_':
			_, size := utf8.DecodeLastRune(text)
			text = text[:len(text)-size]
		case lower(text[len(text)-1]) != want[i]:
			return false
		default:
			text = text[:len(text)-1]
		}
	}
	return true
}
