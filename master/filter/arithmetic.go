package filter

import (
	"math"
)

// arithmetic applies a bit operation, +, -, *, / or %.
func arithmetic(op opcode, left, right value) value {
	if left.kind == kindNull || right.kind == kindNull {
		return value{}
	}
	// Other values count as 0.
	a, ok := left.asNumber()
	if !ok {
		a = integer(0)
	}
	b, ok := right.asNumber()
	if !ok {
		b = integer(0)
	}
	if op.precedence() == precedenceBits {
		return bitOperation(op, a, b)
	}
	if a.kind == kindInteger && b.kind == kindInteger {
		if result, ok := integerArithmetic(op, a.integer, b.integer); ok {
			return result
		}
	}
	return floatArithmetic(op, a.asFloat(), b.asFloat())
}

// integerArithmetic is for whole numbers. ok is false if the result does not fit
// 64 bits.
func integerArithmetic(op opcode, a, b int64) (result value, ok bool) {
	switch op {
	case opAdd:
		sum := a + b
		return integer(sum), (sum > a) == (b > 0)
	case opSubtract:
		difference := a - b
		return integer(difference), (difference < a) == (b > 0)
	case opMultiply:
		if b == -1 {
			return integer(-a), a != math.MinInt64
		}
		product := a * b
		return integer(product), b == 0 || product/b == a
	default:
		return integerDivision(op, a, b)
	}
}

func integerDivision(op opcode, a, b int64) (result value, ok bool) {
	if b == 0 {
		return value{}, true
	}
	if op == opRemainder {
		return integer(a % b), true
	}
	return integer(a / b), a != math.MinInt64 || b != -1
}

func floatArithmetic(op opcode, a, b float64) value {
	switch op {
	case opAdd:
		return float(a + b)
	case opSubtract:
		return float(a - b)
	case opMultiply:
		return float(a * b)
	case opDivide:
		return float(a / b) // x/0 is not finite, so null
	default:
		return float(math.Mod(a, b)) // x%0 is not finite, so null
	}
}

func bitOperation(op opcode, left, right value) value {
	a, fits := left.asInteger()
	b, fitsToo := right.asInteger()
	if !fits || !fitsToo {
		return value{}
	}
	switch op {
	case opBitAnd:
		return integer(a & b)
	case opBitOr:
		return integer(a | b)
	case opBitXor:
		return integer(a ^ b)
	default:
		return shift(op, a, b)
	}
}

func shift(op opcode, a, b int64) value {
	if b < 0 || b > 63 {
		return value{}
	}
	if op == opShiftLeft {
		return integer(a << b)
	}
	return integer(a >> b)
}
