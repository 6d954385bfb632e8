package gamespy

import (
	"encoding/base64"
	"errors"
	"strings"
)

const (
	// MaxPassword is the maximum length of the result of [DecodePassword].
	// Clients send passwords of up to 30 bytes and, in the same encoding, CD
	// keys of up to 64.
	MaxPassword = 64

	// MaxEncodedPassword is the maximum length of the input of
	// [DecodePassword].
	MaxEncodedPassword = (MaxPassword + 2) / 3 * 4
)

var (
	// ErrPasswordTooLong reports more than [MaxPassword] bytes.
	ErrPasswordTooLong = errors.New("gamespy: encoded password too long")

	// ErrPasswordEncoding reports text that is not an encoded password.
	ErrPasswordEncoding = errors.New("gamespy: malformed encoded password")
)

// The key stream is that of a Lehmer generator, the same for every password.
const (
	passwordSeed       = 0x79707367 // "gspy"
	passwordMultiplier = 16807
	passwordModulus    = 1<<31 - 1
	passwordKeyModulus = 255
)

// EncodePassword hides plain in the way that presence clients do before they
// send a password or a CD key: XOR with a fixed key stream, then base64 with
// '[', ']' and '_' for '+', '/' and '='. Anyone can undo it. It sets no limit
// to the length.
func EncodePassword(plain string) string {
	p := []byte(plain)
	xorPassword(p)
	encoded := base64.StdEncoding.AppendEncode(nil, p)
	for i, c := range encoded {
		switch c {
		case '+':
			encoded[i] = '['
		case '/':
			encoded[i] = ']'
		case '=':
			encoded[i] = '_'
		}
	}
	return string(encoded)
}

// DecodePassword undoes [EncodePassword]. It also accepts the ordinary base64
// alphabet and missing padding. The result can hold any bytes, NUL included.
// The error is [ErrPasswordTooLong] or [ErrPasswordEncoding]; neither reveals
// anything of the input.
func DecodePassword(encoded string) (string, error) {
	if len(encoded) > MaxEncodedPassword {
		return "", ErrPasswordTooLong
	}
	ordinary := strings.Map(ordinaryBase64, encoded)
	ordinary = strings.TrimSuffix(strings.TrimSuffix(ordinary, "="), "=")
	p, err := base64.RawStdEncoding.DecodeString(ordinary)
	if err != nil {
		return "", ErrPasswordEncoding
	}
	if len(p) > MaxPassword {
		return "", ErrPasswordTooLong
	}
	xorPassword(p)
	return string(p), nil
}

// ordinaryBase64 returns the ordinary character for one of either alphabet.
// Line ends become one that is in neither, because the decoder skips them.
func ordinaryBase64(c rune) rune {
	switch c {
	case '[':
		return '+'
	case ']':
		return '/'
	case '_':
		return '='
	case '\r', '\n':
		return '?'
	}
	return c
}

func xorPassword(p []byte) {
	state := uint64(passwordSeed)
	for i := range p {
		state = state * passwordMultiplier % passwordModulus
		p[i] ^= byte(state % passwordKeyModulus)
	}
}
