package courier

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/respawnd/respawnd/master"
)

// Subjects of the messages between nodes.
const (
	subjectMessage = "servers.message" // request: a message; answer: a code
	subjectMet     = "servers.met"     // an address
	subjectRelayed = "servers.relayed" // an address
	subjectAsk     = "servers.ask"     // request: an address; answer: query.Status as JSON
	subjectRemove  = "servers.remove"  // request: an address; answer: the number of servers, at most 255
)

// version is the first byte of everything but answers.
const version = 1

// The codes of an answer.
const (
	codeSent byte = iota
	codeNotListed
	codeBusy
	codeRefused
)

func codeOf(err error) byte {
	switch {
	case err == nil:
		return codeSent
	case errors.Is(err, master.ErrNotListed):
		return codeNotListed
	case errors.Is(err, master.ErrBusy):
		return codeBusy
	}
	return codeRefused
}

func resultOf(code byte) string {
	switch code {
	case codeSent:
		return resultDelivered
	case codeNotListed:
		return resultNotListed
	case codeBusy:
		return resultBusy
	}
	return resultRefused
}

var errForm = errors.New("message of another version or of a wrong form")

// message is a message to a server.
//
//	offset size
//	     0    1  1: version
//	     1    1  length of the address: 6 for IPv4, 18 for IPv6
//	     2    n  the source of the server: address, port in little-endian order
//	   2+n    4  its instance
//	   6+n    -  the message, up to MaxMessage bytes
type message struct {
	key     master.Key
	payload []byte
}

// parseMessage reads a message. payload is part of p.
func parseMessage(p []byte) (m message, err error) {
	a, rest, err := cutAddress(p)
	if err != nil || len(rest) < 4 || len(rest) > 4+MaxMessage {
		return m, errForm
	}
	return message{master.Key{Source: a, Instance: binary.BigEndian.Uint32(rest)}, rest[4:]}, nil
}

func (m message) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(appendAddress(b, m.key.Source), m.key.Instance)
	return append(b, m.payload...)
}

// appendAddress appends the version and an address, as a message begins.
func appendAddress(b []byte, a netip.AddrPort) []byte {
	text, _ := netip.AddrPortFrom(a.Addr().WithZone(""), a.Port()).MarshalBinary() // never an error
	return append(append(b, version, byte(len(text))), text...)
}

// parseAddress is the inverse of appendAddress.
func parseAddress(p []byte) (netip.AddrPort, error) {
	a, rest, err := cutAddress(p)
	if err != nil || len(rest) > 0 {
		return netip.AddrPort{}, errForm
	}
	return a, nil
}

func cutAddress(p []byte) (a netip.AddrPort, rest []byte, err error) {
	if len(p) < 2 || p[0] != version || p[1] != 6 && p[1] != 18 || len(p) < 2+int(p[1]) {
		return a, nil, errForm
	}
	if err := a.UnmarshalBinary(p[2 : 2+p[1]]); err != nil {
		return a, nil, errForm
	}
	return a, p[2+p[1]:], nil
}
