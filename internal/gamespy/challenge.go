package gamespy

import (
	"bytes"
	"crypto/subtle"
	"slices"
)

// responseAlphabet is that of ordinary base64. The client never writes '=':
// it fills the last group with zero bytes and encodes it in full.
const responseAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// responseSpace is room for the answer to any challenge that a QR2 client
// accepts (64 bytes give 88), so that a check does not allocate.
const responseSpace = 96

// Response returns the answer that the owner of secret gives to challenge. It
// is 4 characters for each started group of 3 challenge bytes. All of secret
// is used, also where it is longer than the usual 6 characters.
func Response(secret, challenge string) string {
	var space [responseSpace]byte
	return string(AppendResponse(space[:0], secret, challenge))
}

// AppendResponse appends [Response] of secret and challenge to dst and returns
// the longer slice. It allocates only if dst lacks the room.
func AppendResponse(dst []byte, secret, challenge string) []byte {
	dst = slices.Grow(dst, (len(challenge)+2)/3*4)
	s := newScrambler(secret)
	for len(challenge) > 0 {
		var group [3]byte
		n := copy(group[:], challenge)
		for i := range n {
			group[i] = s.next(group[i])
		}
		challenge = challenge[n:]
		dst = append(dst,
			responseAlphabet[group[0]>>2],
			responseAlphabet[(group[0]<<4|group[1]>>4)&63],
			responseAlphabet[(group[1]<<2|group[2]>>6)&63],
			responseAlphabet[group[2]&63])
	}
	return dst
}

// CheckResponse reports whether response answers challenge for the owner of
// secret. The response ends at its first NUL byte or with the slice. Bytes
// after a right answer are ignored: some clients write more. The bytes are
// compared in constant time. For an empty secret or challenge it returns false.
func CheckResponse(secret, challenge string, response []byte) bool {
	if secret == "" || challenge == "" {
		return false
	}
	if end := bytes.IndexByte(response, 0); end >= 0 {
		response = response[:end]
	}
	var space [responseSpace]byte
	want := AppendResponse(space[:0], secret, challenge)
	if len(response) < len(want) {
		return false
	}
	return subtle.ConstantTimeCompare(response[:len(want)], want) == 1
}

// CheckAny reports whether response answers challenge for the owner of any of
// secrets, as [CheckResponse] does. It tries all of them, so that the time does
// not reveal which one matched.
func CheckAny(secrets []string, challenge string, response []byte) bool {
	found := false
	for _, secret := range secrets {
		if CheckResponse(secret, challenge, response) {
			found = true
		}
	}
	return found
}

// scrambler is RC4 with one difference: the first index advances by the plain
// byte plus one instead of by one.
type scrambler struct {
	table [256]byte
	a, b  uint8
}

func newScrambler(secret string) scrambler {
	if secret == "" {
		secret = "\x00"
	}
	var s scrambler
	for i := range s.table {
		s.table[i] = byte(i)
	}
	var j uint8
	k := 0
	for i := range s.table {
		j += secret[k] + s.table[i]
		s.table[i], s.table[j] = s.table[j], s.table[i]
		if k++; k == len(secret) {
			k = 0
		}
	}
	return s
}

func (s *scrambler) next(plain byte) byte {
	s.a += plain + 1
	s.b += s.table[s.a]
	s.table[s.a], s.table[s.b] = s.table[s.b], s.table[s.a]
	return plain ^ s.table[s.table[s.a]+s.table[s.b]]
}
