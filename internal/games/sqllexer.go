package games

import (
	"bytes"
	"strings"
)

// sqlLexer splits SQL text into words, strings and punctuation. It understands the
// quotes and escapes that mysqldump and pg_dump write.
type sqlLexer struct {
	rest []byte
	line int // of rest, from 1
	err  error
}

// sqlToken is a word, the text of a string, or one character.
type sqlToken struct {
	text   string
	quoted bool // it is never a keyword or punctuation
}

func (t sqlToken) is(word string) bool { return !t.quoted && strings.EqualFold(t.text, word) }

func (t sqlToken) punct(c string) bool { return !t.quoted && t.text == c }

// next returns the next token; false: there is none, or err is set.
func (l *sqlLexer) next() (sqlToken, bool) {
	l.skipSpace()
	if len(l.rest) == 0 {
		return sqlToken{}, false
	}
	switch c := l.rest[0]; {
	case c == '\'':
		return l.quoted(c, true)
	case c == '`' || c == '"':
		return l.quoted(c, false)
	case sqlWord(c):
		n := 1
		for n < len(l.rest) && sqlWord(l.rest[n]) {
			n++
		}
		return sqlToken{text: string(l.take(n))}, true
	default:
		return sqlToken{text: string(l.take(1))}, true
	}
}

func sqlWord(c byte) bool {
	return c == '_' || c == '-' || c == '$' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// take cuts n bytes off the text.
func (l *sqlLexer) take(n int) []byte {
	b := l.rest[:n]
	l.line += bytes.Count(b, []byte{'\n'})
	l.rest = l.rest[n:]
	return b
}

// skipSpace skips space and comments.
func (l *sqlLexer) skipSpace() {
	for len(l.rest) > 0 {
		switch {
		case bytes.HasPrefix(l.rest, []byte("--")), l.rest[0] == '#':
			l.skipLine()
		case bytes.HasPrefix(l.rest, []byte("/*")):
			end := bytes.Index(l.rest, []byte("*/"))
			if end < 0 {
				l.err = errSQL
				l.rest = nil
				return
			}
			l.take(end + 2)
		case l.rest[0] <= ' ':
			l.take(1)
		default:
			return
		}
	}
}

// quoted reads a quoted text. A doubled quote is one; in a string a backslash
// escapes the next character, as mysqldump writes it.
func (l *sqlLexer) quoted(quote byte, escapes bool) (sqlToken, bool) {
	var text []byte
	for i := 1; i < len(l.rest); i++ {
		c := l.rest[i]
		switch {
		case c == '\\' && escapes && i+1 < len(l.rest):
			i++
			text = append(text, unescapeSQL(l.rest[i]))
		case c == quote && i+1 < len(l.rest) && l.rest[i+1] == quote:
			i++
			text = append(text, c)
		case c == quote:
			l.take(i + 1)
			return sqlToken{text: string(text), quoted: true}, true
		default:
			text = append(text, c)
		}
	}
	l.err = errSQL
	l.rest = nil
	return sqlToken{}, false
}

func unescapeSQL(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case '0':
		return 0
	default:
		return c
	}
}

// accept takes a character if it is next.
func (l *sqlLexer) accept(c string) bool {
	l.skipSpace()
	if len(l.rest) == 0 || l.rest[0] != c[0] {
		return false
	}
	l.take(1)
	return true
}

// table reads the name of a table, in lower case and without its schema.
func (l *sqlLexer) table() string {
	var name string
	for {
		t, ok := l.next()
		if !ok {
			return ""
		}
		if t.is("if") || t.is("not") || t.is("exists") || t.is("only") || t.is("ignore") {
			continue
		}
		name = t.text
		if !l.accept(".") {
			break
		}
	}
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	return strings.ToLower(name)
}

// skipStatement skips the rest of a statement and its semicolon.
func (l *sqlLexer) skipStatement() {
	for {
		t, ok := l.next()
		if !ok || t.punct(";") {
			return
		}
	}
}

// skipLine skips the rest of the line.
func (l *sqlLexer) skipLine() { _, _ = l.rawLine() }

// rawLine returns the rest of the line; false: there is none.
func (l *sqlLexer) rawLine() (string, bool) {
	if len(l.rest) == 0 {
		return "", false
	}
	end := bytes.IndexByte(l.rest, '\n')
	if end < 0 {
		return string(l.take(len(l.rest))), true
	}
	line := l.take(end + 1)
	return strings.TrimRight(string(line), "\r\n"), true
}
