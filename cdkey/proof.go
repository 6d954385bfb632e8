package cdkey

import (
	"crypto/md5"
	"crypto/subtle"
	"encoding/hex"
	"strconv"
	"strings"
)

// randomModulus is the modulus of the random number of a response.
const randomModulus = 65535

// HashOf returns the hash under which a key is known: 32 lower-case hex digits.
func HashOf(key string) string {
	sum := md5.Sum([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Respond returns the answer of a player's machine to a game server's
// challenge.
func Respond(key, challenge string, random uint32) string {
	return respond(key, challenge, random, false)
}

// respond is Respond, or with again the answer to a challenge of this service.
func respond(key, challenge string, random uint32, again bool) string {
	r := strconv.FormatUint(uint64(random), 16)
	return HashOf(key) + strings.Repeat("0", 8-len(r)) + r + digest(key, challenge, random, again)
}

// digest returns the last part of a response.
func digest(key, challenge string, random uint32, again bool) string {
	first, last := key, challenge
	if again {
		first, last = challenge, key
	}
	var stack [128]byte
	b := append(stack[:0], first...)
	b = strconv.AppendUint(b, uint64(random%randomModulus), 10)
	b = append(b, last...)
	sum := md5.Sum(b)
	return hex.EncodeToString(sum[:])
}

// proves reports whether a response was made with a key and a challenge, in constant
// time.
func proves(response []byte, key, challenge string, again bool) bool {
	if len(response) != responseLen {
		return false
	}
	random, err := strconv.ParseUint(string(response[hashLen:hashLen+8]), 16, 32)
	if err != nil {
		return false
	}
	want := digest(key, challenge, uint32(random), again)
	return subtle.ConstantTimeCompare([]byte(strings.ToLower(string(response[hashLen+8:]))), []byte(want)) == 1
}
