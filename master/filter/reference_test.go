package filter_test

import (
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// expr is a filter as a tree. It is the plain reading of the language, with no
// regard to cost, that compiled filters are held against.
type expr struct {
	op    string // as the canonical form has it, "-1" for a minus sign, or one of the leaves
	leaf  string // text of a leaf
	left  *expr
	right *expr
	items []*expr // of in and not in
}

const (
	leafNumber = "number"
	leafText   = "text"
	leafField  = "field"
	leafNull   = "null"
)

// result is the value of an expression: nil is null, a number is an int64 or a float64,
// and text is a string.
type result struct {
	worth  any
	text   string // of a leaf
	quoted bool
	field  bool
}

var looksNumeric = regexp.MustCompile(`^-?\d+(\.\d+)?$`)

func number(text string) any {
	if !looksNumeric.MatchString(text) || len(text) > 64 {
		return nil
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	f, _ := strconv.ParseFloat(text, 64)
	return f
}

// worthOf returns the number r is or looks like, or nil.
func worthOf(r result) any {
	if text, isText := r.worth.(string); isText {
		return number(text)
	}
	return r.worth
}

func toFloat(n any) float64 {
	if i, whole := n.(int64); whole {
		return float64(i)
	}
	return n.(float64)
}

func toText(r result) string {
	if r.text != "" {
		return r.text
	}
	switch n := r.worth.(type) {
	case int64:
		return strconv.FormatInt(n, 10)
	case float64:
		format := byte('f')
		if size := math.Abs(n); size != 0 && (size < 1e-6 || size >= 1e21) {
			format = 'e'
		}
		return strconv.FormatFloat(n, format, -1, 64)
	case string:
		return n
	}
	return ""
}

func truth(r result) bool {
	if n := worthOf(r); n != nil {
		return toFloat(n) != 0
	}
	text, _ := r.worth.(string)
	return text != ""
}

func fromBool(b bool) result {
	if b {
		return result{worth: int64(1)}
	}
	return result{worth: int64(0)}
}

func (x *expr) eval(s server) result {
	switch x.op {
	case leafNumber:
		return result{worth: number(x.leaf), text: x.leaf}
	case leafText:
		return result{worth: x.leaf, quoted: true}
	case leafField:
		return result{worth: s[strings.ToLower(x.leaf)], field: true}
	case leafNull:
		return result{}
	case "or":
		return fromBool(truth(x.left.eval(s)) || truth(x.right.eval(s)))
	case "and":
		return fromBool(truth(x.left.eval(s)) && truth(x.right.eval(s)))
	case "not":
		return fromBool(!truth(x.left.eval(s)))
	case "in", "not in":
		return x.spelledOut().eval(s)
	case "is null":
		return fromBool(x.left.null(s))
	case "is not null":
		return fromBool(!x.left.null(s))
	case "-1":
		return evalArithmetic("-", result{worth: int64(0)}, x.left.eval(s))
	case "=", "!=":
		if x.left.op == leafNull {
			return fromBool(x.right.null(s) == (x.op == "="))
		}
		if x.right.op == leafNull {
			return fromBool(x.left.null(s) == (x.op == "="))
		}
	}
	left, right := x.left.eval(s), x.right.eval(s)
	switch x.op {
	case "=", "!=", "<", "<=", ">", ">=", "like", "not like":
		if left.worth == nil || right.worth == nil {
			return fromBool(false)
		}
		if strings.HasSuffix(x.op, "like") {
			return fromBool(evalLike(toText(left), toText(right)) == (x.op == "like"))
		}
		return fromBool(evalCompare(x.op, left, right))
	}
	return evalArithmetic(x.op, left, right)
}

// spelledOut returns a list of values as comparisons with each of them.
func (x *expr) spelledOut() *expr {
	equal, join := "=", "or"
	if x.op == "not in" {
		equal, join = "!=", "and"
	}
	var all *expr
	for _, item := range x.items {
		one := &expr{op: equal, left: x.left, right: item}
		if all == nil {
			all = one
		} else {
			all = &expr{op: join, left: all, right: one}
		}
	}
	return all
}

func (x *expr) null(s server) bool {
	r := x.eval(s)
	if x.op == leafField {
		return r.worth == "" || strings.EqualFold(x.leaf, "groupid") && r.worth == "0"
	}
	return r.worth == nil
}

func evalCompare(op string, left, right result) bool {
	order, known := 0, false
	equality := op == "=" || op == "!="
	if !equality || !left.quoted && !right.quoted {
		a, b := worthOf(left), worthOf(right)
		if a == nil && b != nil && left.field && left.worth == "" {
			a = int64(0)
		}
		if b == nil && a != nil && right.field && right.worth == "" {
			b = int64(0)
		}
		if a != nil && b != nil {
			order, known = orderOf(a, b), true
		}
	}
	if !known {
		order = strings.Compare(lower(toText(left)), lower(toText(right)))
	}
	return map[string]bool{
		"=": order == 0, "!=": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0,
	}[op]
}

func orderOf(a, b any) int {
	i, wholeA := a.(int64)
	j, wholeB := b.(int64)
	if wholeA && wholeB {
		return big.NewInt(i).Cmp(big.NewInt(j))
	}
	return big.NewFloat(toFloat(a)).Cmp(big.NewFloat(toFloat(b)))
}

// evalLike tries every length for every %.
func evalLike(text, pattern string) bool {
	if pattern == "" {
		return text == ""
	}
	if pattern[0] == '%' {
		return evalLike(text, pattern[1:]) || text != "" && evalLike(text[1:], pattern)
	}
	if text == "" {
		return false
	}
	want, anything := pattern[:1], pattern[0] == '_'
	if want == `\` && len(pattern) > 1 {
		pattern = pattern[1:]
		want = pattern[:1]
	}
	return (anything || want == text[:1] || lower(want) == lower(text[:1])) && evalLike(text[1:], pattern[1:])
}

// lower returns text with the letters A to Z in lower case.
func lower(text string) string {
	raw := []byte(text)
	for i, c := range raw {
		if 'A' <= c && c <= 'Z' {
			raw[i] = c | 0x20
		}
	}
	return string(raw)
}

func evalArithmetic(op string, left, right result) result {
	if left.worth == nil || right.worth == nil {
		return result{}
	}
	a, b := worthOf(left), worthOf(right)
	if a == nil {
		a = int64(0)
	}
	if b == nil {
		b = int64(0)
	}
	if strings.Contains("& | ^ << >>", op) {
		return evalBits(op, a, b)
	}
	i, wholeA := a.(int64)
	j, wholeB := b.(int64)
	if wholeA && wholeB {
		x, y, z := big.NewInt(i), big.NewInt(j), new(big.Int)
		switch op {
		case "+":
			z.Add(x, y)
		case "-":
			z.Sub(x, y)
		case "*":
			z.Mul(x, y)
		default:
			if j == 0 {
				return result{}
			}
			quotient, remainder := z.QuoRem(x, y, new(big.Int))
			if op == "%" {
				quotient = remainder
			}
			z = quotient
		}
		if z.IsInt64() {
			return result{worth: z.Int64()}
		}
	}
	x, y := toFloat(a), toFloat(b)
	f := map[string]float64{"+": x + y, "-": x - y, "*": x * y, "/": x / y, "%": math.Mod(x, y)}[op]
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return result{}
	}
	return result{worth: f}
}

func evalBits(op string, a, b any) result {
	whole := func(n any) *big.Int {
		if i, whole := n.(int64); whole {
			return big.NewInt(i)
		}
		z, _ := big.NewFloat(n.(float64)).Int(nil)
		return z
	}
	x, y := whole(a), whole(b)
	if !x.IsInt64() || !y.IsInt64() {
		return result{}
	}
	z := new(big.Int)
	switch op {
	case "&":
		z.And(x, y)
	case "|":
		z.Or(x, y)
	case "^":
		z.Xor(x, y)
	default:
		if y.Sign() < 0 || y.Int64() > 63 {
			return result{}
		}
		if op == "<<" {
			return result{worth: x.Int64() << y.Int64()}
		}
		z.Rsh(x, uint(y.Int64()))
	}
	return result{worth: z.Int64()}
}

// levels are the operators from the loosest to the tightest.
var levels = [][]string{
	{"or"},
	{"and"},
	{"not"},
	{"=", "!=", "<", "<=", ">", ">=", "like", "not like", "is null", "is not null", "in", "not in"},
	{"&", "|", "^", "<<", ">>"},
	{"+", "-"},
	{"*", "/", "%"},
	{"-1"},
	{leafNumber, leafText, leafField, leafNull},
}

func levelOf(op string) int {
	for level, ops := range levels {
		if slices.Contains(ops, op) {
			return level
		}
	}
	panic("no operator " + op)
}

// spellings are other ways to write an operator.
var spellings = map[string][]string{
	"or": {"or", "OR", "||"}, "and": {"and", "And", "&&"}, "not": {"not", "NOT", "!"},
	"=": {"=", "=="}, "!=": {"!=", "<>"}, "like": {"like", "LIKE"}, "not like": {"not like", "NOT\t LIKE"},
	"is null": {"is null", "IS NULL"}, "is not null": {"is not null", "Is Not  Null"},
	"in": {"in", "IN"}, "not in": {"not in", "NOT\t In", "! in"}, "-1": {"-"},
}

// write writes x in one of the many ways there are, with parentheses wherever
// the grammar asks for them and at times where it does not.
func (x *expr) write(t *rapid.T, floor int) string {
	level := levelOf(x.op)
	text := x.writeBare(t, level)
	if level < floor || rapid.IntRange(0, 9).Draw(t, "parentheses") == 0 {
		return "(" + text + ")"
	}
	return text
}

func (x *expr) writeBare(t *rapid.T, level int) string {
	blank := func() string { return rapid.SampledFrom([]string{" ", " ", "  ", "\t"}).Draw(t, "blank") }
	op := x.op
	if others := spellings[op]; others != nil {
		op = rapid.SampledFrom(others).Draw(t, "spelling")
	}
	switch x.op {
	case leafNumber, leafField:
		return x.leaf
	case leafNull:
		return "null"
	case leafText:
		q := rapid.SampledFrom([]string{"'", `"`}).Draw(t, "quote")
		return q + strings.ReplaceAll(x.leaf, q, q+q) + q
	case "not", "-1":
		return op + blank() + x.left.write(t, level)
	case "is null", "is not null":
		return x.left.write(t, level+1) + blank() + op
	case "in", "not in":
		items := make([]string, len(x.items))
		for i, item := range x.items {
			items[i] = item.write(t, level+1)
		}
		return x.left.write(t, level+1) + blank() + op + rapid.SampledFrom([]string{"(", " ( "}).Draw(t, "list") + strings.Join(items, rapid.SampledFrom([]string{",", " , "}).Draw(t, "comma")) + ")"
	}
	left := level
	if level == levelOf("=") {
		left++
	}
	gap := blank()
	if strings.Trim(op, "=!<>|&+*/%^") == "" && rapid.Bool().Draw(t, "tight") {
		gap = ""
	}
	return x.left.write(t, left) + gap + op + gap + x.right.write(t, level+1)
}

func drawExpr(t *rapid.T, depth int) *expr {
	if depth == 0 || rapid.IntRange(0, 7).Draw(t, "leaf") == 7 {
		return drawLeaf(t)
	}
	operators := slices.Concat(levels[levelOf("="):levelOf(leafNull)]...)
	operators = append(operators, "and", "or", "not")
	x := &expr{op: rapid.SampledFrom(operators).Draw(t, "op")}
	x.left = drawExpr(t, depth-1)
	switch x.op {
	case "not", "-1", "is null", "is not null":
	case "in", "not in":
		for range rapid.IntRange(1, 4).Draw(t, "items") {
			x.items = append(x.items, drawExpr(t, min(depth-1, 1)))
		}
	default:
		x.right = drawExpr(t, depth-1)
	}
	return x
}

func drawLeaf(t *rapid.T) *expr {
	draw := func(leaves ...string) string { return rapid.SampledFrom(leaves).Draw(t, "text") }
	x := &expr{op: rapid.SampledFrom([]string{leafNumber, leafField, leafField, leafText, leafNull}).Draw(t, "kind")}
	switch x.op {
	case leafNumber:
		x.leaf = draw("0", "1", "2", "3", "63", "1.0", "1.10", "0.5", "007", "9223372036854775807", "9223372036854775808", "1000000000000000000000000")
	case leafField:
		x.leaf = draw("a", "b", "c", "d", "N", "one", "GroupId", "big", "ratio", "nosuch", "empty")
	case leafText:
		x.leaf = draw("", "0", "1", "-1", "1.1", "1.10", "abc", "ÀÉ", "A%", "%b_", "_", "%", `\%`, `a\`, "it's", `"`, "B", "1e5", "é")
	}
	return x
}
