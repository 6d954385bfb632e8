package ssq

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/netip"
	"time"
)

// How long tokens are good: for the slot in which they were made and the next.
const (
	proofSlot = 5 * time.Minute
	authSlot  = 30 * time.Minute
)

// Lengths of the keyed hashes in tokens, in bytes.
const (
	proofLen = 8
	authLen  = 16
)

// purpose keeps the tokens of different kinds apart.
type purpose byte

const (
	proofPurpose    purpose = 1 // proves that its holder receives packets at the address
	authPurpose     purpose = 2 // proves that its holder knew the password
	passwordPurpose purpose = 3
)

// keys make and check tokens. Tokens are not stored: a token is a keyed hash of
// its subject. The keys are made at the start and kept only in memory.
type keys struct {
	key   []byte
	start time.Time
}

func newKeys() *keys {
	k := &keys{key: make([]byte, sha256.Size), start: time.Now()}
	_, _ = rand.Read(k.key) // never returns an error
	return k
}

func (k *keys) sum(p purpose, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, k.key)
	h.Write([]byte{byte(p)})
	for _, part := range parts {
		h.Write(part)
	}
	return h.Sum(nil)
}

// digest returns a keyed hash of a password, so that passwords are compared in
// constant time whatever their lengths are.
func (k *keys) digest(password string) []byte { return k.sum(passwordPurpose, []byte(password)) }

// slot returns the number of the slot that now is in. It does not follow the
// clock of the system, which may be set.
func (k *keys) slot(now time.Time, length time.Duration) int64 {
	return int64(now.Sub(k.start) / length)
}

func (k *keys) token(p purpose, size int, a netip.Addr, slot int64, secret []byte) string {
	address := a.As16()
	sum := k.sum(p, address[:], binary.BigEndian.AppendUint64(nil, uint64(slot)), secret)
	return base64.RawURLEncoding.EncodeToString(sum[:size])
}

// proof returns the token that proves an address, with any port.
func (k *keys) proof(a netip.Addr, now time.Time) string {
	return k.token(proofPurpose, proofLen, a, k.slot(now, proofSlot), nil)
}

// proves reports whether a token was made for the address not long ago.
func (k *keys) proves(token string, a netip.Addr, now time.Time) bool {
	if token == "" {
		return false
	}
	slot := k.slot(now, proofSlot)
	return same(token, k.token(proofPurpose, proofLen, a, slot, nil)) ||
		same(token, k.token(proofPurpose, proofLen, a, slot-1, nil))
}

// auth returns the token for a client that sent the password with that digest.
func (k *keys) auth(a netip.Addr, digest []byte, now time.Time) string {
	return k.token(authPurpose, authLen, a, k.slot(now, authSlot), digest)
}

// authorizes reports whether a token was given to the address not long ago, for
// the password that is in force.
func (k *keys) authorizes(token string, a netip.Addr, digest []byte, now time.Time) bool {
	if token == "" || digest == nil {
		return false
	}
	slot := k.slot(now, authSlot)
	return same(token, k.token(authPurpose, authLen, a, slot, digest)) ||
		same(token, k.token(authPurpose, authLen, a, slot-1, digest))
}

func same(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }
