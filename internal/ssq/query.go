package ssq

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Bounds of a query. ErrTooLong reports that one is exceeded.
const (
	MaxQuery       = 2048 // bytes
	MaxFields      = 64   // columns of a SELECT
	MaxComparisons = 64   // of a WHERE, without the operators between them
	MaxWord        = 256  // bytes of a name, value, password or token
	maxNumber      = 1 << 30
)

var (
	// ErrSyntax reports a query that cannot be parsed. The error wraps it and
	// names the position.
	ErrSyntax = errors.New("syntax")

	// ErrTooLong reports a query that exceeds one of the bounds. The error
	// wraps it and names the bound.
	ErrTooLong = errors.New("too long")

	// ErrNoQuery reports a body that is not a query, and may be an answer: it
	// has bytes after a NUL, or only white space. A server that answered it
	// could be made to exchange packets with another server without end.
	ErrNoQuery = errors.New("no query")
)

func syntax(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSyntax, fmt.Sprintf(format, args...))
}

// Verb is the kind of a query.
type Verb uint8

// The verbs.
const (
	Ping      Verb = iota // PING, or SP ping
	Select                // SELECT fields [WHERE expressions] [IDENTIFIED token]
	Procedure             // SP name [WHERE expressions] [IDENTIFIED token]
	Auth                  // AUTH password
	Columns               // CL [LONG]
	Version               // VERSION
)

var verbWords = [...]string{"ping", "select", "sp", "auth", "cl", "version"}

// String returns the first word of the query, in lower case.
func (v Verb) String() string {
	if int(v) < len(verbWords) {
		return verbWords[v]
	}
	return "unknown"
}

// Op is an operator of a comparison.
type Op uint8

// The operators.
const (
	Equal Op = iota
	NotEqual
	Greater
	Less
)

var opTexts = [...]string{"=", "!=", ">", "<"}

// String returns the operator as queries spell it.
func (o Op) String() string {
	if int(o) < len(opTexts) {
		return opTexts[o]
	}
	return "?"
}

// Comparison is one of a WHERE. They are read from left to right; and binds more
// closely than or.
type Comparison struct {
	Or     bool   // joined to the one before by or, else by and; false for the first
	Column string // lower case
	Op     Op
	Value  string
}

// Query is a parsed query. Names and keywords are in lower case.
type Query struct {
	Verb     Verb
	Fields   []string // of Select, in their order
	Name     string   // of Procedure
	Password string   // of Auth
	Long     bool     // of Columns
	Where    []Comparison

	Identified string // IDENTIFIED: a token from AUTH
	Token      string // X-TOKEN: proves the client's address
	Header     HeaderForm
	Offset     int // X-OFFSET: rows to leave out, 0 to 2^30
	Limit      int // X-LIMIT: maximum number of rows, 1 to 2^30; 0: as many as fit
}

// ParseQuery reads the body of a request. It may be padded with NULs and white
// space. An error that wraps ErrSyntax or ErrTooLong can be sent to the client;
// the query then holds only the token at the end of the body. After ErrNoQuery
// the request must not be answered.
func ParseQuery(body []byte) (Query, error) {
	text, padding, _ := strings.Cut(string(body[:min(len(body), MaxQuery+1)]), "\x00")
	if strings.Trim(padding, "\x00") != "" || strings.TrimLeft(text, " \t\r\n") == "" {
		return Query{}, ErrNoQuery
	}
	if text = strings.TrimRight(text, " \t\r\n"); len(body) > MaxQuery {
		return Query{}, fmt.Errorf("%w: the query", ErrTooLong)
	}
	p := parser{lexer: lexer{text}}
	if err := p.query(); err != nil {
		return Query{Token: lastToken(text)}, err
	}
	return p.q, nil
}

// lastToken returns the token at the end of a text that cannot be parsed: a
// client with a token receives the full error of its query.
func lastToken(text string) string {
	i := strings.LastIndexByte(text, ' ')
	if i < 0 {
		return ""
	}
	rest, token := strings.TrimRight(text[:i], " "), text[i+1:]
	if word := rest[strings.LastIndexByte(rest, ' ')+1:]; !strings.EqualFold(word, TokenColumn) {
		return ""
	}
	return token
}

// parser reads a query, one clause after the other. Clauses do not nest.
type parser struct {
	lexer lexer
	q     Query
	seen  []string // clauses
}

func (p *parser) query() error {
	t, err := p.lexer.next()
	if err != nil {
		return err
	}
	i := -1
	if t.kind == tokenWord {
		i = slices.Index(verbWords[:], ascii.ToLower(t.text))
	}
	if i < 0 {
		return syntax("want SELECT, SP, AUTH, CL, VERSION or PING, got %s", t.describe())
	}
	p.q.Verb = Verb(i)
	switch p.q.Verb {
	case Select:
		t, err = p.fields()
	case Procedure:
		if p.q.Name, err = p.value("the name of a procedure"); err != nil {
			return err
		}
		if p.q.Name = ascii.ToLower(p.q.Name); p.q.Name == Ping.String() {
			p.q.Verb, p.q.Name = Ping, ""
		}
		t, err = p.lexer.next()
	case Auth:
		if p.q.Password, err = p.value("a password"); err != nil {
			return err
		}
		t, err = p.lexer.next()
	case Columns:
		if t, err = p.lexer.next(); err == nil && t.is("long") {
			p.q.Long = true
			t, err = p.lexer.next()
		}
	default:
		t, err = p.lexer.next()
	}
	return p.clauses(t, err)
}

// clauses reads the clauses after the first part, from t on.
func (p *parser) clauses(t token, err error) error {
	for p.seen = make([]string, 0, 4); err == nil && t.kind != tokenEnd; {
		t, err = p.clause(t)
	}
	return err
}

func (p *parser) clause(t token) (next token, err error) {
	word := ascii.ToLower(t.text)
	data := p.q.Verb == Select || p.q.Verb == Procedure
	if t.kind == tokenWord && slices.Contains(p.seen, word) {
		return t, syntax("%s comes twice", t.describe())
	}
	switch {
	case t.is("x-token"):
		p.q.Token, err = p.value("a token")
	case t.is("where") && data:
		p.seen = append(p.seen, word)
		return p.where()
	case t.is("identified") && data:
		p.q.Identified, err = p.value("a token")
	case t.is("x-header") && data:
		err = p.header()
	case t.is("x-offset") && data:
		p.q.Offset, err = p.number(0)
	case t.is("x-limit") && data:
		p.q.Limit, err = p.number(1)
	default:
		return t, syntax("%s makes no sense there", t.describe())
	}
	if err != nil {
		return t, err
	}
	p.seen = append(p.seen, word)
	return p.lexer.next()
}

// value reads the value after a keyword.
func (p *parser) value(what string) (string, error) {
	t, err := p.lexer.value()
	if err == nil && t.text == "" {
		err = syntax("want %s", what)
	}
	return t.text, err
}

func (p *parser) number(low int) (int, error) {
	text, err := p.value("a number")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || int(n) < low || n > maxNumber {
		return 0, syntax("want a number from %d to %d, got %.20q", low, maxNumber, text)
	}
	return int(n), nil
}

func (p *parser) header() error {
	text, err := p.value("a form of header")
	if err != nil {
		return err
	}
	i := slices.Index(headerWords[:], ascii.ToLower(text))
	if i < 0 {
		return syntax("want normal, compact or null, got %.20q", text)
	}
	p.q.Header = HeaderForm(i)
	return nil
}

// fields reads the list of columns and returns the next token.
func (p *parser) fields() (token, error) {
	for {
		t, err := p.lexer.next()
		if err != nil {
			return t, err
		}
		if t.kind != tokenWord {
			return t, syntax("want the name of a column, got %s", t.describe())
		}
		if len(p.q.Fields) == MaxFields {
			return t, fmt.Errorf("%w: more than %d columns", ErrTooLong, MaxFields)
		}
		p.q.Fields = append(p.q.Fields, ascii.ToLower(t.text))
		if t, err = p.lexer.next(); err != nil || t.kind != tokenComma {
			return t, err
		}
	}
}

// where reads comparisons and returns the next token.
func (p *parser) where() (token, error) {
	for or := false; ; {
		if len(p.q.Where) == MaxComparisons {
			return token{}, fmt.Errorf("%w: more than %d comparisons", ErrTooLong, MaxComparisons)
		}
		c, err := p.comparison()
		if err != nil {
			return token{}, err
		}
		c.Or = or
		p.q.Where = append(p.q.Where, c)
		t, err := p.lexer.next()
		if err != nil || (!t.is("and") && !t.is("or")) {
			return t, err
		}
		or = t.is("or")
	}
}

func (p *parser) comparison() (Comparison, error) {
	var c Comparison
	t, err := p.lexer.next()
	if err == nil && t.kind != tokenWord {
		err = syntax("want the name of a column, got %s", t.describe())
	}
	if err != nil {
		return c, err
	}
	c.Column = ascii.ToLower(t.text)
	if t, err = p.lexer.next(); err == nil && t.kind != tokenOp {
		err = syntax("want =, !=, > or < behind %.20q, got %s", c.Column, t.describe())
	}
	if err != nil {
		return c, err
	}
	c.Op = t.op
	if t, err = p.lexer.next(); err == nil && t.kind != tokenWord && t.kind != tokenQuoted {
		err = syntax("want a value behind %s, got %s", c.Op, t.describe())
	}
	c.Value = t.text
	return c, err
}

// AppendTo appends the query as ParseQuery reads it. Names must be words: one
// byte or more, without white space, a quote, a comma, an operator, a
// parenthesis or a control character. Bounds are not checked.
func (q Query) AppendTo(b []byte) []byte {
	b = append(b, strings.ToUpper(q.Verb.String())...)
	switch q.Verb {
	case Select:
		b = append(append(b, ' '), strings.Join(q.Fields, ",")...)
	case Procedure:
		b = append(append(b, ' '), q.Name...)
	case Auth:
		b = appendValue(append(b, ' '), q.Password)
	case Columns:
		if q.Long {
			b = append(b, " LONG"...)
		}
	default:
	}
	for i, c := range q.Where {
		switch {
		case i == 0:
			b = append(b, " WHERE "...)
		case c.Or:
			b = append(b, " or "...)
		default:
			b = append(b, " and "...)
		}
		b = append(append(append(b, c.Column...), ' '), c.Op.String()...)
		b = appendLiteral(append(b, ' '), c.Value)
	}
	return q.appendClauses(b)
}

func (q Query) appendClauses(b []byte) []byte {
	if q.Identified != "" {
		b = appendValue(append(b, " IDENTIFIED "...), q.Identified)
	}
	if q.Header != NormalHeader {
		b = append(append(b, " X-HEADER "...), q.Header.String()...)
	}
	if q.Offset > 0 {
		b = strconv.AppendInt(append(b, " X-OFFSET "...), int64(q.Offset), 10)
	}
	if q.Limit > 0 {
		b = strconv.AppendInt(append(b, " X-LIMIT "...), int64(q.Limit), 10)
	}
	if q.Token != "" {
		b = appendValue(append(b, " X-TOKEN "...), q.Token)
	}
	return b
}

// appendValue appends the value after a keyword, quoted if necessary.
func appendValue(b []byte, text string) []byte {
	plain := text != "" && text[0] != '"' && text[0] != '\''
	for i := 0; plain && i < len(text); i++ {
		plain = text[i] > ' ' && text[i] != 0x7F
	}
	if plain {
		return append(b, text...)
	}
	return appendQuoted(b, text)
}

// appendLiteral appends a value to compare with: digits as they are, all other
// values in quotes.
func appendLiteral(b []byte, text string) []byte {
	if text != "" && strings.Trim(text, "0123456789") == "" {
		return append(b, text...)
	}
	return appendQuoted(b, text)
}
