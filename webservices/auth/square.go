package auth

import "math/bits"

// square sets z to x times x. Four of five multiplications of a power are squares.
func (g *montgomery) square(z, x *word512) {
	t := x.squared()
	var carry uint64
	for i := range limbs {
		low := (*word512)(t[i:])
		t[i+limbs], carry = bits.Add64(t[i+limbs], addMul(low, &g.m, low[0]*g.factor), carry)
	}
	copy(z[:], t[limbs:])
	g.reduce(z, carry)
}

// squared returns x times x. Each product of different words is computed once; the sums of
// the columns of the result are written out, so that the compiler keeps them in registers.
func (x *word512) squared() (t [2 * limbs]uint64) {
	x0, x1, x2, x3, x4, x5, x6, x7 := x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
	var a0, a1, a2 uint64
	a0, a1, a2 = addProduct(a0, a1, a2, x0, x0)
	t[0], a0, a1, a2 = a0, a1, a2, 0
	s1, s0 := bits.Mul64(x0, x1)
	s2 := uint64(0)
	a0, a1, a2 = addTwice(a0, a1, a2, s0, s1, s2)
	t[1], a0, a1, a2 = a0, a1, a2, 0
	s1, s0 = bits.Mul64(x0, x2)
	s2 = 0
	a0, a1, a2 = addTwice(a0, a1, a2, s0, s1, s2)
	a0, a1, a2 = addProduct(a0, a1, a2, x1, x1)
	t[2], a0, a1, a2 = a0, a1, a2, 0
	s1, s0 = bits.Mul64(x0, x3)
	s2 = 0
	s0, s1, s2 = addProduct(s0, s1, s2, x1, x2)
	a0, a1, a2 = addTwice(a0, a1, a2, s0, s1, s2)
	t[3], a0, a1, a2 = a0, a1, a2, 0
	s1, s0 = bits.Mul64(x0, x4)
	s2 = 0
	s0, s1, s2 = addProduct(s0, s1, s2, x1, x3)
	a0, a1, a2 = addTwice(a0, a1, a2, s0, s1, s2)
	a0, a1, a2 = addProduct(a0, a1, a2, x2, x2)
	t[4], a0, a1, a2 = a0, a1, a2, 0
	s1, s0 = bits.Mul64(x0, x5)
	s2 = 0
	s0, s1, s2 = addProduct(s0, s1, s2, x1, x4)
	s0, s1, s2 = addProduct(s0, s1, s2, x2, x3)
	a0, a1, a2 = addTwice(a0, a1, a2, s0, s1, s2)
	t[5], a0, a1, a2 = a0, a1, a2, 0
	s1, s0 = bits.Mul64(x0, x6)
	s2 = 0
	s0, s1, s2 = addProduct(s0, s1, s2, x1, x5)
	s0, s1, s2 = addProduct(s0, s1, s2, x2, x4)
	a0, a1, a2 = addTwice(a0, a1, a2, s0, s1, s2)
	a0, a1, a2 = addProduct(a0, a1, a2, x3, x3)
	t[6], a0, a1, a2 = a0, a1, a2, 0
	s1, s0 = bits.Mul64(x0, x7)
	s2 = 0
	s0, s1, s2 = addProduct(s0, s1, s2, x1, x6)
	s0, s1, s2 = addProduct(s0, s1, s2, x2, x5)
	s0, s1, s2 = addProduct(s0, s1, s2, x3, x4)
	a0, a1, a2 = addTwice(a0, a1, a2, s0, s1, s2)
	t[7], a0, a1, a2 = a0, a1, a2, 0
	s1, s0 = bits.Mul64(x1, x7)
	s2 = 0
	s0, s1, s2 = addProduct(s0, s1, s2, x2, x6)
	s0, s1, s2 = addProduct(s0, s1, s2, x3, x5)
	a0, a1, a2 = addTwice(a0, a1, a2, s0, s1, s2)
	a0, a1, a2 = addProduct(a0, a1, a2, x4, x4)
	t[8], a0, a1, a2 = a0, a1, a2, 0
	s1, s0 = bits.Mul64(x2, x7)
	s2 = 0
	s0, s1, s2 = addProduct(s0, s1, s2, x3, x6)
	s0, s1, s2 = addProduct(s0, s1, s2, x4, x5)
	a0, a1, a2 = addTwice(a0, a1, a2, s0, s1, s2)
	t[9], a0, a1, a2 = a0, a1, a2, 0
	s1, s0 = bits.Mul64(x3, x7)
	s2 = 0
	s0, s1, s2 = addProduct(s0, s1, s2, x4, x6)
	a0, a1, a2 = addTwice(a0, a1, a2, s0, s1, s2)
	a0, a1, a2 = addProduct(a0, a1, a2, x5, x5)
	t[10], a0, a1, a2 = a0, a1, a2, 0
	s1, s0 = bits.Mul64(x4, x7)
	s2 = 0
	s0, s1, s2 = addProduct(s0, s1, s2, x5, x6)
	a0, a1, a2 = addTwice(a0, a1, a2, s0, s1, s2)
	t[11], a0, a1, a2 = a0, a1, a2, 0
	s1, s0 = bits.Mul64(x5, x7)
	s2 = 0
	a0, a1, a2 = addTwice(a0, a1, a2, s0, s1, s2)
	a0, a1, a2 = addProduct(a0, a1, a2, x6, x6)
	t[12], a0, a1, a2 = a0, a1, a2, 0
	s1, s0 = bits.Mul64(x6, x7)
	s2 = 0
	a0, a1, a2 = addTwice(a0, a1, a2, s0, s1, s2)
	t[13], a0, a1, a2 = a0, a1, a2, 0
	t[14], t[15], _ = addProduct(a0, a1, a2, x7, x7) // the square of eight words has sixteen
	return t
}

// addProduct adds x times y to a number of three words.
func addProduct(a0, a1, a2, x, y uint64) (uint64, uint64, uint64) {
	high, low := bits.Mul64(x, y)
	var c uint64
	a0, c = bits.Add64(a0, low, 0)
	a1, c = bits.Add64(a1, high, c)
	return a0, a1, a2 + c
}

// addTwice adds s to a twice; both have three words.
func addTwice(a0, a1, a2, s0, s1, s2 uint64) (uint64, uint64, uint64) {
	var c uint64
	s2 = s2<<1 | s1>>63
	s1 = s1<<1 | s0>>63
	a0, c = bits.Add64(a0, s0<<1, 0)
	a1, c = bits.Add64(a1, s1, c)
	return a0, a1, a2 + s2 + c
}
