package ssq

import (
	"fmt"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenQuoted
	tokenComma
	tokenOp
)

// token is a part of a query. A word ends at white space, a quote, a comma, an
// operator or a parenthesis.
type token struct {
	kind tokenKind
	text string // of a quoted one without quotes and escapes
	op   Op
}

// is reports whether the token is a keyword, which is given in lower case.
func (t token) is(keyword string) bool {
	return t.kind == tokenWord && ascii.EqualFold(t.text, keyword)
}

// describe returns the token for messages.
func (t token) describe() string {
	switch t.kind {
	case tokenEnd:
		return "the end"
	case tokenComma:
		return "a comma"
	case tokenOp:
		return t.op.String()
	default:
		return fmt.Sprintf("%.20q", t.text)
	}
}

// lexer cuts a query into tokens.
type lexer struct{ rest string }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// endsWord reports whether a byte ends the word before it.
func endsWord(c byte) bool {
	switch c {
	case ',', '=', '!', '<', '>', '(', ')', '"', '\'':
		return true
	}
	return isSpace(c)
}

func (l *lexer) skipSpace() {
	for l.rest != "" && isSpace(l.rest[0]) {
		l.rest = l.rest[1:]
	}
}

func (l *lexer) next() (token, error) {
	l.skipSpace()
	if l.rest == "" {
		return token{}, nil
	}
	switch c := l.rest[0]; c {
	case ',':
		l.rest = l.rest[1:]
		return token{kind: tokenComma}, nil
	case '"', '\'':
		return l.quoted(c)
	case '=', '!', '<', '>':
		for op, text := range opTexts {
			if rest, found := strings.CutPrefix(l.rest, text); found {
				l.rest = rest
				return token{kind: tokenOp, op: Op(op)}, nil
			}
		}
		return token{}, syntax("want != and not !")
	case '(', ')':
		return token{}, syntax("there are no parentheses")
	default:
		return l.word(endsWord)
	}
}

// value reads the value after a keyword: a quoted text, or everything up to
// white space.
func (l *lexer) value() (token, error) {
	l.skipSpace()
	switch {
	case l.rest == "":
		return token{}, nil
	case l.rest[0] == '"' || l.rest[0] == '\'':
		return l.quoted(l.rest[0])
	default:
		return l.word(isSpace)
	}
}

func (l *lexer) word(ends func(byte) bool) (token, error) {
	n := 0
	for n < len(l.rest) && !ends(l.rest[n]) {
		if c := l.rest[n]; c < ' ' || c == 0x7F {
			return token{}, syntax("control character")
		}
		n++
	}
	t := token{kind: tokenWord, text: l.rest[:n]}
	l.rest = l.rest[n:]
	return t, checkWord(t.text)
}

// quoted reads up to the quote with which the text begins. After a backslash n
// is a newline, and any other byte itself.
func (l *lexer) quoted(quote byte) (token, error) {
	var text []byte
	for i := 1; i < len(l.rest); i++ {
		c := l.rest[i]
		switch {
		case c == quote:
			l.rest = l.rest[i+1:]
			t := token{kind: tokenQuoted, text: string(text)}
			return t, checkWord(t.text)
		case c == '\\' && i+1 < len(l.rest):
			i++
			if c = l.rest[i]; c == 'n' {
				c = '\n'
			}
		}
		text = append(text, c)
	}
	return token{}, syntax("quote without end")
}

func checkWord(text string) error {
	if len(text) > MaxWord {
		return fmt.Errorf("%w: a name or value", ErrTooLong)
	}
	return nil
}

// appendQuoted appends a text so that quoted reads it.
func appendQuoted(b []byte, text string) []byte {
	b = append(b, '"')
	for i := range len(text) {
		switch c := text[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
