package mangler

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// PacketLen is the length of requests and answers.
const PacketLen = 20

// Packet is a request or an answer.
//
//	offset size
//	     0    4  checksum of the rest, see sum
//	     4    2  magic: F0 0D
//	     6    2  ID, as the client likes, in either order of bytes
//	     8    2  port from which the request came; 44 44 in a request
//	    10    2  port of the client on its own machine
//	    12    4  address from which the request came; 44 44 44 44 in a request
//	    16    1  command: 12 asks, 44 answers
//	    17    1  1: answer from further ports too
//	    18    2  not used, returned as it came
//
// Numbers are big-endian.
type Packet struct {
	ID      [2]byte
	Seen    netip.AddrPort // IPv4
	Local   uint16
	Command Command
	Blitz   byte
	Unused  [2]byte
}

// Command is the kind of a packet.
type Command byte

// The commands.
const (
	Ask    Command = 12
	Answer Command = 44
)

// magic is in every packet.
const magic = 0xF00D

// Errors of Parse.
var (
	ErrLength   = errors.New("the packet does not have 20 bytes")
	ErrChecksum = errors.New("the checksum is wrong")
	ErrMagic    = errors.New("the packet does not have the magic number")
)

// Parse reads a packet.
func Parse(b []byte) (p Packet, err error) {
	switch {
	case len(b) != PacketLen:
		return p, ErrLength
	case binary.BigEndian.Uint32(b) != sum(b[4:]):
		return p, ErrChecksum
	case binary.BigEndian.Uint16(b[4:]) != magic:
		return p, ErrMagic
	}
	return Packet{
		ID:      [2]byte(b[6:8]),
		Seen:    netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[12:16])), binary.BigEndian.Uint16(b[8:])),
		Local:   binary.BigEndian.Uint16(b[10:]),
		Command: Command(b[16]),
		Blitz:   b[17],
		Unused:  [2]byte(b[18:20]),
	}, nil
}

// AppendTo appends the packet to b. An address that is not IPv4 is written as
// 0.0.0.0.
func (p Packet) AppendTo(b []byte) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, magic)
	b = append(b, p.ID[:]...)
	b = binary.BigEndian.AppendUint16(b, p.Seen.Port())
	b = binary.BigEndian.AppendUint16(b, p.Local)
	var seen [4]byte
	if a := p.Seen.Addr().Unmap(); a.Is4() {
		seen = a.As4()
	}
	b = append(b, seen[:]...)
	b = append(b, byte(p.Command), p.Blitz)
	b = append(b, p.Unused[:]...)
	binary.BigEndian.PutUint32(b[at:], sum(b[at+4:]))
	return b
}

// NewRequest returns a request as games send it: bytes that the helper fills in are 44.
func NewRequest(id [2]byte, local uint16) Packet {
	return Packet{
		ID: id, Seen: netip.AddrPortFrom(netip.AddrFrom4([4]byte{0x44, 0x44, 0x44, 0x44}), 0x4444), Local: local,
		Command: Ask, Unused: [2]byte{0x44, 0x44},
	}
}

// sum returns the checksum of bytes: for each of them, the sum so far is rotated left
// by one bit and the byte added.
func sum(b []byte) (c uint32) {
	for _, v := range b {
		c = c<<1 + uint32(v) + c>>31
	}
	return c
}
