package gamespy

import "encoding/binary"

// Enctype1Noise is the number of random bytes in the header of a list of
// enctype 1.
const Enctype1Noise = 13 + scrambleLen + 1 + enctype1TreeKey + enctype1Lead

const (
	scrambleLen     = 16
	enctype1TreeKey = 4
	enctype1Lead    = 18 // random bytes between header and list
	enctype1Fixed   = 40 // bytes before them
	enctype1Head    = enctype1Fixed + enctype1Lead
)

// The offsets of the parts of the header.
const (
	atTrail    = 4
	atLead     = 5
	atNoise    = 6
	atScramble = 19
	atTreeKey  = 36
)

// The sizes of the parts of a list of n bytes that have more than one layer.
func enctype1TreePart(n int) int { return max(n/2-17, 0) }
func enctype1DeckPart(n int) int { return max(n/4-5, 0) }

// Enctype1 is the state of a list of enctype 1, which is scrambled in up to
// three layers: all of it with a variant of RC4, the first half with a
// [TreeCipher] and the first quarter with a [Cipher]. No secret is needed to
// read it; the keys are the challenge of the greeting and values in the header.
// Use [NewEnctype1]; the zero value is not valid.
type Enctype1 struct {
	rc4  enctype1RC4
	tree TreeCipher
	deck Cipher
	pos  int // in the list
	size int // of the list
}

// NewEnctype1 returns the state to encode a list of size bytes, and the header
// to send before the list. size is the total length that [Enctype1.Encode] will
// be given; noise should be random.
func NewEnctype1(challenge string, size int, noise *[Enctype1Noise]byte) (e Enctype1, header []byte) {
	header = binary.BigEndian.AppendUint32(make([]byte, 0, enctype1Head), uint32(enctype1Head+size))
	header = append(header, 20^62, (enctype1Lead+5)^205)
	header = append(header, noise[:]...)
	return newEnctype1(challenge, size, header), header
}

func newEnctype1(challenge string, size int, header []byte) Enctype1 {
	return Enctype1{
		rc4:  newEnctype1RC4([scrambleLen]byte(header[atScramble:])),
		tree: NewTreeCipher(header[atTreeKey : atTreeKey+enctype1TreeKey]),
		deck: NewCipher([]byte(challenge)),
		size: size,
	}
}

// Encode scrambles the next part of the list, src, into dst. dst and src must be
// the same memory or not overlap at all. It panics if dst is shorter than src.
func (e *Enctype1) Encode(dst, src []byte) {
	dst = dst[:len(src):len(dst)]
	deck, tree := e.parts(len(src))
	e.rc4.xor(dst, src)
	e.tree.XOR(dst, dst[:tree])
	e.deck.Encrypt(dst, dst[:deck])
	e.pos += len(src)
}

// decode undoes Encode.
func (e *Enctype1) decode(p []byte) {
	deck, tree := e.parts(len(p))
	e.deck.Decrypt(p, p[:deck])
	e.tree.XOR(p, p[:tree])
	e.rc4.xor(p, p)
	e.pos += len(p)
}

// parts returns how much of the next n bytes the inner layers cover.
func (e *Enctype1) parts(n int) (deck, tree int) {
	left := func(end int) int { return min(max(end-e.pos, 0), n) }
	return left(enctype1DeckPart(e.size)), left(enctype1TreePart(e.size))
}

// DecodeEnctype1 returns the list in a whole stream of enctype 1. It does not
// change stream. The error is [ErrListHeader].
func DecodeEnctype1(challenge string, stream []byte) ([]byte, error) {
	if len(stream) < enctype1Fixed || uint64(binary.BigEndian.Uint32(stream)) != uint64(len(stream)) {
		return nil, ErrListHeader
	}
	trail := int((stream[atTrail] ^ 62) - 20)
	lead := int((stream[atLead] ^ 205) - 5)
	size := len(stream) - enctype1Fixed - lead - trail
	if size < 0 {
		return nil, ErrListHeader
	}
	list := append([]byte(nil), stream[enctype1Fixed+lead:][:size]...)
	e := newEnctype1(challenge, size, stream)
	e.decode(list)
	return list, nil
}

// enctype1RC4 is RC4 that starts from a table in reverse order.
type enctype1RC4 struct {
	table [256]byte
	a, b  uint8
}

// newEnctype1RC4 makes the start state. The key is not scramble itself but its
// bytes mapped by enctype1Table.
func newEnctype1RC4(scramble [scrambleLen]byte) enctype1RC4 {
	var s enctype1RC4
	for i := range s.table {
		s.table[i] = 255 - byte(i)
	}
	var j uint8
	for i := range s.table {
		j += enctype1Table[scramble[i%scrambleLen]] + s.table[i]
		s.table[i], s.table[j] = s.table[j], s.table[i]
	}
	return s
}

// xor scrambles src into dst, or back.
func (s *enctype1RC4) xor(dst, src []byte) {
	dst = dst[:len(src)]
	a, b := s.a, s.b
	for i, c := range src {
		a++
		t := s.table[a]
		b += t
		u := s.table[b]
		s.table[a], s.table[b] = u, t
		dst[i] = c ^ s.table[t+u]
	}
	s.a, s.b = a, b
}

// enctype1Table is a table that is built into the clients. It is not
// invertible.
const enctype1Table = "" +
	"\x01\xba\xfa\xb2\x51\x00\x54\x80\x75\x16\x8e\x8e\x02\x08\x36\xa5" +
	"\x2d\x05\x0d\x16\x52\x07\xb4\x22\x8c\xe9\x09\xd6\xb9\x26\x00\x04" +
	"\x06\x05\x00\x13\x18\xc4\x1e\x5b\x1d\x76\x74\xfc\x50\x51\x06\x16" +
	"\x00\x51\x28\x00\x04\x0a\x29\x78\x51\x00\x01\x11\x52\x16\x06\x4a" +
	"\x20\x84\x01\xa2\x1e\x16\x47\x16\x32\x51\x9a\xc4\x03\x2a\x73\xe1" +
	"\x2d\x4f\x18\x4b\x93\x4c\x0f\x39\x0a\x00\x04\xc0\x12\x0c\x9a\x5e" +
	"\x02\xb3\x18\xb8\x07\x0c\xcd\x21\x05\xc0\xa9\x41\x43\x04\x3c\x52" +
	"\x75\xec\x98\x80\x1d\x08\x02\x1d\x58\x84\x01\x4e\x3b\x6a\x53\x7a" +
	"\x55\x56\x57\x1e\x7f\xec\xb8\xad\x00\x70\x1f\x82\xd8\xfc\x97\x8b" +
	"\xf0\x83\xfe\x0e\x76\x03\xbe\x39\x29\x77\x30\xe0\x2b\xff\xb7\x9e" +
	"\x01\x04\xf8\x01\x0e\xe8\x53\xff\x94\x0c\xb2\x45\x9e\x0a\xc7\x06" +
	"\x18\x01\x64\xb0\x03\x98\x01\xeb\x02\xb0\x01\xb4\x12\x49\x07\x1f" +
	"\x5f\x5e\x5d\xa0\x4f\x5b\xa0\x5a\x59\x58\xcf\x52\x54\xd0\xb8\x34" +
	"\x02\xfc\x0e\x42\x29\xb8\xda\x00\xba\xb1\xf0\x12\xfd\x23\xae\xb6" +
	"\x45\xa9\xbb\x06\xb8\x88\x14\x24\xa9\x00\x14\xcb\x24\x12\xae\xcc" +
	"\x57\x56\xee\xfd\x08\x30\xd9\xfd\x8b\x3e\x0a\x84\x46\xfa\x77\xb8"
