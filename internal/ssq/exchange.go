package ssq

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrForeign reports a packet that does not answer the request: it has another
// ID. More packets may come.
var ErrForeign = errors.New("ssq: not the answer to this question")

// ErrRefused reports that the server refused the query. The error wraps it and
// gives the reason; the exchange is over.
var ErrRefused = errors.New("ssq: refused")

// Step is the next action for the caller after a packet.
type Step uint8

// The steps.
const (
	Wait Step = iota // wait for more packets
	Ask              // send Question, which has changed
	Done             // the answer is whole, or the server refused
)

const (
	// maxTokens is the number of tokens that a server may send in an exchange.
	maxTokens = 2

	// minRequest is the length up to which requests are padded with spaces: an
	// unproved address is sent nothing longer than its request, and a token
	// must fit.
	minRequest = 40
)

// Exchange is one query to one server and its answer. It repeats the token of a
// server that requires proof of the address. It is not safe for concurrent use.
// Packets passed to Take must come from the address that was queried.
type Exchange struct {
	query  Query
	id     byte
	tokens int // received so far
	over   bool
	parts  Assembly
	answer Table
}

// NewExchange starts an exchange. The server repeats id; use another one for
// each query to a server.
func NewExchange(q Query, id byte) *Exchange { return &Exchange{query: q, id: id} }

// Question returns the packet to send now, and to repeat if nothing comes.
func (e *Exchange) Question() []byte {
	b := Header{ID: e.id, Count: 1}.AppendTo(nil)
	b = e.query.AppendTo(b)
	if pad := minRequest - len(b); pad > 0 {
		b = append(b, bytes.Repeat([]byte{' '}, pad)...)
	}
	return b
}

// Take handles a packet of the server and returns the next step. After an error
// the exchange continues as if the packet had not come, unless the step is
// Done; the error is ErrForeign, ErrMalformed, ErrTooMuch, or wraps ErrRefused.
func (e *Exchange) Take(packet []byte) (Step, error) {
	if e.over {
		return Done, ErrForeign
	}
	h, body, err := ParseHeader(packet)
	switch {
	case err != nil:
		return Wait, err
	case h.ID != e.id:
		return Wait, ErrForeign
	}
	whole, err := e.parts.add(h, body)
	if err != nil || !whole {
		return Wait, err
	}
	answer := e.parts.Answer()
	if e.query.Verb == Ping && isPong(answer) {
		e.over = true
		return Done, nil
	}
	t, err := ParseTable(answer, e.query.Columns())
	if err != nil {
		e.parts = Assembly{} // further packets cannot repair it
		return Wait, err
	}
	return e.read(t)
}

// read handles a whole answer.
func (e *Exchange) read(t Table) (Step, error) {
	switch {
	case isOnly(&t, TokenColumn) && len(t.Rows[0][0]) > MaxWord:
		e.parts = Assembly{}
		return Wait, ErrMalformed
	case isOnly(&t, TokenColumn):
		if e.tokens++; e.tokens > maxTokens {
			e.over = true
			return Done, fmt.Errorf("%w: the server does not take the token that it gave", ErrRefused)
		}
		// A new ID keeps packets of the old answer apart from the new ones.
		e.query.Token, e.id, e.parts = t.Rows[0][0], e.id+1, Assembly{}
		return Ask, nil
	case isOnly(&t, ErrorColumn):
		e.over = true
		return Done, fmt.Errorf("%w: %.200q", ErrRefused, t.Rows[0][0])
	case e.query.Verb == Ping:
		e.parts = Assembly{}
		return Wait, ErrMalformed
	}
	e.over, e.answer = true, t
	return Done, nil
}

// isOnly reports whether a table is one cell in one column of that name.
func isOnly(t *Table, column string) bool {
	return len(t.Columns) == 1 && t.Columns[0] == column && len(t.Rows) == 1 && t.Rows[0][0] != ""
}

// Answer returns the answer; it is empty before Take returned Done, and for a
// ping.
func (e *Exchange) Answer() Table { return e.answer }

// Columns returns the columns of the answer to a query; nil if the query does
// not determine them.
func (q Query) Columns() []string {
	switch q.Verb {
	case Select:
		return q.Fields
	case Procedure:
		return ProcedureFields(q.Name)
	case Auth:
		return []string{AuthColumn}
	case Version:
		return VersionColumns()
	default:
		return nil
	}
}

// ProcedureFields returns the columns of a procedure that every server has:
// players, rules and info; nil for others. The caller owns the slice.
func ProcedureFields(name string) []string {
	switch name {
	case "players":
		return []string{"playername", "ping", "frags", "deaths"}
	case "rules":
		return []string{"rulename", "rulevalue"}
	case "info":
		return []string{"hostname", "hostip", "numplayers", "maxplayers", "map"}
	default:
		return nil
	}
}

// VersionColumns returns the columns of the answer to VERSION. The caller owns
// the slice.
func VersionColumns() []string { return []string{"PROTO", "GAME", "SERVER"} }
