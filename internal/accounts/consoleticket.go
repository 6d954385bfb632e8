package accounts

import (
	"bytes"
	"encoding/binary"
	"strings"
	"time"
)

// ConsoleTicket is the content of the ticket of a PS3 about its player. Numbers are big-endian:
//
//	version                  4 bytes: 21 01 00 00 and later ones, such as 31 00 00 00
//	length of the rest       4 bytes
//	sections                 30, kind (00: body, 02: signature), length (2 bytes), content
//	the body, entries        type (2 bytes), length (2 bytes), content, in this order:
//	  serial number          type 8
//	  number of the issuer   type 1
//	  issued                 type 7, milliseconds since 1970
//	  expires                type 7
//	  number of the player   type 2, 8 bytes
//	  name of the player     type 4, with zeros up to its length
//	  and more: region, domain, title, status
//
// The signature cannot be checked: only the maker of the console has the key.
type ConsoleTicket struct {
	User    uint64
	Name    string
	Expires time.Time
	RPCN    bool // it is of the network that players of the emulator RPCS3 have made
}

// Console returns the value of ConsolePlayer.Console: players of the two networks are different ones.
func (t *ConsoleTicket) Console() string {
	if t.RPCN {
		return "rpcn"
	}
	return "ps3"
}

// Bounds of a ticket.
const (
	MaxConsoleTicket = 4 << 10 // MaxConsoleTicket is the length of the longest ticket in bytes.
	maxTicketName    = 64      // bytes of a name, with its zeros
)

// Types of the entries of a ticket.
const (
	ticketU32    = 1
	ticketU64    = 2
	ticketText   = 4
	ticketTime   = 7
	ticketBinary = 8
)

// ParseConsoleTicket reads a ticket. The error is ErrBadTicket. Nothing is authenticated.
func ParseConsoleTicket(b []byte) (t ConsoleTicket, err error) {
	if len(b) < 8 || len(b) > MaxConsoleTicket || b[0] < 0x21 || b[1] > 1 || int64(binary.BigEndian.Uint32(b[4:])) != int64(len(b)-8) {
		return t, ErrBadTicket
	}
	body, ok := ticketBody(b[8:])
	if !ok {
		return t, ErrBadTicket
	}
	t.RPCN = bytes.Contains(b[8+4+len(body):], []byte("RPCN"))
	return t, t.read(body)
}

// ticketBody returns the content of the first section, which is the body.
func ticketBody(b []byte) (body []byte, ok bool) {
	if len(b) < 4 || b[0] != 0x30 || b[1] != 0 {
		return nil, false
	}
	n := int(binary.BigEndian.Uint16(b[2:]))
	if n > len(b)-4 {
		return nil, false
	}
	return b[4 : 4+n], true
}

// read reads the entries of a body up to the name.
func (t *ConsoleTicket) read(body []byte) error {
	for _, e := range []struct {
		kind uint16
		size int // 0: any
		take func([]byte)
	}{
		{ticketBinary, 0, nil},
		{ticketU32, 4, nil},
		{ticketTime, 8, nil},
		{ticketTime, 8, func(v []byte) { t.Expires = time.UnixMilli(int64(min(binary.BigEndian.Uint64(v), 1<<53))) }},
		{ticketU64, 8, func(v []byte) { t.User = binary.BigEndian.Uint64(v) }},
		{ticketText, 0, func(v []byte) { t.Name, _, _ = strings.Cut(string(v), "\x00") }},
	} {
		if len(body) < 4 || binary.BigEndian.Uint16(body) != e.kind {
			return ErrBadTicket
		}
		n := int(binary.BigEndian.Uint16(body[2:]))
		if body = body[4:]; n > len(body) || e.size != 0 && n != e.size || e.kind == ticketText && n > maxTicketName {
			return ErrBadTicket
		}
		if e.take != nil {
			e.take(body[:n])
		}
		body = body[n:]
	}
	return nil
}

// Append appends the ticket in version 2.1 with a signature that proves nothing, as clients of this program
// send it.
func (t *ConsoleTicket) Append(b []byte) []byte {
	be := binary.BigEndian
	var body []byte
	add := func(kind uint16, content []byte) {
		body = append(be.AppendUint16(be.AppendUint16(body, kind), uint16(len(content))), content...)
	}
	add(ticketBinary, []byte("serial number of 20b"))
	add(ticketU32, be.AppendUint32(nil, 0x100))
	add(ticketTime, be.AppendUint64(nil, uint64(t.Expires.Add(-time.Hour).UnixMilli())))
	add(ticketTime, be.AppendUint64(nil, uint64(t.Expires.UnixMilli())))
	add(ticketU64, be.AppendUint64(nil, t.User))
	add(ticketText, append([]byte(t.Name), make([]byte, max(0, 32-len(t.Name)))...))
	add(ticketBinary, []byte("gb\x00\x01"))
	add(ticketText, []byte("a4\x00\x00"))
	add(ticketBinary, []byte("UP0001-BLUS00001_00\x00\x00\x00\x00\x00"))
	add(ticketU32, make([]byte, 4))
	add(0, nil)
	add(0, nil)
	sections := append(be.AppendUint16([]byte{0x30, 0}, uint16(len(body))), body...)
	signer := "sign"
	if t.RPCN {
		signer = "RPCN"
	}
	sections = append(append(be.AppendUint16(append(sections, 0x30, 2), 8), 0, 8, 0, 4), signer...)
	return append(be.AppendUint32(append(b, 0x21, 1, 0, 0), uint32(len(sections))), sections...)
}
