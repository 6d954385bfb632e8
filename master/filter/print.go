package filter

import (
	"strings"
)

// String returns the canonical form: names and keywords in lower case, one blank
// around operators, no parenthesis without need, and one spelling for each
// operator. Filters with equal canonical forms match the same rows, and compiling
// the form gives the same filter again. Should the form be longer than MaxLength,
// it is the text the filter was compiled from instead. The blank filter is "".
func (f *Filter) String() string {
	if f.Trivial() {
		return ""
	}
	var b strings.Builder
	b.Grow(len(f.source) + len(f.source)/4)
	f.print(&b, len(f.nodes)-1, precedenceOr)
	if b.Len() > MaxLength {
		return f.source
	}
	return b.String()
}

// print writes the node at index, in parentheses if it binds less tightly than
// floor.
func (f *Filter) print(b *strings.Builder, index int, floor precedence) {
	n := f.nodes[index]
	bind := n.op.precedence()
	if bind < floor {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	switch n.op {
	case opConstant:
		printConstant(b, f.constants[n.a])
	case opField:
		b.WriteString(f.names[n.a])
	case opNot:
		b.WriteString("not ")
		f.print(b, int(n.a), bind)
	case opNegate:
		b.WriteByte('-')
		f.print(b, int(n.a), bind)
	case opIsNull, opIsNotNull:
		f.print(b, int(n.a), bind+1)
		b.WriteString(" " + n.op.spelling())
	case opIn, opNotIn:
		f.print(b, int(n.a), bind+1)
		b.WriteString(" " + n.op.spelling() + " (")
		for index := n.b; index != 0; index = f.nodes[index].b {
			if index != n.b {
				b.WriteString(", ")
			}
			f.print(b, int(f.nodes[index].a), bind+1)
		}
		b.WriteByte(')')
	default:
		left, right := bind, bind+1
		if bind == precedenceCompare {
			left = bind + 1 // comparisons do not chain
		}
		if n.op == opOr || n.op == opAnd {
			right = bind // a or (b or c) is a or b or c
		}
		f.print(b, int(n.a), left)
		b.WriteString(" " + n.op.spelling() + " ")
		f.print(b, int(n.b), right)
	}
}

func printConstant(b *strings.Builder, v value) {
	switch v.kind {
	case kindNull:
		b.WriteString("null")
	case kindQuoted:
		b.WriteByte('\'')
		b.WriteString(strings.ReplaceAll(v.text, "'", "''"))
		b.WriteByte('\'')
	default:
		b.WriteString(v.text)
	}
}
