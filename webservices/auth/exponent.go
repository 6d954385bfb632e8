package auth

import (
	"crypto/rsa"
	"encoding/binary"
	"math/big"
	"math/bits"
)

// Private-key operations take nearly all the time of a sign-in. Package crypto/rsa
// has no fast arithmetic for primes as short as these, so it is here: Montgomery
// multiplication of 512 bits, without branches and table indexes that depend on
// secrets.

// limbs is the length of a prime in words.
const limbs = primeBits / 64

// word512 is a number of 512 bits, the lowest word first.
type word512 [limbs]uint64

// fastKey computes with the two primes of a key.
type fastKey struct {
	p, q   montgomery
	dp, dq word512 // the private exponent modulo p-1 and q-1
	qInv   word512 // 1/q modulo p
}

// newFastKey returns the fast form of a key, nil if its primes do not have 512 bits
// each.
func newFastKey(k *rsa.PrivateKey) *fastKey {
	p, q := k.Primes[0], k.Primes[1]
	if p.BitLen() != primeBits || q.BitLen() != primeBits {
		return nil
	}
	one := big.NewInt(1)
	rest := func(prime *big.Int) *big.Int { return new(big.Int).Mod(k.D, new(big.Int).Sub(prime, one)) }
	return &fastKey{
		p: newMontgomery(p), q: newMontgomery(q), dp: words(rest(p)), dq: words(rest(q)), qInv: words(new(big.Int).ModInverse(q, p)),
	}
}

// words returns a number of at most 512 bits.
func words(n *big.Int) (w word512) {
	return fromBytes(n.FillBytes(make([]byte, primeBits/8)))
}

// fromBytes returns the number in 64 bytes.
func fromBytes(b []byte) (w word512) {
	for i := range w {
		w[i] = binary.BigEndian.Uint64(b[len(b)-8*(i+1):])
	}
	return w
}

// private returns block to the power of the private exponent. The block has keyBytes
// and is less than the modulus.
func (k *fastKey) private(block []byte) []byte {
	high, low := fromBytes(block[:keyBytes/2]), fromBytes(block[keyBytes/2:])
	x := k.p.enter(&high, &low)
	m1 := k.p.power(&x, &k.dp)
	y := k.q.enter(&high, &low)
	m2 := k.q.power(&y, &k.dq)
	k.q.mul(&m2, &m2, &word512{1}) // leaves the form of q

	// h = (m1 - m2) / q modulo p; the result is m2 + h q
	var h word512
	k.p.mul(&h, &m2, &k.p.r2)
	k.p.sub(&h, &m1, &h)
	k.p.mul(&h, &h, &k.qInv)
	var out [2 * limbs]uint64
	copy(out[:], m2[:])
	for i := range limbs {
		out[i+limbs] = addMul((*word512)(out[i:]), &k.q.m, h[i])
	}
	b := make([]byte, 0, keyBytes)
	for i := len(out) - 1; i >= 0; i-- {
		b = binary.BigEndian.AppendUint64(b, out[i])
	}
	return b
}

// addMul adds x times y to z and returns the carry. It is written out, so that the
// compiler keeps the two chains of carries in the processor's flag.
func addMul(z, x *word512, y uint64) (carry uint64) {
	h0, l0 := bits.Mul64(x[0], y)
	h1, l1 := bits.Mul64(x[1], y)
	h2, l2 := bits.Mul64(x[2], y)
	h3, l3 := bits.Mul64(x[3], y)
	h4, l4 := bits.Mul64(x[4], y)
	h5, l5 := bits.Mul64(x[5], y)
	h6, l6 := bits.Mul64(x[6], y)
	h7, l7 := bits.Mul64(x[7], y)
	var c uint64
	l1, c = bits.Add64(l1, h0, 0)
	l2, c = bits.Add64(l2, h1, c)
	l3, c = bits.Add64(l3, h2, c)
	l4, c = bits.Add64(l4, h3, c)
	l5, c = bits.Add64(l5, h4, c)
	l6, c = bits.Add64(l6, h5, c)
	l7, c = bits.Add64(l7, h6, c)
	carry = h7 + c
	z[0], c = bits.Add64(z[0], l0, 0)
	z[1], c = bits.Add64(z[1], l1, c)
	z[2], c = bits.Add64(z[2], l2, c)
	z[3], c = bits.Add64(z[3], l3, c)
	z[4], c = bits.Add64(z[4], l4, c)
	z[5], c = bits.Add64(z[5], l5, c)
	z[6], c = bits.Add64(z[6], l6, c)
	z[7], c = bits.Add64(z[7], l7, c)
	return carry + c
}

// montgomery computes modulo an odd number of 512 bits. Numbers are in its form:
// multiplied by 2^512.
type montgomery struct {
	m      word512
	factor uint64  // -1/m modulo 2^64
	r2     word512 // 2^1024 modulo m
}

func newMontgomery(m *big.Int) montgomery {
	r2 := new(big.Int).Lsh(big.NewInt(1), 2*primeBits)
	w := words(m)
	inverse := w[0] // right in its lowest 3 bits; each step doubles them
	for range 5 {
		inverse *= 2 - w[0]*inverse
	}
	return montgomery{m: w, factor: -inverse, r2: words(r2.Mod(r2, m))}
}

// enter returns the form of a number of 1024 bits.
func (g *montgomery) enter(high, low *word512) (x word512) {
	var y word512
	g.mul(&x, low, &g.r2)
	g.mul(&y, high, &g.r2)
	g.mul(&y, &y, &g.r2)
	g.add(&x, &x, &y)
	return x
}

// mul sets z to x times y. One of them is less than the modulus.
func (g *montgomery) mul(z, x, y *word512) {
	var t [2 * limbs]uint64
	var carry uint64
	for i := range limbs {
		low := (*word512)(t[i:])
		c := addMul(low, x, y[i])
		d := addMul(low, &g.m, low[0]*g.factor)
		t[i+limbs], carry = bits.Add64(c, d, carry)
	}
	copy(z[:], t[limbs:])
	g.reduce(z, carry)
}

// reduce subtracts the modulus once if x, with a carry above it, is not less.
func (g *montgomery) reduce(x *word512, carry uint64) {
	var less word512
	var borrow uint64
	for i := range limbs {
		less[i], borrow = bits.Sub64(x[i], g.m[i], borrow)
	}
	_, borrow = bits.Sub64(carry, 0, borrow)
	keep := -borrow // all bits if x is less
	for i := range limbs {
		x[i] = x[i]&keep | less[i]&^keep
	}
}

// add sets z to x plus y, which are less than the modulus.
func (g *montgomery) add(z, x, y *word512) {
	var carry uint64
	for i := range limbs {
		z[i], carry = bits.Add64(x[i], y[i], carry)
	}
	g.reduce(z, carry)
}

// sub sets z to x minus y, which are less than the modulus.
func (g *montgomery) sub(z, x, y *word512) {
	var borrow, carry uint64
	for i := range limbs {
		z[i], borrow = bits.Sub64(x[i], y[i], borrow)
	}
	for i := range limbs {
		z[i], carry = bits.Add64(z[i], g.m[i]&-borrow, carry)
	}
}

// windowBits is how many bits of the exponent a multiplication takes.
const windowBits = 4

// power returns x to the power of e.
func (g *montgomery) power(x, e *word512) (z word512) {
	var table [1 << windowBits]word512
	g.mul(&table[0], &g.r2, &word512{1})
	for i := 1; i < len(table); i++ {
		g.mul(&table[i], &table[i-1], x)
	}
	z = table[0]
	for i := limbs - 1; i >= 0; i-- {
		for shift := 64 - windowBits; shift >= 0; shift -= windowBits {
			for range windowBits {
				g.square(&z, &z)
			}
			chosen := pick(&table, e[i]>>shift&(1<<windowBits-1))
			g.mul(&z, &z, &chosen)
		}
	}
	return z
}

// pick returns an entry of a table, having read all.
func pick(table *[1 << windowBits]word512, at uint64) (w word512) {
	for i := range table {
		other := uint64(i) ^ at
		mask := uint64(int64((other-1)&^other) >> 63) // all bits if other is 0
		e := &table[i]
		w[0] |= e[0] & mask
		w[1] |= e[1] & mask
		w[2] |= e[2] & mask
		w[3] |= e[3] & mask
		w[4] |= e[4] & mask
		w[5] |= e[5] & mask
		w[6] |= e[6] & mask
		w[7] |= e[7] & mask
	}
	return w
}
