package sake

import (
	"errors"
	"slices"

	"github.com/respawnd/respawnd/storage"
)

// Bounds of a filter.
const (
	maxFilter  = 4 << 10 // bytes
	maxTerms   = 500     // comparisons
	maxNesting = 100     // of parentheses and "not"
)

// errFilter reports a filter that cannot be used. Clients get no details.
var errFilter = errors.New("not a filter")

// filter is a compiled filter. It may be used by one goroutine at a time, and reads the
// values of rows where they are stored.
type filter struct{ root *term }

type operation uint8

const (
	andOp operation = iota
	orOp
	notOp
	equalOp
	unequalOp
	lessOp
	lessEqualOp
	greaterOp
	greaterEqualOp
	likeOp
	isNullOp
)

// term is a part of a filter: a comparison of two operands, or a combination of terms.
type term struct {
	op          operation
	parts       []*term // of and, or, not
	left, right operand
	pattern     pattern // of like
}

// operand is a column or a constant.
type operand struct {
	slot  int // of a column; -1: a constant
	value constant
}

// truth is the value of a term, as in SQL: a comparison with a missing value is neither
// true nor false.
type truth uint8

const (
	no truth = iota
	yes
	unknown
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// all reports whether the filter matches all rows.
func (f *filter) all() bool { return f.root.op == andOp && len(f.root.parts) == 0 }

// match reports whether the filter is true for the row that slots has read.
func (f *filter) match(s *slots) bool { return f.root.eval(s) == yes }

func (t *term) eval(s *slots) truth {
	switch t.op {
	case andOp, orOp:
		decides, result := no, yes
		if t.op == orOp {
			decides, result = yes, no
		}
		for _, part := range t.parts {
			switch got := part.eval(s); got {
			case decides:
				return got
			case unknown:
				result = unknown
			default:
			}
		}
		return result
	case notOp:
		switch t.parts[0].eval(s) {
		case yes:
			return no
		case no:
			return yes
		default:
			return unknown
		}
	case isNullOp:
		return truthOf(s.values[t.left.slot].Type == 0)
	case likeOp:
		s.work += termWork
		v := &s.values[t.left.slot]
		if !v.Type.IsText() {
			return unknown
		}
		return truthOf(t.pattern.match(v.Text, &s.work))
	default:
		return t.compare(s)
	}
}

// compare returns the value of a comparison.
func (t *term) compare(s *slots) truth {
	s.work += termWork
	var order int
	var ok bool
	switch {
	case t.left.slot < 0:
		order, ok = compareConstant(&s.values[t.right.slot], &t.left.value, &s.work)
		order = -order
	case t.right.slot < 0:
		order, ok = compareConstant(&s.values[t.left.slot], &t.right.value, &s.work)
	default:
		order, ok = compareValues(&s.values[t.left.slot], &s.values[t.right.slot], &s.work)
	}
	if !ok {
		return unknown
	}
	switch t.op {
	case equalOp:
		return truthOf(order == 0)
	case unequalOp:
		return truthOf(order != 0)
	case lessOp:
		return truthOf(order < 0)
	case lessEqualOp:
		return truthOf(order <= 0)
	case greaterOp:
		return truthOf(order > 0)
	default:
		return truthOf(order >= 0)
	}
}

// parser compiles a filter.
type parser struct {
	lexer
	tok     token
	columns *columns
	terms   int
	depth   int
}

// parseFilter compiles a filter; an empty one matches all rows. The columns that it names are
// added to the slots of columns.
func parseFilter(text string, c *columns) (*filter, error) {
	if len(text) > maxFilter {
		return nil, errFilter
	}
	p := &parser{lexer: lexer{text}, columns: c}
	p.advance()
	if p.tok.kind == endToken {
		return &filter{root: &term{op: andOp}}, nil
	}
	root, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != endToken {
		return nil, errFilter
	}
	return &filter{root: root}, nil
}

func (p *parser) advance() { p.tok = p.next() }

func (p *parser) accept(sign string) bool {
	if p.tok.kind != signToken || p.tok.text != sign {
		return false
	}
	p.advance()
	return true
}

func (p *parser) acceptWord(word string) bool {
	if !p.tok.is(word) {
		return false
	}
	p.advance()
	return true
}

func (p *parser) or() (*term, error)  { return p.chain(orOp, "or", p.and) }
func (p *parser) and() (*term, error) { return p.chain(andOp, "and", p.not) }

// chain parses parts between which a word stands.
func (p *parser) chain(op operation, word string, part func() (*term, error)) (*term, error) {
	first, err := part()
	if err != nil || !p.tok.is(word) {
		return first, err
	}
	t := &term{op: op, parts: []*term{first}}
	for p.acceptWord(word) {
		next, err := part()
		if err != nil {
			return nil, err
		}
		t.parts = append(t.parts, next)
	}
	return t, nil
}

// not parses a comparison, a filter in parentheses, or the negation of one.
func (p *parser) not() (*term, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, errFilter
	}
	defer func() { p.depth-- }()
	switch {
	case p.acceptWord("not"):
		t, err := p.not()
		return &term{op: notOp, parts: []*term{t}}, err
	case p.accept("("):
		t, err := p.or()
		if err == nil && !p.accept(")") {
			err = errFilter
		}
		return t, err
	}
	return p.comparison()
}

// comparison parses two operands with an operator.
func (p *parser) comparison() (*term, error) {
	if p.terms++; p.terms > maxTerms {
		return nil, errFilter
	}
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	t := &term{left: left}
	switch {
	case p.acceptWord("is"):
		t.op = isNullOp
		negated := p.acceptWord("not")
		if left.slot < 0 || !p.acceptWord("null") {
			return nil, errFilter
		}
		return negate(t, negated), nil
	case p.tok.is("not") || p.tok.is("like"):
		t.op = likeOp
		negated := p.acceptWord("not")
		if left.slot < 0 || !p.acceptWord("like") || p.tok.kind != textToken {
			return nil, errFilter
		}
		t.pattern = newPattern(p.tok.text)
		p.advance()
		return negate(t, negated), nil
	}
	if t.op, err = p.operator(); err != nil {
		return nil, err
	}
	if t.right, err = p.operand(); err == nil && t.left.slot < 0 && t.right.slot < 0 {
		return constantTerm(t), nil
	}
	return t, err
}

func negate(t *term, negated bool) *term {
	if !negated {
		return t
	}
	return &term{op: notOp, parts: []*term{t}}
}

// constantTerm returns a term that is as true as the comparison of two constants, such
// as 1 = 1: an empty chain.
func constantTerm(t *term) *term {
	l, r := &t.left.value, &t.right.value
	left := storage.SakeValue{Type: storage.SakeASCII, Text: []byte(l.text)}
	if l.isInteger && r.isInteger {
		left = storage.SakeValue{Type: storage.SakeInt64, Num: l.integer}
	}
	s := slots{values: []storage.SakeValue{left}}
	compared := term{op: t.op, left: operand{slot: 0}, right: t.right}
	if compared.compare(&s) == yes {
		return &term{op: andOp}
	}
	return &term{op: orOp}
}

// operator parses the sign of a comparison.
func (p *parser) operator() (operation, error) {
	if p.tok.kind != signToken {
		return 0, errFilter
	}
	i := slices.Index([]string{"=", "==", "!=", "<>", "<", "<=", ">", ">="}, p.tok.text)
	if i < 0 {
		return 0, errFilter
	}
	p.advance()
	return []operation{equalOp, equalOp, unequalOp, unequalOp, lessOp, lessEqualOp, greaterOp, greaterEqualOp}[i], nil
}

// operand parses a name, a text or a number.
func (p *parser) operand() (o operand, err error) {
	t := p.tok
	switch {
	case t.kind == textToken, t.kind == numberToken, t.is("true"), t.is("false"):
		p.advance()
		return operand{-1, newConstant(t.text)}, nil
	case t.kind == signToken && (t.text == "-" || t.text == "+"):
		p.advance()
		if p.tok.kind != numberToken {
			return o, errFilter
		}
		number := t.text + p.tok.text
		p.advance()
		return operand{-1, newConstant(number)}, nil
	case t.kind == wordToken && !isReserved(t), t.kind == quotedToken:
		p.advance()
		slot, ok := p.columns.slot(t.text)
		if !ok {
			return o, errFilter
		}
		return operand{slot: slot}, nil
	}
	return o, errFilter
}

// isReserved reports whether a word cannot be the name of a column.
func isReserved(t token) bool {
	return slices.ContainsFunc([]string{"and", "or", "not", "is", "null", "like"}, t.is)
}
