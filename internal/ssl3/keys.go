package ssl3

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"slices"
)

// Padding of the keyed hashes, in the length for MD5 and for SHA-1.
const (
	padMD5  = 48
	padSHA1 = 40
)

var (
	padInner = [padMD5]byte(bytes.Repeat([]byte{0x36}, padMD5))
	padOuter = [padMD5]byte(bytes.Repeat([]byte{0x5c}, padMD5))
)

// Sizes of secrets in bytes.
const (
	randomLen    = 32
	premasterLen = 48
	masterLen    = 3 * md5.Size
	keyLen       = 16
	blockLen     = 2*macLen + 2*keyLen
	finishedLen  = md5.Size + sha1.Size
)

// derive returns size bytes of key material from a secret and two random values.
func derive(secret, a, b []byte, size int) (out []byte) {
	for i := byte(0); len(out) < size; i++ {
		inner := sha1.New()
		inner.Write(bytes.Repeat([]byte{'A' + i}, int(i)+1))
		inner.Write(secret)
		inner.Write(a)
		inner.Write(b)
		outer := md5.New()
		outer.Write(secret)
		outer.Write(inner.Sum(nil))
		out = outer.Sum(out)
	}
	return out[:size]
}

// secrets are those of a connection.
type secrets struct {
	master []byte
	block  []byte
}

func newSecrets(premaster, client, server []byte) secrets {
	master := derive(premaster, client, server, masterLen)
	return secrets{master: master, block: derive(master, server, client, blockLen)}
}

// client returns the MAC key and the RC4 key of the client's records.
func (s secrets) client() (mac, key []byte) {
	return s.block[:macLen], s.block[2*macLen : 2*macLen+keyLen]
}

// server returns the MAC key and the RC4 key of the server's records.
func (s secrets) server() (mac, key []byte) {
	return s.block[macLen : 2*macLen], s.block[2*macLen+keyLen:]
}

// Senders of a Finished message.
const (
	senderClient = "CLNT"
	senderServer = "SRVR"
)

// finished returns the body of a sender's Finished message after the given handshake
// messages: for H = MD5 with n = 48 and for H = SHA-1 with n = 40
//
//	H(master + 5C×n + H(messages + sender + master + 36×n))
func finished(messages []byte, sender string, master []byte) []byte {
	md5In := md5.Sum(slices.Concat(messages, []byte(sender), master, padInner[:padMD5]))
	md5Out := md5.Sum(slices.Concat(master, padOuter[:padMD5], md5In[:]))
	shaIn := sha1.Sum(slices.Concat(messages, []byte(sender), master, padInner[:padSHA1]))
	shaOut := sha1.Sum(slices.Concat(master, padOuter[:padSHA1], shaIn[:]))
	return slices.Concat(md5Out[:], shaOut[:])
}
