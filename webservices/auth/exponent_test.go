package auth

import (
	"bytes"
	"crypto"
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"math/big"
	"testing"
)

func TestFastKey(t *testing.T) {
	for range 5 {
		private, err := rsa.GenerateKey(rand.Reader, keyBits)
		if err != nil {
			t.Fatal(err)
		}
		k := newFastKey(private)
		if k == nil {
			t.Fatal("a key of 1024 bits has no fast form")
		}
		last := new(big.Int).Sub(private.N, big.NewInt(1))
		for _, n := range []*big.Int{
			new(big.Int), big.NewInt(1), big.NewInt(2), last, private.Primes[0], private.Primes[1], new(big.Int).Rsh(last, 1), new(big.Int).Rsh(last, 513),
		} {
			want := new(big.Int).Exp(n, private.D, private.N).FillBytes(make([]byte, keyBytes))
			if got := k.private(n.FillBytes(make([]byte, keyBytes))); !bytes.Equal(got, want) {
				t.Fatalf("%x to the power of %x modulo %x is %x, want %x", n, private.D, private.N, got, want)
			}
		}
	}
	odd := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: big.NewInt(1)}, Primes: []*big.Int{big.NewInt(3), big.NewInt(5)}, D: big.NewInt(1)}
	if newFastKey(odd) != nil {
		t.Error("primes of other lengths have a fast form")
	}
}

// FuzzFastKey compares with package math/big.
func FuzzFastKey(f *testing.F) {
	k := recordedKey(f)
	f.Add(make([]byte, keyBytes))
	f.Add(bytes.Repeat([]byte{0x7f}, keyBytes))
	f.Fuzz(func(t *testing.T, block []byte) {
		n := new(big.Int).SetBytes(block)
		n.Mod(n, k.private.N)
		want := new(big.Int).Exp(n, k.private.D, k.private.N).FillBytes(make([]byte, keyBytes))
		if got := k.fast.private(n.FillBytes(make([]byte, keyBytes))); !bytes.Equal(got, want) {
			t.Errorf("%x: %x, want %x", n, got, want)
		}
	})
}

// TestWithoutFastKey signs and decrypts as a key does that has no fast form.
func TestWithoutFastKey(t *testing.T) {
	k := recordedKey(t)
	slow := &Key{private: k.private, mac: k.mac, peer: k.peer}
	block, err := rsa.EncryptPKCS1v15(rand.Reader, k.Public(), []byte("secretpw"))
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]*Key{"fast": k, "slow": slow} {
		if password, ok := key.decrypt(block); !ok || string(password) != "secretpw" {
			t.Errorf("%s: password %q, %t", name, password, ok)
		}
		if _, ok := key.decrypt(bytes.Repeat([]byte{0xff}, keyBytes)); ok {
			t.Errorf("%s: a block above the modulus has a password", name)
		}
		c := certificate{serverData: make([]byte, keyBytes)}
		if err := c.sign(key, false); err != nil || !c.isSigned(k, false) {
			t.Errorf("%s: sign() = %v", name, err)
		}
	}
}

// TestEncryptedLikeClear decrypts a block that could be read without the key: about one
// of 64,000 encrypted ones looks so.
func TestEncryptedLikeClear(t *testing.T) {
	const value = "0002e2aa2a68e0aeb5497abd9636c8bde418f61a72e63edc9405809682b5f405d77afc0086aca0ee58aaaaa5439ac11c" +
		"a7772675a288b9942d0733459eb91401f8be7cc99c5b87dac516e82d9462b24266711aa3ca988a7a04588de76f06d8b3" +
		"8d68fd9a3d8e98a157240c39478ca0dee0ab4c39d5fa831352e41f8dad516a98"
	block, ok := decodeValue(value)
	if _, clear := unpad(block); !ok || !clear {
		t.Fatal("the block does not look like one in clear")
	}
	if password, ok := recordedKey(t).decrypt(block); !ok || string(password) != "secretpw" {
		t.Errorf("password %q, %t", password, ok)
	}
}

// BenchmarkSignature is the reference of BenchmarkSignIn: a signature of the standard
// library.
func BenchmarkSignature(b *testing.B) {
	k := recordedKey(b)
	sum := md5.Sum(nil)
	for b.Loop() {
		if _, err := rsa.SignPKCS1v15(nil, k.private, crypto.MD5, sum[:]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPrivate(b *testing.B) {
	k := recordedKey(b)
	block := bytes.Repeat([]byte{0x7f}, keyBytes)
	for b.Loop() {
		k.fast.private(block)
	}
}
