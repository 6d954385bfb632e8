package filter

import (
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

const blanks = " \t\r\n\v\f"

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenField
	tokenNumber
	tokenText
	tokenNull
	tokenOpen
	tokenClose
	tokenNot  // not, !
	tokenLike // like
	tokenIs   // is
	tokenIn   // in
	tokenComma
	tokenOperator // one that stands between two operands
)

// token is one word, number, text or sign of a filter.
type token struct {
	kind   tokenKind
	op     opcode // of a tokenOperator
	offset int
	text   string // the value of a tokenText; for all others the source
}

// shown returns the token as an error message names it: never quoted text of a client, and never
// much of it.
func (t token) shown() string {
	const most = 32
	switch {
	case t.kind == tokenEnd:
		return "the end"
	case t.kind == tokenText:
		return "the text"
	case len(t.text) > most:
		return t.text[:most] + "..."
	}
	return t.text
}

// lexer cuts a filter into tokens.
type lexer struct {
	text string
	at   int
}

// next returns the next token, a tokenEnd at the end of the text.
func (l *lexer) next() (token, error) {
	for l.at < len(l.text) && strings.IndexByte(blanks, l.text[l.at]) >= 0 {
		l.at++
	}
	rest := l.text[l.at:]
	if rest == "" {
		return token{kind: tokenEnd, offset: l.at}, nil
	}
	if mark, _ := quoteAt(rest); mark != notQuote {
		return l.quoted()
	}
	switch c := rest[0]; {
	case isDigit(c):
		return l.number()
	case isLetter(c):
		return l.word(), nil
	}
	kind, op, width := signAt(rest)
	if width == 0 {
		return token{}, &SyntaxError{l.at, "unexpected character"}
	}
	return l.take(kind, op, width), nil
}

// take returns the next width bytes as a token.
func (l *lexer) take(kind tokenKind, op opcode, width int) token {
	t := token{kind: kind, op: op, offset: l.at, text: l.text[l.at : l.at+width]}
	l.at += width
	return t
}

func (l *lexer) word() token {
	rest := l.text[l.at:]
	width := 1
	for width < len(rest) && isWord(rest[width]) {
		width++
	}
	kind, op := keyword(rest[:width])
	return l.take(kind, op, width)
}

var keywords = map[string]sign{
	"and": {tokenOperator, opAnd}, "or": {tokenOperator, opOr}, "not": {tokenNot, 0},
	"like": {tokenLike, 0}, "is": {tokenIs, 0}, "in": {tokenIn, 0}, "null": {tokenNull, 0},
}

func keyword(word string) (tokenKind, opcode) {
	const longest = len("null")
	if len(word) <= longest {
		if s, ok := keywords[strings.ToLower(word)]; ok {
			return s.kind, s.op
		}
	}
	return tokenField, 0
}

// number takes digits with an optional fraction. A following f, as in a float
// of C, is dropped.
func (l *lexer) number() (token, error) {
	rest := l.text[l.at:]
	width := digits(rest)
	if width < len(rest) && rest[width] == '.' {
		fraction := digits(rest[width+1:])
		if fraction == 0 {
			return token{}, &SyntaxError{l.at + width, "expected digits after the point"}
		}
		width += 1 + fraction
	}
	t := l.take(tokenNumber, 0, width)
	rest = rest[width:]
	if rest != "" && ascii.Lower(rest[0]) == 'f' && (len(rest) == 1 || !isWord(rest[1])) {
		l.at++
	}
	return t, nil
}

// sign is what an operator, a parenthesis or a comma means.
type sign struct {
	kind tokenKind
	op   opcode
}

var signs = map[string]sign{
	"||": {tokenOperator, opOr}, "&&": {tokenOperator, opAnd}, "==": {tokenOperator, opEqual},
	"!=": {tokenOperator, opNotEqual}, "<>": {tokenOperator, opNotEqual},
	"<=": {tokenOperator, opLessEqual}, ">=": {tokenOperator, opGreaterEqual},
	"<<": {tokenOperator, opShiftLeft}, ">>": {tokenOperator, opShiftRight},
	"(": {tokenOpen, 0}, ")": {tokenClose, 0}, ",": {tokenComma, 0}, "!": {tokenNot, 0},
	"=": {tokenOperator, opEqual}, "<": {tokenOperator, opLess}, ">": {tokenOperator, opGreater},
	"&": {tokenOperator, opBitAnd}, "|": {tokenOperator, opBitOr}, "^": {tokenOperator, opBitXor},
	"+": {tokenOperator, opAdd}, "-": {tokenOperator, opSubtract},
	"*": {tokenOperator, opMultiply}, "/": {tokenOperator, opDivide}, "%": {tokenOperator, opRemainder},
}

// signAt returns the sign that text starts with; width 0: none.
func signAt(text string) (kind tokenKind, op opcode, width int) {
	for width := min(len(text), 2); width > 0; width-- {
		if s, ok := signs[text[:width]]; ok {
			return s.kind, s.op, width
		}
	}
	return 0, 0, 0
}

// quote is a kind of quotation mark. A text ends at the kind it began with.
type quote uint8

const (
	notQuote quote = iota
	singleQuote
	doubleQuote
	singleCurlyByte // Windows-1252
	doubleCurlyByte
	singleCurlyRune // UTF-8
	doubleCurlyRune
)

// quoteAt returns the quotation mark text starts with and its width in bytes.
func quoteAt(text string) (mark quote, width int) {
	switch text[0] {
	case '\'':
		return singleQuote, 1
	case '"':
		return doubleQuote, 1
	case 0x91, 0x92:
		return singleCurlyByte, 1
	case 0x93, 0x94:
		return doubleCurlyByte, 1
	}
	if len(text) < 3 || text[:2] != "\xe2\x80" {
		return notQuote, 0
	}
	switch last := text[2]; {
	case last >= 0x98 && last <= 0x9b:
		return singleCurlyRune, 3
	case last == 0x9c || last == 0x9d:
		return doubleCurlyRune, 3
	}
	return notQuote, 0
}

func (l *lexer) quoted() (token, error) {
	offset := l.at
	opening, width := quoteAt(l.text[l.at:])
	var unquoted strings.Builder // the text before each doubled quote, with one of it
	from := l.at + width
	for at := from; at < len(l.text); {
		mark, width := quoteAt(l.text[at:])
		switch {
		case mark != opening:
			at++
		case strings.HasPrefix(l.text[at+width:], l.text[at:at+width]):
			unquoted.WriteString(l.text[from : at+width])
			at += 2 * width
			from = at
		default:
			l.at = at + width
			content := l.text[from:at]
			if unquoted.Len() > 0 {
				content = unquoted.String() + content
			}
			return token{kind: tokenText, offset: offset, text: content}, nil
		}
	}
	return token{}, &SyntaxError{offset, "missing closing quote"}
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c == '_' || ascii.Lower(c) >= 'a' && ascii.Lower(c) <= 'z' }
func isWord(c byte) bool   { return isLetter(c) || isDigit(c) || c == '.' }

// digits returns how many decimal digits text starts with.
func digits(text string) int {
	n := 0
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return n
}
