package auth

import (
	"bytes"
	"crypto/rsa"
	"encoding/hex"
)

// decodeValue returns the block in which a password was sent. ok is false if the
// value is not 256 hex digits.
func decodeValue(value string) (block []byte, ok bool) {
	block, err := hex.DecodeString(value)
	return block, err == nil && len(block) == keyBytes
}

// minPadding is the least padding of a block in bytes.
const minPadding = 8

// unpad returns the content of a block of type 2.
func unpad(block []byte) (data []byte, ok bool) {
	if len(block) != keyBytes || block[0] != 0 || block[1] != 2 {
		return nil, false
	}
	end := bytes.IndexByte(block[2:], 0)
	if end < minPadding {
		return nil, false
	}
	return block[2+end+1:], true
}

// decrypt returns the password in a block of the mode keypair. ok is false if there
// is none. That includes a block that can be read without the key, from a game with the
// patch for the mode identity: decrypted, it has no padding. It must not be looked for
// in the block itself: one of 64,000 encrypted blocks looks like it by chance.
func (k *Key) decrypt(block []byte) (password []byte, ok bool) {
	password, err := rsa.DecryptPKCS1v15(nil, k.private, block)
	return password, err == nil
}
