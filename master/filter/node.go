package filter

// opcode is the operation of a node.
type opcode uint8

const (
	opConstant opcode = iota // a: index into Filter.constants
	opField                  // a: index into Filter.names
	opOr                     // from here on a and b are the operands' nodes
	opAnd
	opNot // only a
	opEqual
	opNotEqual
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
	opLike
	opNotLike
	opIsNull    // only a
	opIsNotNull // only a
	opIn        // b: the first opItem
	opNotIn     // b: the first opItem
	opBitAnd
	opBitOr
	opBitXor
	opShiftLeft
	opShiftRight
	opAdd
	opSubtract
	opMultiply
	opDivide
	opRemainder
	opNegate // only a
	opItem   // a value of a list; b: the next one, 0 for none
)

// node is one operator, field or constant of a compiled filter.
type node struct {
	op   opcode
	a, b uint16
}

// isNullConstant reports whether the node at index is the word null.
func (f *Filter) isNullConstant(index int) bool {
	n := f.nodes[index]
	return n.op == opConstant && f.constants[n.a].kind == kindNull
}

// precedence is how tightly an operator binds; a larger one binds tighter.
type precedence uint8

const (
	precedenceOr precedence = iota + 1
	precedenceAnd
	precedenceNot
	precedenceCompare
	precedenceBits
	precedenceSum
	precedenceTerm
	precedenceMinus
	precedenceValue
)

func (o opcode) precedence() precedence {
	switch {
	case o <= opField:
		return precedenceValue
	case o == opOr:
		return precedenceOr
	case o == opAnd:
		return precedenceAnd
	case o == opNot:
		return precedenceNot
	case o <= opNotIn:
		return precedenceCompare
	case o <= opShiftRight:
		return precedenceBits
	case o <= opSubtract:
		return precedenceSum
	case o <= opRemainder:
		return precedenceTerm
	default:
		return precedenceMinus
	}
}

// spelling returns the operator as the canonical form has it.
func (o opcode) spelling() string {
	return [...]string{
		opOr: "or", opAnd: "and", opNot: "not",
		opEqual: "=", opNotEqual: "!=",
		opLess: "<", opLessEqual: "<=", opGreater: ">", opGreaterEqual: ">=",
		opLike: "like", opNotLike: "not like",
		opIsNull: "is null", opIsNotNull: "is not null", opIn: "in", opNotIn: "not in",
		opBitAnd: "&", opBitOr: "|", opBitXor: "^", opShiftLeft: "<<", opShiftRight: ">>",
		opAdd: "+", opSubtract: "-", opMultiply: "*", opDivide: "/", opRemainder: "%",
		opNegate: "-",
	}[o]
}
