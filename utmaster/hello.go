package utmaster

import (
	"encoding/binary"
	"strings"
)

// Words of the handshake.
const (
	wordApproved = "APPROVED"
	wordDenied   = "DENIED"
	wordVerified = "VERIFIED"
)

// approvedNumber follows the approval of a client from version modern on. Clients
// compare it.
const approvedNumber = 3

// Versions at which layouts change.
const (
	modern     = 3000 // Unreal Tournament 2004
	versionXMP = 2226 // Unreal 2 XMP
)

// keyHashLen is the length of the digests of CD keys.
const keyHashLen = 32

// Role is the kind of a peer: the end of the word with which it signs in.
type Role uint8

// The roles.
const (
	RoleNone Role = iota
	RoleClient
	RoleServer
)

// Hello is the first message of a peer. Fields missing at its end are zero, Statistics -1.
//
//	keyhash   text   digest of the CD key, 32 hex digits
//	response  text   digest of the CD key and the challenge
//	role      text   CLIENT, SERVER, with a word of the game before it: UT2K4CLIENT
//	version   int32
//
//	client below 3000  byte OS, text language
//	client from 3000   the same, int32 device and vendor of the graphics card, int32
//	                   speed of the processor in 100 MHz, byte its type
//	server below 3000  int32 statistics (0 on, -1 off), byte OS, text language
//	server from 3000   byte OS, text language, int32 id for statistics (-1 off, 0 give
//	                   me one), byte whether global bans are off
type Hello struct {
	KeyHash, Response string
	Word              string // of the role
	Version           int32
	OS                byte
	Language          string
	Device, Vendor    int32
	Speed             int32
	Processor         byte
	Statistics        int32
	BansOff           byte
}

// Role returns the role, and the word of the game before it.
func (h *Hello) Role() (role Role, game string) {
	word := strings.ToUpper(h.Word)
	if game, ok := strings.CutSuffix(word, "CLIENT"); ok {
		return RoleClient, game
	}
	if game, ok := strings.CutSuffix(word, "SERVER"); ok {
		return RoleServer, game
	}
	return RoleNone, word
}

// AppendTo appends the message with its length.
func (h *Hello) AppendTo(dst []byte) []byte {
	role, _ := h.Role()
	return frame(dst, func(b []byte) []byte {
		b = appendText(appendText(appendText(b, h.KeyHash), h.Response), h.Word)
		b = appendInt32(b, h.Version)
		if role == RoleServer && h.Version < modern {
			b = appendInt32(b, h.Statistics)
		}
		b = appendText(append(b, h.OS), h.Language)
		switch {
		case h.Version < modern:
			return b
		case role == RoleServer:
			return append(appendInt32(b, h.Statistics), h.BansOff)
		default:
			b = appendInt32(appendInt32(appendInt32(b, h.Device), h.Vendor), h.Speed)
			return append(b, h.Processor)
		}
	})
}

// ParseHello reads the message without its length. Fields behind the version may be
// missing.
func ParseHello(p []byte) (Hello, error) {
	c := cursor{b: p}
	h := Hello{KeyHash: c.text(), Response: c.text(), Word: c.text(), Version: c.int32(), Statistics: -1}
	if c.err != nil {
		return Hello{}, c.err
	}
	role, _ := h.Role()
	optional := func(v *int32) {
		if n := c.int32(); c.err == nil {
			*v = n
		}
	}
	if role == RoleServer && h.Version < modern {
		optional(&h.Statistics)
	}
	h.OS, h.Language = c.uint8(), c.text()
	switch {
	case h.Version < modern:
	case role == RoleServer:
		optional(&h.Statistics)
		h.BansOff = c.uint8()
	default:
		h.Device, h.Vendor, h.Speed, h.Processor = c.int32(), c.int32(), c.int32(), c.uint8()
	}
	return h, nil
}

// isKeyHash reports whether a text can be the digest of a CD key, as bans have it.
func isKeyHash(s string) bool {
	return len(s) == keyHashLen && strings.Trim(s, "0123456789abcdef") == ""
}

// appendWord appends a message of a text and numbers.
func appendWord(dst []byte, word string, numbers ...int32) []byte {
	return frame(dst, func(b []byte) []byte {
		b = appendText(b, word)
		for _, n := range numbers {
			b = appendInt32(b, n)
		}
		return b
	})
}

// appendApproval appends the answer to an accepted Hello.
func appendApproval(dst []byte, role Role, version int32) []byte {
	if role == RoleClient && version >= modern {
		return appendWord(dst, wordApproved, approvedNumber)
	}
	return appendWord(dst, wordApproved)
}

// parseWord reads a message of a text, and returns the bytes behind it.
func parseWord(p []byte) (word string, rest []byte, err error) {
	c := cursor{b: p}
	word = c.text()
	return word, c.b, c.err
}

func appendInt32(dst []byte, v int32) []byte {
	return binary.LittleEndian.AppendUint32(dst, uint32(v))
}
