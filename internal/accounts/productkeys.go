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

// A sealed CD key of a product or of a profile:
//
//	offset size
//	     0    1  version of this layout, 1
//	     1   12  nonce, random
//	    13    -  AES-256-GCM of the key, with its tag
//
// The additional authenticated data is the product and the hash, or the game and the
// digest. The key that seals is derived from the one for digests in the key file, which
// rotations do not change.
const productKeyVersion = 1

// productKeys is the purpose of the cipher of CD keys of products.
const productKeys = "respawnd product keys"

// derivedAEAD returns a cipher whose key is derived from the one for digests, which
// rotations do not change. Each purpose has its own.
func (r *keyring) derivedAEAD(purpose string) (cipher.AEAD, error) {
	mac := hmac.New(sha256.New, r.file.Digest)
	mac.Write([]byte(purpose))
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
	return s.keys.Load().sealDerived(productKeys, []byte(key), productBound(id))
}

// sealDerived seals a CD key with the cipher of a purpose.
func (r *keyring) sealDerived(purpose string, key, bound []byte) ([]byte, error) {
	aead, err := r.derivedAEAD(purpose)
	if err != nil {
		return nil, err
	}
	sealed := make([]byte, 1+nonceLen, 1+nonceLen+len(key)+aead.Overhead())
	sealed[0] = productKeyVersion
	_, _ = rand.Read(sealed[1:]) // never fails
	return aead.Seal(sealed, sealed[1:], key, bound), nil
}

// OpenProductKey returns the CD key that SealProductKey sealed, or ErrUnsealable.
func (s *Service) OpenProductKey(id storage.ProductKeyID, sealed []byte) (string, error) {
	return s.keys.Load().openDerived(productKeys, sealed, productBound(id))
}

// openDerived returns the CD key that sealDerived sealed, or ErrUnsealable.
func (r *keyring) openDerived(purpose string, sealed, bound []byte) (string, error) {
	aead, err := r.derivedAEAD(purpose)
	if err != nil {
		return "", err
	}
	if len(sealed) < 1+nonceLen || sealed[0] != productKeyVersion {
		return "", ErrUnsealable
	}
	key, err := aead.Open(nil, sealed[1:1+nonceLen], sealed[1+nonceLen:], bound)
	if err != nil {
		return "", ErrUnsealable
	}
	return string(key), nil
}

// Derive returns 32 secret bytes for a purpose, derived from the key for digests in the key
// file: the same on all nodes of a cluster, and after rotations.
func (s *Service) Derive(purpose string) []byte {
	mac := hmac.New(sha256.New, s.keys.Load().file.Digest)
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}
