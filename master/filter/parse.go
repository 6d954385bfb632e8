package filter

import (
	"slices"
	"strings"
)

// parser turns tokens into the nodes of a filter. It recurses once per
// parenthesis, sign or right-hand side, which MaxLength bounds.
type parser struct {
	lexer
	filter   *Filter
	token    token // the next one
	previous token // the one before it
}

// parse fills f with the filter that text is. text is not blank.
func parse(f *Filter, text string) error {
	const usual = 8 // room for the filters of most games
	f.nodes, f.constants, f.names = make([]node, 0, 2*usual), make([]value, 0, usual/2), make([]string, 0, usual/2)
	p := parser{lexer: lexer{text: text}, filter: f}
	if err := p.advance(); err != nil {
		return err
	}
	if _, err := p.expression(precedenceOr); err != nil {
		return err
	}
	if p.token.kind != tokenEnd {
		return p.unexpected()
	}
	return nil
}

func (p *parser) advance() (err error) {
	p.previous = p.token
	p.token, err = p.next()
	return err
}

// expression reads operands and the operators between them, as long as these
// bind at least as tightly as floor. It returns the index of the top node.
func (p *parser) expression(floor precedence) (int, error) {
	left, err := p.operand(floor)
	for err == nil {
		op, infix := p.operator()
		bind := op.precedence()
		if !infix || bind < floor {
			return left, nil
		}
		if left, err = p.operation(op, left); err != nil {
			break
		}
		if next, infix := p.operator(); infix && bind == precedenceCompare && next.precedence() == bind {
			return 0, p.fault("comparisons do not chain")
		}
	}
	return 0, err
}

// operator returns the operator the next token begins, if it begins one.
func (p *parser) operator() (op opcode, infix bool) {
	switch p.token.kind {
	case tokenOperator:
		return p.token.op, true
	case tokenLike:
		return opLike, true
	case tokenNot:
		return opNotLike, true // or opNotIn, depending on the next token
	case tokenIn:
		return opIn, true
	case tokenIs:
		return opIsNull, true
	default:
		return 0, false
	}
}

// operation parses the operator op and its right operand, and applies it to left.
func (p *parser) operation(op opcode, left int) (int, error) {
	if err := p.advance(); err != nil {
		return 0, err
	}
	if op == opIsNull {
		return p.isNull(left)
	}
	if op == opNotLike {
		switch p.token.kind {
		case tokenLike:
		case tokenIn:
			op = opNotIn
		default:
			return 0, p.expected("like or in")
		}
		if err := p.advance(); err != nil {
			return 0, err
		}
	}
	if op == opIn || op == opNotIn {
		return p.in(op, left)
	}
	right, err := p.expression(op.precedence() + 1)
	if err != nil {
		return 0, err
	}
	return p.binary(op, left, right), nil
}

// isNull parses the rest after "is".
func (p *parser) isNull(left int) (int, error) {
	op := opIsNull
	if p.token.kind == tokenNot {
		op = opIsNotNull
		if err := p.advance(); err != nil {
			return 0, err
		}
	}
	if p.token.kind != tokenNull {
		return 0, p.expected("null")
	}
	return p.add(op, left, 0), p.advance()
}

// in reads the list of values that follows "in" or "not in".
func (p *parser) in(op opcode, left int) (int, error) {
	if p.token.kind != tokenOpen {
		return 0, p.expected("a list in parentheses")
	}
	opening := p.token.offset
	first, last := 0, 0
	for first == 0 || p.token.kind == tokenComma {
		if err := p.advance(); err != nil {
			return 0, err
		}
		value, err := p.expression(op.precedence() + 1)
		if err != nil {
			return 0, err
		}
		item := p.add(opItem, value, 0)
		if first == 0 {
			first = item
		} else {
			p.filter.nodes[last].b = uint16(item)
		}
		last = item
	}
	switch p.token.kind {
	case tokenClose:
		return p.add(op, left, first), p.advance()
	case tokenEnd:
		return 0, &SyntaxError{opening, "missing closing parenthesis"}
	default:
		return 0, p.unexpected()
	}
}

// operand reads a value or a prefix operator with its operand.
func (p *parser) operand(floor precedence) (int, error) {
	t := p.token
	switch {
	case t.kind == tokenNot && floor <= precedenceNot:
		return p.prefix(opNot)
	case t.kind == tokenOperator && t.op == opSubtract:
		return p.prefix(opNegate)
	case t.kind == tokenOpen:
		return p.parenthesis()
	}
	var node int
	switch t.kind {
	case tokenField:
		node = p.add(opField, p.name(strings.ToLower(t.text)), 0)
	case tokenText:
		node = p.constant(value{kind: kindQuoted, text: t.text})
	case tokenNull:
		node = p.constant(value{kind: kindNull})
	case tokenNumber:
		number, ok := parseNumber(t.text)
		if !ok {
			return 0, p.fault("number with too many digits")
		}
		number.text = t.text
		node = p.constant(number)
	default:
		return 0, p.expected("a value")
	}
	return node, p.advance()
}

func (p *parser) prefix(op opcode) (int, error) {
	if err := p.advance(); err != nil {
		return 0, err
	}
	operand, err := p.expression(op.precedence())
	if err != nil {
		return 0, err
	}
	return p.add(op, operand, 0), nil
}

func (p *parser) parenthesis() (int, error) {
	opening := p.token.offset
	if err := p.advance(); err != nil {
		return 0, err
	}
	node, err := p.expression(precedenceOr)
	if err != nil {
		return 0, err
	}
	switch p.token.kind {
	case tokenClose:
		return node, p.advance()
	case tokenEnd:
		return 0, &SyntaxError{opening, "missing closing parenthesis"}
	default:
		return 0, p.unexpected()
	}
}

// binary adds a node with two operands. Equality with null is "is null".
func (p *parser) binary(op opcode, left, right int) int {
	null := opIsNull
	if op == opNotEqual {
		null = opIsNotNull
	}
	switch {
	case op != opEqual && op != opNotEqual:
	case p.filter.isNullConstant(right):
		return p.add(null, left, 0)
	case p.filter.isNullConstant(left):
		return p.add(null, right, 0)
	}
	return p.add(op, left, right)
}

// add appends a node and returns its index. No index exceeds MaxLength, since
// each node comes from a token of its own; that of an item is the parenthesis or
// comma before it.
func (p *parser) add(op opcode, a, b int) int {
	p.filter.nodes = append(p.filter.nodes, node{op, uint16(a), uint16(b)})
	return len(p.filter.nodes) - 1
}

func (p *parser) constant(v value) int {
	p.filter.constants = append(p.filter.constants, v)
	return p.add(opConstant, len(p.filter.constants)-1, 0)
}

// name returns the index of a field name in Names, adding it if it is new.
func (p *parser) name(name string) int {
	if i := slices.Index(p.filter.names, name); i >= 0 {
		return i
	}
	p.filter.names = append(p.filter.names, name)
	i := len(p.filter.names) - 1
	if name == "groupid" {
		p.filter.groupID = i
	}
	return i
}

// fault is a syntax error at the next token.
func (p *parser) fault(message string) error {
	return &SyntaxError{p.token.offset, message}
}

// expected is the error for a next token that should have been something else.
func (p *parser) expected(what string) error {
	message := "expected " + what
	if p.previous.text != "" || p.previous.kind == tokenText {
		message += " after " + p.previous.shown()
	}
	return p.fault(message)
}

// unexpected is the error for a next token that should not be there at all.
func (p *parser) unexpected() error {
	if p.token.kind == tokenClose {
		return p.fault("closing parenthesis without an opening one")
	}
	return p.fault("expected an operator before " + p.token.shown())
}
