package auth

import (
	"bytes"
	"crypto"
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"testing"
)

func TestPaddingLimit(t *testing.T) {
	for n, want := range map[int]bool{minPadding - 1: false, minPadding: true, minPadding + 1: true} {
		block := append([]byte{0, 2}, bytes.Repeat([]byte{1}, n)...)
		block = append(append(block, 0), bytes.Repeat([]byte{'p'}, keyBytes-len(block)-1)...)
		if _, ok := unpad(block); ok != want {
			t.Errorf("padding of %d bytes: %v, want %v", n, ok, want)
		}
	}
}

// TestDecrypt decrypts what is encrypted, and refuses a block above the modulus.
func TestDecrypt(t *testing.T) {
	k := recordedKey(t)
	block, err := rsa.EncryptPKCS1v15(rand.Reader, k.Public(), []byte("secretpw"))
	if err != nil {
		t.Fatal(err)
	}
	if password, ok := k.decrypt(block); !ok || string(password) != "secretpw" {
		t.Errorf("password %q, %t", password, ok)
	}
	if _, ok := k.decrypt(bytes.Repeat([]byte{0xff}, keyBytes)); ok {
		t.Error("a block above the modulus has a password")
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
