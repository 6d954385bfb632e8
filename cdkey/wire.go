package cdkey

import (
	"bytes"
	"encoding/hex"
	"math"
	"strconv"
)

// Sizes of messages, in bytes.
const (
	maxRequest   = 511 // maximum that game servers send
	maxErrorText = 200
	hashLen      = 32 // hex digits
	responseLen  = 72
	pchLen       = 32 // clients copy as many, no more and no fewer
)

const xorKey = "gamespy"

// crypt enciphers or deciphers a message in place.
func crypt(b []byte) {
	for i := range b {
		b[i] ^= xorKey[i%len(xorKey)]
	}
}

// kind is the kind of a message of a game server.
type kind uint8

const (
	kindUnknown kind = iota
	kindAuth
	kindDisc
	kindKeepAlive
	kindOn
	kindOff
	kindCount
)

// kinds are the kinds by name.
var kinds = map[string]kind{
	"auth": kindAuth, "disc": kindDisc, "ka": kindKeepAlive, "uon": kindOn, "uoff": kindOff, "ucount": kindCount,
}

// hash is the MD5 of a CD key.
type hash [hashLen / 2]byte

// appendTo appends h in lower-case hex digits.
func (h hash) appendTo(dst []byte) []byte { return hex.AppendEncode(dst, h[:]) }

// parseHash reads the hash that a text begins with, in any case.
func parseHash(b []byte) (h hash, ok bool) {
	if len(b) < hashLen {
		return hash{}, false
	}
	_, err := hex.Decode(h[:], b[:hashLen])
	return h, err == nil
}

// request is a message of a game server. Its slices are parts of the datagram.
type request struct {
	kind      kind
	product   int
	hash      hash
	challenge []byte
	response  []byte
	skey      int
	proof     []byte // of uon
}

// parseRequest reads a message that was deciphered. It returns false for one that is
// unknown or lacks something.
func parseRequest(b []byte) (r request, ok bool) {
	if len(b) > maxRequest || len(b) == 0 || b[0] != '\\' {
		return request{}, false
	}
	f := fields{rest: b[1:]}
	name, _ := f.next()
	r.kind = kinds[string(name)]
	have := make([]byte, 0, 4) // first letters of the keys that were understood
	for len(f.rest) > 0 {
		key, value := f.next()
		good := true
		switch string(key) {
		case "pid":
			r.product, good = number(value)
		case "ch":
			r.challenge = value
		case "resp":
			r.response = value
			r.hash, good = parseHash(value)
		case "cd":
			r.hash, good = parseHash(value)
		case "skey":
			r.skey, good = number(value)
		case "proof":
			r.proof = value
		default:
			continue
		}
		if !good {
			return request{}, false
		}
		have = append(have, key[0])
	}
	return r, r.complete(have)
}

// complete reports whether a message has the keys that its kind needs. have are the first
// letters of its keys.
func (r *request) complete(have []byte) bool {
	needs := ""
	switch r.kind {
	case kindAuth:
		needs = "pcrs"
	case kindDisc:
		needs = "pc"
	case kindOn, kindOff:
		needs = "s"
	case kindKeepAlive, kindCount:
	case kindUnknown:
		return false
	}
	for _, c := range []byte(needs) {
		if bytes.IndexByte(have, c) < 0 {
			return false
		}
	}
	return true
}

// fields cuts backslash text into keys and values.
type fields struct{ rest []byte }

// next returns the next key and its value, which may be missing.
func (f *fields) next() (key, value []byte) {
	key, f.rest, _ = bytes.Cut(f.rest, []byte{'\\'})
	value, f.rest, _ = bytes.Cut(f.rest, []byte{'\\'})
	return key, value
}

// maxDigits is the length of the longest number, 2147483647.
const maxDigits = 10

// number reads a number that is not negative and has 32 bits with its sign.
func number(b []byte) (int, bool) {
	if len(b) == 0 || len(b) > maxDigits {
		return 0, false
	}
	n := int64(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return int(n), n <= math.MaxInt32
}

// appendOK appends the answer that lets a player in.
func appendOK(dst []byte, h hash, skey int) []byte {
	return appendAnswer(dst, `\uok\\cd\`, h, skey)
}

// appendRefusal appends the answer that keeps a player out. The player reads the
// text.
func appendRefusal(dst []byte, h hash, skey int, text string) []byte {
	dst = appendAnswer(dst, `\unok\\cd\`, h, skey)
	dst = append(dst, `\errmsg\`...)
	return append(dst, text[:min(len(text), maxErrorText)]...)
}

// appendQuestion appends the question whether a key is in use.
func appendQuestion(dst []byte, h hash, n int, pch string) []byte {
	dst = appendAnswer(dst, `\ison\\cd\`, h, n)
	dst = append(dst, `\pch\`...)
	return append(dst, pch...)
}

func appendAnswer(dst []byte, head string, h hash, skey int) []byte {
	dst = append(dst, head...)
	dst = h.appendTo(dst)
	dst = append(dst, `\skey\`...)
	return strconv.AppendInt(dst, int64(skey), 10)
}

// appendAuth appends the request for a player, as newer game servers send it.
func appendAuth(dst []byte, product int, challenge, response string, skey int) []byte {
	dst = append(dst, `\auth\\pid\`...)
	dst = strconv.AppendInt(dst, int64(product), 10)
	dst = append(append(dst, `\ch\`...), challenge...)
	dst = append(append(dst, `\resp\`...), response...)
	dst = append(dst, `\ip\16777343\skey\`...)
	dst = strconv.AppendInt(dst, int64(skey), 10)
	return append(dst, `\reqproof\1\`...)
}

// appendLeave appends a game server's message that a player has left.
func appendLeave(dst []byte, product int, h hash) []byte {
	dst = append(dst, `\disc\\pid\`...)
	dst = strconv.AppendInt(dst, int64(product), 10)
	dst = h.appendTo(append(dst, `\cd\`...))
	return append(dst, `\ip\16777343`...)
}
