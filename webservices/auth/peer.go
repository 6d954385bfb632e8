package auth

import (
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"math/big"
)

// exponent is the public exponent of all keys.
const exponent = 65537

// Sizes of the peer key, in bits.
const (
	primeBits  = keyBits / 2
	sharedBits = 192 // of the common factor of p-1 and q-1
	primeTests = 20  // of Miller and Rabin
)

// peer is the peer key pair of all certificates. p-1 and q-1 have a large common
// factor, so the order of the group is sharedBits shorter than the modulus, and a
// private exponent of 1024 bits may have any multiple of the order added.
type peer struct {
	modulus []byte
	order   *big.Int // a multiple of every order in the group
	private *big.Int // the least private exponent
	secret  []byte
}

// newPeer returns the peer key that follows from a seed.
func newPeer(seed []byte) *peer {
	s := &stream{seed: seed}
	one, e := big.NewInt(1), big.NewInt(exponent)
	shared := s.number(sharedBits)
	for !shared.ProbablyPrime(primeTests) {
		shared = s.number(sharedBits)
	}
	shared.Lsh(shared, 1)
	for {
		p, q := s.prime(shared), s.prime(shared)
		n := new(big.Int).Mul(p, q)
		p.Sub(p, one)
		q.Sub(q, one)
		order := new(big.Int).Mul(p, q)
		order.Div(order, new(big.Int).GCD(nil, nil, p, q))
		d := new(big.Int).ModInverse(e, order)
		if p.Cmp(q) != 0 && d != nil {
			return &peer{modulus: n.Bytes(), order: order, private: d, secret: derive(seed, "exponents")}
		}
	}
}

// exponentOf returns the private exponent of a certificate by its random number and its
// public exponent, which is exponentBytes or exponentOne.
func (p *peer) exponentOf(id, public []byte) []byte {
	least := p.private
	if len(public) == len(exponentOne) {
		least = big.NewInt(1)
	}
	k := new(big.Int).SetBytes(derive(p.secret, "exponent", id)[:sharedBits/8])
	return k.Add(k.Mul(k, p.order), least).Bytes()
}

// ProofOf returns a client's proof that it knows a private exponent.
func ProofOf(private []byte) string {
	sum := md5.Sum(private)
	return hex.EncodeToString(sum[:])
}

// stream is a sequence of numbers that follows from a seed.
type stream struct {
	seed []byte
	next uint64
}

// number returns an odd number of n bits, the first two of which are 1. n is a
// multiple of 8.
func (s *stream) number(n int) *big.Int {
	b := make([]byte, 0, n/8+32)
	for len(b) < n/8 {
		b = append(b, derive(s.seed, "number", binary.BigEndian.AppendUint64(nil, s.next))...)
		s.next++
	}
	b = b[:n/8]
	b[0] |= 0xc0
	b[len(b)-1] |= 1
	return new(big.Int).SetBytes(b)
}

// prime returns a prime of primeBits that is one more than a multiple of a number.
func (s *stream) prime(factor *big.Int) *big.Int {
	for {
		p := s.number(primeBits)
		p.Sub(p, new(big.Int).Mod(p, factor))
		p.Add(p, big.NewInt(1))
		if p.BitLen() == primeBits && p.Bit(primeBits-2) == 1 && p.ProbablyPrime(primeTests) {
			return p
		}
	}
}
