package gamespy

import (
	"encoding/binary"
	"errors"
)

// The crypt header starts a server-list connection, in the clear:
//
//	u8  length of the next part, XOR 0xEC
//	u16be backend flags, then random bytes without meaning
//	u8  length of the next part, XOR 0xEA
//	server challenge
const (
	cryptRandomMask    = 0xEC
	cryptChallengeMask = 0xEA
	cryptFlagsLen      = 2
)

const (
	// MaxServerChallenge is the most bytes a server challenge can have: its
	// length is one byte on the wire. [BrowseKey] and [AppendCryptHeader] use
	// this much of a longer one, so that they always agree.
	MaxServerChallenge = 255

	// MaxCryptRandom is the most random bytes a crypt header can carry.
	MaxCryptRandom = 255 - cryptFlagsLen
)

var (
	// ErrShortCryptHeader reports a crypt header that ends too early: on a
	// stream, read more.
	ErrShortCryptHeader = errors.New("gamespy: crypt header is cut short")

	// ErrCryptHeader reports lengths that no crypt header has: no room for
	// the flags, or an empty server challenge.
	ErrCryptHeader = errors.New("gamespy: malformed crypt header")
)

// BrowseKey derives the key of a server-list stream from the secret of the
// browser's game, the browser's challenge and the server's. An empty secret
// counts as one zero byte.
func BrowseKey(secret string, client [8]byte, server []byte) [8]byte {
	if secret == "" {
		secret = "\x00"
	}
	key := client
	for i, b := range server[:min(len(server), MaxServerChallenge)] {
		at := i * int(secret[i%len(secret)]) % len(key)
		key[at] ^= key[i%len(key)] ^ b
	}
	return key
}

// AppendCryptHeader appends a crypt header to dst and returns the longer slice.
// At most [MaxCryptRandom] bytes of random and [MaxServerChallenge] bytes of
// serverChallenge go into it; the latter must not be empty: clients reject such
// a header.
func AppendCryptHeader(dst []byte, backendFlags uint16, random, serverChallenge []byte) []byte {
	random = random[:min(len(random), MaxCryptRandom)]
	serverChallenge = serverChallenge[:min(len(serverChallenge), MaxServerChallenge)]
	dst = append(dst, byte(cryptFlagsLen+len(random))^cryptRandomMask)
	dst = binary.BigEndian.AppendUint16(dst, backendFlags)
	dst = append(dst, random...)
	dst = append(dst, byte(len(serverChallenge))^cryptChallengeMask)
	return append(dst, serverChallenge...)
}

// ParseCryptHeader reads a crypt header from the start of p. serverChallenge
// and rest are parts of p. The error is [ErrShortCryptHeader] or
// [ErrCryptHeader].
func ParseCryptHeader(p []byte) (backendFlags uint16, serverChallenge, rest []byte, err error) {
	random, p, err := cutMasked(p, cryptRandomMask, cryptFlagsLen)
	if err != nil {
		return 0, nil, nil, err
	}
	serverChallenge, rest, err = cutMasked(p, cryptChallengeMask, 1)
	if err != nil {
		return 0, nil, nil, err
	}
	return binary.BigEndian.Uint16(random), serverChallenge, rest, nil
}

// cutMasked cuts a part that is preceded by its masked length and has at least
// least bytes.
func cutMasked(p []byte, mask byte, least int) (part, rest []byte, err error) {
	if len(p) == 0 {
		return nil, nil, ErrShortCryptHeader
	}
	n := int(p[0] ^ mask)
	if n < least {
		return nil, nil, ErrCryptHeader
	}
	if p = p[1:]; len(p) < n {
		return nil, nil, ErrShortCryptHeader
	}
	return p[:n:n], p[n:], nil
}
