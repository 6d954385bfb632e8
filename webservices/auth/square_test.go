package auth

import (
	"crypto/rand"
	"math/big"
	"testing"
)

// TestSquare squares numbers with many carries, and random ones.
func TestSquare(t *testing.T) {
	prime, err := rand.Prime(rand.Reader, primeBits)
	if err != nil {
		t.Fatal(err)
	}
	g := newMontgomery(prime)
	ones := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), primeBits), big.NewInt(1))
	numbers := []*big.Int{new(big.Int), big.NewInt(1), ones, new(big.Int).Sub(prime, big.NewInt(1)), prime}
	for i := range limbs {
		numbers = append(numbers, new(big.Int).Lsh(big.NewInt(1), uint(64*i+63)), new(big.Int).Rsh(ones, uint(64*i)))
	}
	for range 1000 {
		n, err := rand.Int(rand.Reader, prime)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	for _, n := range numbers {
		x := words(n)
		whole := x.squared()
		got := new(big.Int)
		for i := range whole {
			got.Or(got, new(big.Int).Lsh(new(big.Int).SetUint64(whole[i]), uint(64*i)))
		}
		if want := new(big.Int).Mul(n, n); got.Cmp(want) != 0 {
			t.Fatalf("%x squared is %x, want %x", n, got, want)
		}
		if n.Cmp(prime) >= 0 {
			continue
		}
		var square, product word512
		g.square(&square, &x)
		if g.mul(&product, &x, &x); square != product {
			t.Fatalf("%x: square %x, product %x", n, square, product)
		}
	}
}

func TestPick(t *testing.T) {
	var table [1 << windowBits]word512
	for i := range table {
		for j := range table[i] {
			table[i][j] = uint64(i)<<60 | uint64(j+1)
		}
	}
	for i := range table {
		if got := pick(&table, uint64(i)); got != table[i] {
			t.Errorf("entry %d is %x, want %x", i, got, table[i])
		}
	}
}
