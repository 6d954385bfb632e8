package gamespy

import (
	"crypto/subtle"
	"encoding/base64"
)

// shortSecret is the number of characters of a secret that the oldest clients
// use.
const shortSecret = 6

// AppendValidate appends the answer that a browser of the old list gives to the
// challenge of the greeting, and returns the longer slice. For enctype 0 it is
// [Response]. For enctype 1 and 2 the bytes of the answer, with the zero bytes
// that fill its last group, are scrambled once more before they become text: by
// a table, or with the secret. Any other enctype counts as 0.
func AppendValidate(dst []byte, enctype int, secret, challenge string) []byte {
	start := len(dst)
	dst = AppendResponse(dst, secret, challenge)
	if secret == "" {
		secret = "\x00"
	}
	var group [3]byte
	for i, at := 0, start; at < len(dst); at += 4 {
		if enctype != 1 && enctype != 2 {
			break
		}
		_, _ = base64.StdEncoding.Decode(group[:], dst[at:at+4]) // it was just encoded
		for k := range group {
			if enctype == 1 {
				group[k] = enctype1Table[group[k]]
			} else {
				group[k] ^= secret[i%len(secret)]
			}
			i++
		}
		base64.StdEncoding.Encode(dst[at:at+4], group[:])
	}
	return dst
}

// CheckValidate reports whether response is the answer of the enctype to
// challenge for one of secrets, and returns that secret. The first 6 characters
// of a longer secret are tried too, because some clients know no more; secret
// is then that part. Bytes after a right answer are ignored. The bytes are
// compared in constant time and all secrets are tried. For an empty secret or
// challenge it returns false.
func CheckValidate(enctype int, secrets []string, challenge string, response []byte) (secret string, ok bool) {
	if challenge == "" {
		return "", false
	}
	try := func(s string) {
		if s == "" {
			return
		}
		var space [responseSpace]byte
		want := AppendValidate(space[:0], enctype, s, challenge)
		if len(response) < len(want) {
			return
		}
		if subtle.ConstantTimeCompare(response[:len(want)], want) == 1 && !ok {
			secret, ok = s, true
		}
	}
	for _, s := range secrets {
		try(s)
		if len(s) > shortSecret {
			try(s[:shortSecret])
		}
	}
	return secret, ok
}

// MasterGame is the game that masters of 333networks say they are among themselves, MasterSecret
// its secret.
const (
	MasterGame   = "333networks"
	MasterSecret = "333NWX"
)
