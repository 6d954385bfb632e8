package filter

import (
	"cmp"

	"github.com/respawnd/respawnd/internal/ascii"
)

// evaluator is one call of Match.
type evaluator struct {
	filter *Filter
	row    Row
	steps  int // remaining; at 0 everything is false or null and returns at once
}

// truth evaluates the node at index to true or false.
func (e *evaluator) truth(index int) bool {
	for e.steps > 0 {
		n := e.filter.nodes[index]
		e.steps--
		switch n.op {
		case opOr:
			if e.truth(int(n.a)) {
				return true
			}
			index = int(n.b)
		case opAnd:
			if !e.truth(int(n.a)) {
				return false
			}
			index = int(n.b)
		case opNot:
			return !e.truth(int(n.a))
		case opIsNull, opIsNotNull:
			return e.isNull(int(n.a)) == (n.op == opIsNull)
		case opEqual, opNotEqual, opLess, opLessEqual, opGreater, opGreaterEqual:
			return e.comparison(n)
		case opLike, opNotLike:
			return e.like(n)
		case opIn, opNotIn:
			return e.in(n)
		default:
			e.steps++ // bare takes it
			return e.bare(index)
		}
	}
	return false
}

// bare evaluates a value that stands where true or false is wanted.
func (e *evaluator) bare(index int) bool {
	return e.value(index).truth()
}

// value evaluates the node at index to a value.
func (e *evaluator) value(index int) value {
	if e.steps <= 0 {
		return value{}
	}
	n := e.filter.nodes[index]
	switch {
	case n.op == opField:
		e.steps--
		return value{kind: kindField, text: e.field(int(n.a))}
	case n.op == opConstant:
		e.steps--
		return e.filter.constants[n.a]
	case n.op == opNegate:
		e.steps--
		return arithmetic(opSubtract, integer(0), e.value(int(n.a)))
	case n.op.precedence() > precedenceCompare:
		e.steps--
		return arithmetic(n.op, e.value(int(n.a)), e.value(int(n.b)))
	case e.truth(index):
		return integer(1)
	}
	return integer(0)
}

// field returns the row's value at index i of the names, "" if there is none.
func (e *evaluator) field(i int) string {
	text, ok := e.row.Field(i)
	if !ok {
		return ""
	}
	return text
}

func (e *evaluator) isNull(index int) bool {
	return e.nullAt(uint16(index), e.value(index))
}

// nullAt reports whether v, the value of the node at index, is null.
func (e *evaluator) nullAt(index uint16, v value) bool {
	n := e.filter.nodes[index]
	if n.op != opField {
		return v.kind == kindNull
	}
	return v.text == "" || int(n.a) == e.filter.groupID && v.text == "0"
}

// in evaluates a node with a list: whether the left side equals one value of it,
// or differs from all. The left side is evaluated once, the values up to the one
// that decides.
func (e *evaluator) in(n node) bool {
	op := opEqual
	if n.op == opNotIn {
		op = opNotEqual
	}
	left := e.value(int(n.a))
	for index := n.b; index != 0; {
		item := e.filter.nodes[index]
		e.steps--
		if found := e.inItem(op, n.a, left, item.a); found == (n.op == opIn) {
			return found
		}
		index = item.b
		if e.steps <= 0 {
			return false
		}
	}
	return n.op == opNotIn
}

// inItem compares the value left of the node at leftIndex with an item of a list,
// as the operators = and != do.
func (e *evaluator) inItem(op opcode, leftIndex uint16, left value, item uint16) bool {
	switch {
	case e.filter.isNullConstant(int(item)):
		return e.nullAt(leftIndex, left) == (op == opEqual)
	case e.filter.isNullConstant(int(leftIndex)):
		return e.nullAt(item, e.value(int(item))) == (op == opEqual)
	}
	return e.compare(op, left, e.value(int(item)))
}

// comparison evaluates a node with one of the six operators of equality and
// order. Nearly all of them compare a field with a constant, of which the common
// ones are done here and the rest by compare, with the same result.
func (e *evaluator) comparison(n node) bool {
	left, right := e.filter.nodes[n.a], e.filter.nodes[n.b]
	if left.op != opField || right.op != opConstant {
		return e.compare(n.op, e.value(int(n.a)), e.value(int(n.b)))
	}
	e.steps -= 2
	text := e.field(int(left.a))
	constant := &e.filter.constants[right.a]
	switch {
	case constant.kind == kindQuoted && n.op == opEqual:
		return e.equalText(text, constant.text)
	case constant.kind == kindQuoted && n.op == opNotEqual:
		return !e.equalText(text, constant.text)
	case constant.kind == kindInteger:
		if i, ok := parseShort(text); ok {
			return ordered(n.op, cmp.Compare(i, constant.integer))
		}
	}
	return e.compare(n.op, value{kind: kindField, text: text}, *constant)
}

// compare applies one of the six operators of equality and order.
func (e *evaluator) compare(op opcode, left, right value) bool {
	if left.kind == kindNull || right.kind == kindNull {
		return false
	}
	equality := op == opEqual || op == opNotEqual
	quoted := left.kind == kindQuoted || right.kind == kindQuoted
	if !equality || !quoted {
		if a, b, ok := numbers(left, right); ok {
			return ordered(op, compareNumbers(a, b))
		}
	}
	a, b := left.asText(), right.asText()
	if equality {
		return e.equalText(a, b) == (op == opEqual)
	}
	return ordered(op, e.compareText(a, b))
}

// ordered reports whether op holds for two values of the given order.
func ordered(op opcode, order int) bool {
	switch op {
	case opEqual:
		return order == 0
	case opNotEqual:
		return order != 0
	case opLess:
		return order < 0
	case opLessEqual:
		return order <= 0
	case opGreater:
		return order > 0
	default:
		return order >= 0
	}
}

// numbers returns the numbers to compare, if it is numbers that have to be
// compared. An empty field is 0 next to a number.
func numbers(left, right value) (a, b value, ok bool) {
	a, okA := left.asNumber()
	b, okB := right.asNumber()
	switch {
	case okA && okB:
		return a, b, true
	case okA && right.isEmptyField():
		return a, integer(0), true
	case okB && left.isEmptyField():
		return integer(0), b, true
	}
	return value{}, value{}, false
}

func compareNumbers(a, b value) int {
	if a.kind == kindInteger && b.kind == kindInteger {
		return cmp.Compare(a.integer, b.integer)
	}
	return cmp.Compare(a.asFloat(), b.asFloat())
}

// equalText is compareText for equality, which is settled if the lengths differ.
func (e *evaluator) equalText(a, b string) bool {
	return len(a) == len(b) && e.compareText(a, b) == 0
}

// compareText compares without case, a step for each byte.
func (e *evaluator) compareText(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		if order := cmp.Compare(ascii.Lower(a[i]), ascii.Lower(b[i])); order != 0 {
			e.steps -= i + 1
			return order
		}
	}
	e.steps -= min(len(a), len(b))
	return cmp.Compare(len(a), len(b))
}

// like evaluates opLike or opNotLike. Null is neither like anything nor not.
func (e *evaluator) like(n node) bool {
	text, pattern := e.value(int(n.a)), e.value(int(n.b))
	if text.kind == kindNull || pattern.kind == kindNull {
		return false
	}
	return e.matches(text.asText(), pattern.asText()) == (n.op == opLike)
}

// matches reports whether the whole of text fits pattern. It places each
// stretch of pattern between two % as far left as it fits; placing it further
// right could not help the stretches after it. So only the last stretch that
// was begun is ever tried again, and the steps are at most len(text) times
// len(pattern).
func (e *evaluator) matches(text, pattern string) bool {
	const none = -1
	stretch, start := none, 0 // where it begins in pattern, and in text
	i, p := 0, 0
	for i < len(text) {
		e.steps--
		if e.steps <= 0 {
			return false
		}
		if p < len(pattern) && pattern[p] == '%' {
			p++
			if p == len(pattern) {
				return true
			}
			stretch, start = p, i
			continue
		}
		if width := fits(text[i], pattern[p:]); width > 0 {
			i++
			p += width
			continue
		}
		if stretch == none {
			return false
		}
		start++
		i, p = start, stretch
	}
	for p < len(pattern) && pattern[p] == '%' {
		p++
	}
	return p == len(pattern)
}

// fits returns how many bytes of pattern stand for c, 0 if pattern is at its end
// or asks for another byte. pattern does not start with %.
func fits(c byte, pattern string) (width int) {
	if pattern == "" {
		return 0
	}
	want, width := pattern[0], 1
	switch {
	case want == '_':
		return width
	case want == '\\' && len(pattern) > 1:
		want, width = pattern[1], 2
	}
	if ascii.Lower(want) != ascii.Lower(c) {
		return 0
	}
	return width
}
