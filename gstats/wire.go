package gstats

import (
	"crypto/md5"
	"crypto/subtle"
	"encoding/hex"
	"strconv"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// obfuscationKey is XORed with every body.
const obfuscationKey = "GameSpy3D"

// crypt obfuscates a part of a body that starts at a position of it, or undoes that.
func crypt(b []byte, position int) {
	k := position % len(obfuscationKey)
	for i := range b {
		b[i] ^= obfuscationKey[k]
		if k++; k == len(obfuscationKey) {
			k = 0
		}
	}
}

// seal makes a message of the clear body that begins at start of b.
func seal(b []byte, start int) []byte {
	crypt(b[start:], 0)
	return append(b, gamespy.Final...)
}

// hashFactor is that of hashOf.
const hashFactor = -1664117991

// hashOf returns the number that stands for a challenge in a response.
func hashOf(challenge string) (h int32) {
	for i := range len(challenge) {
		h = h*hashFactor + int32(int8(challenge[i])) // clients have signed characters
	}
	return h
}

// Response returns the response to a challenge of a client that knows the secret key
// of its game, 32 hex digits.
func Response(secret, challenge string) string {
	var text [64]byte
	b := strconv.AppendInt(text[:0], int64(hashOf(challenge)), 10)
	return digest(append(b, secret...))
}

// digest returns the md5hex of b.
func digest(b []byte) string {
	sum := md5.Sum(b)
	return hex.EncodeToString(sum[:])
}

// proves reports whether a response was made with one of the secret keys. It takes the
// same time whichever it is.
func proves(secrets []string, challenge string, response []byte) (ok bool) {
	for _, secret := range secrets {
		if secret != "" && subtle.ConstantTimeCompare([]byte(Response(secret, challenge)), response) == 1 {
			ok = true
		}
	}
	return ok
}

// challengeMask is XORed with the number that a player's challenge is made of.
const challengeMask = 0x38F371E6

// playerChallengeLen is the length of a player's challenge.
const playerChallengeLen = 8

// PlayerChallenge returns the challenge that players answer on a connection with a
// session key, or in a game that was played without one, by its number.
func PlayerChallenge(number int32) string {
	const digits = "0123456789abcdef"
	x := uint32(number) ^ challengeMask
	var out [playerChallengeLen]byte
	for i := range out {
		out[i] = digits[x>>(28-4*i)&15] + 17 + byte(i)
	}
	return string(out[:])
}

// Proof returns the answer of a player to a challenge, 32 hex digits. The secret is
// the password, the CD key, or the challenge of an auth token.
func Proof(secret, challenge string) string { return digest([]byte(secret + challenge)) }
