package sake

import (
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/ascii"
)

type kind uint8

const (
	endToken    kind = iota // the end of the text
	wordToken               // a name or a word such as "and", in tok.text
	quotedToken             // a name in brackets, in tok.text
	textToken               // a quoted text
	numberToken
	signToken // an operator, parenthesis or comma, in tok.text
	badToken
)

// token is a part of a filter or a sort.
type token struct {
	kind kind
	text string
}

// is reports whether t is a word, ignoring case.
func (t token) is(word string) bool { return t.kind == wordToken && ascii.EqualFold(t.text, word) }

// lexer splits a text into tokens.
type lexer struct{ rest string }

func (l *lexer) next() token {
	l.rest = strings.TrimLeft(l.rest, " \t\r\n")
	if l.rest == "" {
		return token{}
	}
	switch c := l.rest[0]; {
	case (c == 'N' || c == 'n') && len(l.rest) > 1 && l.rest[1] == '\'': // N'text' of SQL Server
		l.rest = l.rest[1:]
		return l.quoted('\'')
	case c == '\'' || c == '"':
		return l.quoted(c)
	case c == '[':
		end := strings.IndexByte(l.rest, ']')
		if end < 0 {
			return token{kind: badToken}
		}
		name := l.rest[1:end]
		l.rest = l.rest[end+1:]
		return token{quotedToken, name}
	case isDigit(c), c == '.' && len(l.rest) > 1 && isDigit(l.rest[1]):
		return l.cut(numberToken, numberLen(l.rest))
	case isNameByte(c):
		n := 1
		for n < len(l.rest) && isNameByte(l.rest[n]) {
			n++
		}
		return l.cut(wordToken, n)
	}
	for _, sign := range []string{"<=", ">=", "<>", "!=", "==", "=", "<", ">", "(", ")", ",", "-", "+"} {
		if strings.HasPrefix(l.rest, sign) {
			return l.cut(signToken, len(sign))
		}
	}
	return token{kind: badToken}
}

// cut returns the first n bytes as a token.
func (l *lexer) cut(k kind, n int) token {
	t := token{k, l.rest[:n]}
	l.rest = l.rest[n:]
	return t
}

// quoted returns a text up to its quote. A quote in it is doubled or behind a
// backslash.
func (l *lexer) quoted(quote byte) token {
	var text strings.Builder
	for i := 1; i < len(l.rest); i++ {
		c := l.rest[i]
		switch {
		case c == '\\' && i+1 < len(l.rest) && l.rest[i+1] == quote && strings.IndexByte(l.rest[i+2:], quote) >= 0:
			i++
			c = quote
		case c == quote && i+1 < len(l.rest) && l.rest[i+1] == quote:
			i++
		case c == quote:
			l.rest = l.rest[i+1:]
			return token{textToken, text.String()}
		}
		text.WriteByte(c)
	}
	return token{kind: badToken}
}

// isNameByte reports whether c may be part of a name without brackets.
func isNameByte(c byte) bool {
	return c == '_' || c == '.' || c == '@' || c == '#' || c == '$' || isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// numberLen returns the length of the number at the start of s.
func numberLen(s string) int {
	n := 0
	digits := func() {
		for n < len(s) && isDigit(s[n]) {
			n++
		}
	}
	digits()
	if n < len(s) && s[n] == '.' {
		n++
		digits()
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		mantissa := n
		n++
		if n < len(s) && (s[n] == '-' || s[n] == '+') {
			n++
		}
		if n == len(s) || !isDigit(s[n]) {
			return mantissa
		}
		digits()
	}
	return n
}

// constant is a text or number of a filter, in all forms that a field may be compared
// with.
type constant struct {
	text    string // in lower case
	number  float64
	integer int64
	date    int64 // seconds since 1970

	isNumber, isInteger, isDate bool
}

// newConstant returns a constant. A quoted number is a number too, as in SQL.
func newConstant(text string) constant {
	c := constant{text: ascii.ToLower(text)}
	trimmed := strings.TrimSpace(c.text)
	if f, err := strconv.ParseFloat(trimmed, 64); err == nil && f-f == 0 { // not infinite
		c.number, c.isNumber = f, true
	}
	if n, err := strconv.ParseInt(trimmed, 10, 64); err == nil {
		c.integer, c.isInteger = n, true
	}
	switch trimmed {
	case "true":
		c.number, c.integer, c.isNumber, c.isInteger = 1, 1, true, true
	case "false":
		c.isNumber, c.isInteger = true, true
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if t, err := time.Parse(form, strings.ToUpper(trimmed)); err == nil {
			c.date, c.isDate = t.Unix(), true
			break
		}
	}
	return c
}
