package accounts

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"strconv"

	"github.com/respawnd/respawnd/storage"
)

// A sealed CD key of a product:
//
//	offset size
//	     0    1  version of this layout, 1
//	     1   12  nonce, random
//	    13    -  AES-256-GCM of the key, with its tag
//
// The additional authenticated data is the product and the hash. The key that seals
// is derived from the one for digests in the key file, which rotations do not change.
const productKeyVersion = 1

// productAEAD returns the cipher of CD keys of products.
func (r *keyring) productAEAD() (cipher.AEAD, error) {
	mac := hmac.New(sha256.New, r.file.Digest)
	mac.Write([]byte("respawnd product keys"))
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// productBound returns the additional authenticated data of a CD key.
func productBound(id storage.ProductKeyID) []byte {
	return []byte("respawnd product key\x00" + strconv.Itoa(id.Product) + "\x00" + id.Hash)
}

// SealProductKey seals a CD key of a product with the key file.
func (s *Service) SealProductKey(id storage.ProductKeyID, key string) ([]byte, error) {
	aead, err := s.keys.Load().productAEAD()
	if err != nil {
		return nil, err
	}
	sealed := make([]byte, 1+nonceLen, 1+nonceLen+len(key)+aead.Overhead())
	sealed[0] = productKeyVersion
	_, _ = rand.Read(sealed[1:]) // never fails
	return aead.Seal(sealed, sealed[1:], []byte(key), productBound(id)), nil
}

// OpenProductKey returns the CD key that SealProductKey sealed, or ErrUnsealable.
func (s *Service) OpenProductKey(id storage.ProductKeyID, sealed []byte) (string, error) {
	aead, err := s.keys.Load().productAEAD()
	if err != nil {
		return "", err
	}
	if len(sealed) < 1+nonceLen || sealed[0] != productKeyVersion {
		return "", ErrUnsealable
	}
	key, err := aead.Open(nil, sealed[1:1+nonceLen], sealed[1+nonceLen:], productBound(id))
	if err != nil {
		return "", ErrUnsealable
	}
	return string(key), nil
}
