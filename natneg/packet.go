package natneg

import (
	"encoding/binary"
	"errors"
)

// Type is the kind of a packet. See the table in the package comment.
type Type byte

// The packet types.
const (
	TypeInit         Type = 0x00
	TypeInitAck      Type = 0x01
	TypeTest         Type = 0x02
	TypeTestAck      Type = 0x03
	TypeStateUpdate  Type = 0x04
	TypeConnect      Type = 0x05
	TypeConnectAck   Type = 0x06
	TypePing         Type = 0x07
	TypeBackupTest   Type = 0x08
	TypeBackupAck    Type = 0x09
	TypeAddressCheck Type = 0x0A
	TypeAddressReply Type = 0x0B
	TypeNATTest      Type = 0x0C
	TypeReport       Type = 0x0D
	TypeReportAck    Type = 0x0E
	TypeQueue        Type = 0x0F
	TypeQueueAck     Type = 0x10
)

// PortType identifies the socket of a client that an init or a test is about,
// and the host name that it was sent to.
type PortType byte

// The port types.
const (
	PortGame PortType = 0 // the game's own socket, to natneg1
	PortNN1  PortType = 1 // the negotiation socket, to natneg1
	PortNN2  PortType = 2 // the same socket, to natneg2
	PortNN3  PortType = 3 // the same socket, to natneg3

	portTypes = 4
)

// The values of Connect.Finished.
const (
	FinishedOK      byte = 0 // here is your partner
	FinishedNoOne   byte = 1 // the partner did not come
	FinishedHalfWay byte = 2 // your own inits did not all come
)

// Sizes in bytes, of bodies unless said otherwise.
const (
	headerSize    = 12
	typeAt        = 7  // offset of the type
	longBody      = 9  // an init without its game name, and all receipts
	shortBody     = 3  // the same in version 1
	connectBody   = 8  // connect and ping
	checkBody     = 61 // requests of address checks and NAT tests
	reportGame    = 50 // the game name in a report
	minReportBody = 11 // a report without its game name
	queueBody     = 6
	maxAnswer     = headerSize + longBody // our longest packet
)

// Values of fields that never change.
const (
	maxVersion            = 4
	gotData          byte = 0x42 // in our connects; clients do not look at it
	cookieNATTest         = 777  // of NAT tests
	maxCookieAddress      = 3    // of address checks; clients use it as an index
	queueReady       byte = 2    // the state in our queue replies
)

var magic = [6]byte{0xFD, 0xFC, 0x1E, 0x66, 0x6A, 0xB2}

// Reasons why a packet has no Header.
var (
	ErrShort   = errors.New("packet is too short")
	ErrMagic   = errors.New("packet is of another protocol")
	ErrVersion = errors.New("protocol version is not 1 to 4")
)

// Header is the beginning of every packet.
//
//	offset size
//	     0    6  FD FC 1E 66 6A B2
//	     6    1  version, 1 to 4
//	     7    1  type
//	     8    4  cookie
type Header struct {
	Version byte
	Type    Type
	Cookie  uint32
}

// ParseHeader reads the header of a packet; body is the rest of p. The error is
// ErrShort, ErrMagic or ErrVersion. The type may be an unknown one.
func ParseHeader(p []byte) (h Header, body []byte, err error) {
	switch {
	case len(p) < headerSize:
		return Header{}, nil, ErrShort
	case [6]byte(p) != magic:
		return Header{}, nil, ErrMagic
	case p[6] == 0 || p[6] > maxVersion:
		return Header{}, nil, ErrVersion
	}
	h = Header{Version: p[6], Type: Type(p[typeAt]), Cookie: binary.BigEndian.Uint32(p[8:])}
	return h, p[headerSize:], nil
}

// AppendTo appends the header.
func (h Header) AppendTo(b []byte) []byte {
	b = append(b, magic[:]...)
	b = append(b, h.Version, byte(h.Type))
	return binary.BigEndian.AppendUint32(b, h.Cookie)
}
