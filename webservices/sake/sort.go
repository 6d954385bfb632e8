package sake

import (
	"errors"
	"hash/maphash"
	"slices"
)

// maxSort is the number of columns of a sort.
const maxSort = 16

// errSort reports a sort that cannot be used.
var errSort = errors.New("not a sort")

// order is a compiled sort. The zero value is the order of ids.
type order struct {
	by      []sortColumn
	random  bool
	seed    maphash.Seed // of a random order
	falling bool         // the whole order is reversed
}

type sortColumn struct {
	slot    int
	falling bool
}

// parseSort compiles a sort: columns, each with "asc" or "desc", or "random".
func parseSort(text string, c *columns) (o order, err error) {
	if len(text) > maxFilter {
		return o, errSort
	}
	l := lexer{text}
	t := l.next()
	if t.kind == endToken {
		return o, nil
	}
	for {
		if t.kind != wordToken && t.kind != quotedToken || len(o.by) == maxSort {
			return o, errSort
		}
		name := t
		t = l.next()
		if slot, ok := c.slot(name.text); ok {
			o.by = append(o.by, sortColumn{slot: slot})
		} else if isRandom(name) && !o.random {
			o.random, o.seed = true, maphash.MakeSeed()
			if t = skipCall(&l, t); t.kind == badToken {
				return o, errSort
			}
		} else {
			return o, errSort
		}
		if desc := t.is("desc"); desc || t.is("asc") {
			if len(o.by) > 0 && !o.random {
				o.by[len(o.by)-1].falling = desc
			}
			t = l.next()
		}
		switch {
		case t.kind == endToken:
			return o, nil
		case t.kind != signToken || t.text != ",":
			return o, errSort
		}
		t = l.next()
	}
}

// isRandom reports whether a word asks for a random order, as the SQL of some
// databases does.
func isRandom(t token) bool {
	return slices.ContainsFunc([]string{"random", "rand", "newid", "@random", "@rand"}, t.is)
}

// skipCall skips the parentheses behind the name of a function, and returns the token
// behind them.
func skipCall(l *lexer, t token) token {
	if t.kind != signToken || t.text != "(" {
		return t
	}
	if t = l.next(); t.kind != signToken || t.text != ")" {
		return token{kind: badToken}
	}
	return l.next()
}
