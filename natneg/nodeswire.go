package natneg

import (
	"encoding/binary"
	"errors"
)

// Subjects of the messages between the nodes of a cluster.
const (
	subjectPacket = "natneg.packet" // forwarded, to the node that the cookie belongs to
	subjectSend   = "natneg.send"   // order, to the node whose socket the player knows
	subjectTest   = "natneg.test"   // order, to the node that has natneg3
	subjectPairs  = "natneg.pairs"  // lessons, to all
	subjectReady  = "natneg.ready"  // the version, to all: this node takes packets from now on
)

// nodeVersion is the first byte of every message.
const nodeVersion = 1

// Sizes of messages in bytes.
const (
	forwardedHead = 14
	orderHead     = 13
	// maxForwarded is the part of a packet that is forwarded: no more of it counts.
	maxForwarded = headerSize + longBody + maxName
)

// Reasons why a message between nodes is not read.
var (
	errNodeVersion = errors.New("message of another version")
	errNodeSize    = errors.New("message of a wrong length")
)

// forwarded is a packet of a client that reached another node.
//
//	offset size
//	     0    1  1: version
//	     1    1  1: it was forwarded before to a node that left, and is not confirmed
//	     2    4  address of the client
//	     6    2  its port
//	     8    4  local address that it came to; 0: unknown
//	    12    2  socket that it came to
//	    14    -  the packet, up to maxForwarded bytes
type forwarded struct {
	again  bool
	from   endpoint
	ip     [4]byte
	socket uint16
	data   []byte
}

// parseForwarded reads a message. data is part of p.
func parseForwarded(p []byte) (f forwarded, err error) {
	switch {
	case len(p) < 1 || p[0] != nodeVersion:
		return f, errNodeVersion
	case len(p) < forwardedHead+headerSize || len(p) > forwardedHead+maxForwarded || p[1] > 1,
		binary.BigEndian.Uint16(p[12:]) >= socketsPerNode:
		return f, errNodeSize
	}
	return forwarded{
		again: p[1] == 1, from: readEndpoint(p[2:]), ip: [4]byte(p[8:]), socket: binary.BigEndian.Uint16(p[12:]),
		data: p[forwardedHead:],
	}, nil
}

// appendTo appends the message. Bytes of the packet beyond maxForwarded are left out.
func (f *forwarded) appendTo(b []byte) []byte {
	b = append(b, nodeVersion, boolByte(f.again))
	b = appendEndpoint(b, f.from)
	b = append(b, f.ip[:]...)
	b = binary.BigEndian.AppendUint16(b, f.socket)
	return append(b, f.data[:min(len(f.data), maxForwarded)]...)
}

// order asks a node to send a packet to a client that spoke to it.
//
//	offset size
//	     0    1  1: version
//	     1    4  local address to send from; 0: any
//	     5    2  socket to send from
//	     7    4  address of the client
//	    11    2  its port
//	    13    -  the packet, up to maxAnswer bytes
type order struct {
	ip     [4]byte
	socket uint16
	to     endpoint
	data   []byte
}

// parseOrder reads a message. data is part of p.
func parseOrder(p []byte) (o order, err error) {
	switch {
	case len(p) < 1 || p[0] != nodeVersion:
		return o, errNodeVersion
	case len(p) < orderHead+headerSize || len(p) > orderHead+maxAnswer:
		return o, errNodeSize
	}
	return order{ip: [4]byte(p[1:]), socket: binary.BigEndian.Uint16(p[5:]), to: readEndpoint(p[7:]), data: p[orderHead:]}, nil
}

func (o *order) appendTo(b []byte) []byte {
	b = append(b, nodeVersion)
	b = append(b, o.ip[:]...)
	b = binary.BigEndian.AppendUint16(b, o.socket)
	b = appendEndpoint(b, o.to)
	return append(b, o.data...)
}

// maxLessons is the number of lessons in a message.
const maxLessons = 256

const lessonSize = 17

// appendLessons appends a message with lessons, at most maxLessons.
//
//	offset size
//	     0    1  1: version
//	     1    1  bits 0 to 3: 0: the players met, or tried again; 1: they were introduced; 2: they
//	             could not meet; 3: they met through the relay; 4, 5: the router of the first
//	             has one port, another port for each partner
//	             bits 4 and 5: the router of the first, second player is loose
//	     2    4  public address of a player
//	     6    4  its local address; 0: unknown
//	    10    8  the same of the other player
//	    18    -  further lessons, from offset 1 on
func appendLessons(b []byte, list []learnt) []byte {
	b = append(b, nodeVersion)
	for _, l := range list[:min(len(list), maxLessons)] {
		b = append(b, byte(l.lesson)|boolByte(l.id[0].loose)<<4|boolByte(l.id[1].loose)<<5)
		for _, p := range l.id {
			b = append(append(b, p.public[:]...), p.local[:]...)
		}
	}
	return b
}

func parseLessons(p []byte) (list []learnt, err error) {
	switch {
	case len(p) < 1 || p[0] != nodeVersion:
		return nil, errNodeVersion
	case (len(p)-1)%lessonSize != 0 || len(p) > 1+maxLessons*lessonSize:
		return nil, errNodeSize
	}
	for p = p[1:]; len(p) > 0; p = p[lessonSize:] {
		l := learnt{lesson: lesson(p[0] & 15)}
		for i := range l.id {
			l.id[i] = playerID{[4]byte(p[1+8*i:]), [4]byte(p[5+8*i:]), p[0]>>(4+i)&1 == 1}
		}
		if l.lesson >= lessons || p[0]>>6 != 0 {
			return nil, errNodeSize
		}
		list = append(list, l)
	}
	return list, nil
}

// readEndpoint reads six bytes.
func readEndpoint(p []byte) endpoint {
	return endpoint{[4]byte(p), binary.BigEndian.Uint16(p[4:])}
}

func appendEndpoint(b []byte, e endpoint) []byte {
	return binary.BigEndian.AppendUint16(append(b, e.ip[:]...), e.port)
}
