package ssq

import (
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/ascii"
	wire "github.com/respawnd/respawnd/internal/ssq"
)

// test is a comparison of a WHERE with its column.
type test struct {
	or  bool // begins another alternative
	col *column
	op  wire.Op

	text    string // lower case
	number  float64
	numeric bool
	address netip.AddrPort // port 0: any
}

// newTest reads the value as the kind of its column demands. The error is for
// the client.
func newTest(c wire.Comparison, col *column, now time.Time) (test, error) {
	t := test{or: c.Or, col: col, op: c.Op, text: ascii.ToLower(c.Value)}
	want := ""
	switch col.kind {
	case textKind:
	case mixedKind:
		t.number, t.numeric = parseNumber(c.Value)
	case numberKind, boolKind:
		if t.number, t.numeric = parseNumber(c.Value); !t.numeric {
			want = "a number"
		}
	case timeKind:
		at, err := wire.ParseTime(c.Value, now)
		if err != nil {
			want = "a time"
		}
		t.number = float64(at.Unix())
	case durationKind:
		d, err := wire.ParseDuration(c.Value)
		if err != nil {
			want = "a duration"
		}
		t.number = float64(d / time.Second)
	case addressKind:
		var ok bool
		if t.address, ok = parseAddress(c.Value); !ok {
			want = "an address"
		}
	}
	if want != "" {
		return test{}, fmt.Errorf("%.40s: want %s, got %.40q", c.Column, want, c.Value)
	}
	return t, nil
}

// parseAddress reads an address with or without port.
func parseAddress(text string) (netip.AddrPort, bool) {
	if a, err := netip.ParseAddrPort(text); err == nil && a.Port() != 0 {
		return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()), true
	}
	a, err := netip.ParseAddr(text)
	return netip.AddrPortFrom(a.Unmap(), 0), err == nil
}

// parseNumber reads a decimal number as servers report it.
func parseNumber(text string) (float64, bool) {
	text = strings.TrimSpace(text)
	digits := strings.TrimPrefix(text, "-")
	if digits == "" {
		return 0, false
	}
	whole, n := len(digits) <= 15, int64(0) // largest integer range that a float64 holds exactly
	for i := range len(digits) {
		switch c := digits[i]; {
		case c >= '0' && c <= '9':
			n = n*10 + int64(c-'0')
		case c == '.' || (c == '+' && len(digits) == len(text)):
			whole = false
		default:
			return 0, false // neither hexadecimal, infinite nor in powers of ten
		}
	}
	if !whole {
		f, err := strconv.ParseFloat(text, 64)
		return f, err == nil && !math.IsInf(f, 0)
	}
	if len(digits) < len(text) {
		n = -n
	}
	return float64(n), true
}

// matches reports whether the row that the cursor is at satisfies the tests:
// alternatives, of which each is tests that must all hold. No tests hold.
func matches(tests []test, c *cursor) bool {
	ok := true
	for i := range tests {
		if tests[i].or {
			if ok {
				return true
			}
			ok = true
		}
		ok = ok && tests[i].holds(c)
	}
	return ok
}

func (t *test) holds(c *cursor) bool {
	switch t.col.kind {
	case textKind:
		return t.decide(compareFolded(t.col.text(c), t.text), true)
	case mixedKind:
		text := t.col.text(c)
		if n, ok := parseNumber(text); ok && t.numeric {
			return t.decide(compareNumbers(n, t.number), true)
		}
		return t.decide(compareFolded(text, t.text), true)
	case addressKind:
		a := t.col.address(c)
		order := a.Addr().Unmap().Compare(t.address.Addr())
		if order == 0 && t.address.Port() != 0 && a.Port() != 0 {
			order = int(a.Port()) - int(t.address.Port())
		}
		return t.decide(order, true)
	default:
		n, known := float64(0), false
		if t.col.text != nil {
			n, known = parseNumber(t.col.text(c))
		} else {
			n, known = t.col.number(c)
		}
		return t.decide(compareNumbers(n, t.number), known)
	}
}

// decide applies the operator to how the value of the row stands to that of the
// query. An unknown value differs from all and is neither greater nor less.
func (t *test) decide(order int, known bool) bool {
	switch t.op {
	case wire.Equal:
		return known && order == 0
	case wire.NotEqual:
		return !known || order != 0
	case wire.Greater:
		return known && order > 0
	default:
		return known && order < 0
	}
}

func compareNumbers(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// compareFolded compares a text with one in lower case, byte by byte.
func compareFolded(a, lower string) int {
	for i := range min(len(a), len(lower)) {
		if c := ascii.Lower(a[i]); c != lower[i] {
			return int(c) - int(lower[i])
		}
	}
	return len(a) - len(lower)
}
