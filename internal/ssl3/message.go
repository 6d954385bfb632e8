package ssl3

import (
	"encoding/binary"
	"slices"
)

// kind is the kind of a handshake message.
type kind byte

const (
	kindClientHello kind = 1
	kindServerHello kind = 2
	kindCertificate kind = 11
	kindHelloDone   kind = 14
	kindKeyExchange kind = 16
	kindFinished    kind = 20
)

// Limits of messages in bytes.
const (
	messageHeader  = 4
	maxHello       = 2048
	maxCertificate = 8192
	maxSession     = 32
)

// Sizes of a hello in the form of SSL 2.
const (
	oldHeader    = 2
	oldFixed     = 9
	oldSuite     = 3
	minChallenge = 16
	oldSession   = 16 // of an identifier, if there is one
)

// suite is TLS_RSA_WITH_RC4_128_MD5, the only cipher suite.
const suite = 0x0004

// noCompression is the only method of compression.
const noCompression = 0

// appendMessage appends a handshake message with its header.
func appendMessage(dst []byte, k kind, body []byte) []byte {
	dst = append(dst, byte(k), byte(len(body)>>16), byte(len(body)>>8), byte(len(body)))
	return append(dst, body...)
}

// hello is a ClientHello or a ServerHello. The latter has one suite and one method of
// compression, which are the selected ones.
type hello struct {
	version      uint16
	random       [randomLen]byte
	session      []byte // at most maxSession bytes
	suites       []uint16
	compressions []byte
}

// appendClient appends the body of a ClientHello.
func (h *hello) appendClient(dst []byte) []byte {
	dst = h.appendStart(dst)
	dst = binary.BigEndian.AppendUint16(dst, uint16(2*len(h.suites)))
	for _, s := range h.suites {
		dst = binary.BigEndian.AppendUint16(dst, s)
	}
	dst = append(dst, byte(len(h.compressions)))
	return append(dst, h.compressions...)
}

// appendServer appends the body of a ServerHello.
func (h *hello) appendServer(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(h.appendStart(dst), h.suites[0])
	return append(dst, h.compressions[0])
}

func (h *hello) appendStart(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, h.version)
	dst = append(dst, h.random[:]...)
	dst = append(dst, byte(len(h.session)))
	return append(dst, h.session...)
}

// parseStart reads the part that both hellos share and returns the rest.
func (h *hello) parseStart(body []byte) (rest []byte, ok bool) {
	const fixed = 2 + randomLen + 1
	if len(body) < fixed {
		return nil, false
	}
	h.version = binary.BigEndian.Uint16(body)
	copy(h.random[:], body[2:])
	session := int(body[fixed-1])
	if session > maxSession || len(body) < fixed+session {
		return nil, false
	}
	h.session = slices.Clone(body[fixed : fixed+session])
	return body[fixed+session:], true
}

// parseClientHello reads the body of a ClientHello. Data after the methods of compression are
// extensions of later versions, which are skipped.
func parseClientHello(body []byte) (h hello, ok bool) {
	rest, ok := h.parseStart(body)
	if !ok || len(rest) < 2 {
		return hello{}, false
	}
	size := int(binary.BigEndian.Uint16(rest))
	rest = rest[2:]
	if size == 0 || size%2 != 0 || len(rest) < size+1 {
		return hello{}, false
	}
	for ; size > 0; size -= 2 {
		h.suites = append(h.suites, binary.BigEndian.Uint16(rest))
		rest = rest[2:]
	}
	methods := int(rest[0])
	if methods == 0 || len(rest) < 1+methods {
		return hello{}, false
	}
	h.compressions = slices.Clone(rest[1 : 1+methods])
	return h, true
}

// parseOldHello reads a hello in the form of SSL 2 that offers SSL 3.0 or later. Numbers are big-endian.
//
//	offset size
//	     0    1  1, the kind
//	     1    2  the newest version that the client speaks
//	     3    2  length of the suites
//	     5    2  length of the identifier of a session: 0 or 16
//	     7    2  length of the challenge: 16 to 32
//	     9    -  suites of 3 bytes: those of SSL 3.0 begin with 0, others are skipped
//	     -    -  identifier, challenge
//
// The challenge is the end of the client's random bytes; those before it are 0. Compression is never
// offered.
func parseOldHello(body []byte) (h hello, ok bool) {
	if len(body) < oldFixed || kind(body[0]) != kindClientHello {
		return hello{}, false
	}
	h.version, h.compressions = binary.BigEndian.Uint16(body[1:]), []byte{noCompression}
	suites, session, challenge := int(binary.BigEndian.Uint16(body[3:])), int(binary.BigEndian.Uint16(body[5:])), int(binary.BigEndian.Uint16(body[7:]))
	rest := body[oldFixed:]
	switch {
	case suites == 0, suites%oldSuite != 0, session != 0 && session != oldSession, challenge < minChallenge, challenge > randomLen,
		len(rest) != suites+session+challenge:
		return hello{}, false
	}
	for p := rest[:suites]; len(p) > 0; p = p[oldSuite:] {
		if p[0] == 0 {
			h.suites = append(h.suites, binary.BigEndian.Uint16(p[1:]))
		}
	}
	copy(h.random[randomLen-challenge:], rest[suites+session:])
	return h, true
}

func parseServerHello(body []byte) (h hello, ok bool) {
	rest, ok := h.parseStart(body)
	if !ok || len(rest) != 3 {
		return hello{}, false
	}
	h.suites, h.compressions = []uint16{binary.BigEndian.Uint16(rest)}, []byte{rest[2]}
	return h, true
}

// appendCertificate appends the body of a Certificate message with one certificate.
func appendCertificate(dst, der []byte) []byte {
	dst = append24(dst, 3+len(der))
	return append(append24(dst, len(der)), der...)
}

func append24(dst []byte, n int) []byte { return append(dst, byte(n>>16), byte(n>>8), byte(n)) }

// parseCertificate returns the first certificate of a Certificate message.
func parseCertificate(body []byte) (der []byte, ok bool) {
	list, ok := cut24(body)
	if !ok || len(list)+3 != len(body) {
		return nil, false
	}
	return cut24(list)
}

// cut24 returns the bytes that follow their length.
func cut24(p []byte) ([]byte, bool) {
	if len(p) < 3 {
		return nil, false
	}
	n := int(p[0])<<16 | int(p[1])<<8 | int(p[2])
	if n > len(p)-3 {
		return nil, false
	}
	return p[3 : 3+n], true
}
