package natneg

import (
	"bytes"
	"encoding/binary"
	"net/netip"
)

// Init announces one of a client's ports.
//
//	offset size
//	     0    1  port type
//	     1    1  index: 0 the joining client, 1 the host, up to 7 for more
//	     2    1  1: the game has a socket of its own
//	     3    4  local address; 0: unknown
//	     7    2  local port; 0 in port types 0 and 1
//	     9    -  game name, NUL
//
// In version 1 it ends at offset 3.
type Init struct {
	PortType PortType
	Index    byte
	GamePort bool
	Local    netip.AddrPort // IPv4
	Game     []byte         // part of the packet; empty in version 1
}

// ParseInit reads the body of an init. ok is false if it is too short. A game
// name without its NUL counts.
func ParseInit(version byte, body []byte) (i Init, ok bool) {
	if len(body) < shortBody {
		return Init{}, false
	}
	i = Init{PortType: PortType(body[0]), Index: body[1], GamePort: body[2] != 0, Local: addrPort(nil)}
	if version == 1 {
		return i, true
	}
	if len(body) < longBody {
		return Init{}, false
	}
	i.Local = addrPort(body[3:])
	i.Game, _, _ = bytes.Cut(body[longBody:], []byte{0})
	return i, true
}

// AppendTo appends the body. A local address that is not IPv4 is sent as unknown.
func (i Init) AppendTo(b []byte, version byte) []byte {
	b = append(b, byte(i.PortType), i.Index, boolByte(i.GamePort))
	if version == 1 {
		return b
	}
	b = appendAddrPort(b, i.Local)
	b = append(b, i.Game...)
	return append(b, 0)
}

// Ack is the body of the receipts of init and connect.
//
//	offset size
//	     0    1  port type; without meaning in a connect receipt
//	     1    1  index
//	     2    7  without meaning; in version 1 1 byte will do
type Ack struct {
	PortType PortType
	Index    byte
	Rest     [7]byte
}

// ParseAck reads the body of a receipt. ok is false if it is too short.
func ParseAck(version byte, body []byte) (a Ack, ok bool) {
	size := ackSize(version)
	if len(body) < size {
		return Ack{}, false
	}
	a = Ack{PortType: PortType(body[0]), Index: body[1]}
	copy(a.Rest[:], body[2:size])
	return a, true
}

// AppendTo appends the body.
func (a Ack) AppendTo(b []byte, version byte) []byte {
	b = append(b, byte(a.PortType), a.Index)
	return append(b, a.Rest[:ackSize(version)-2]...)
}

func ackSize(version byte) int {
	if version == 1 {
		return shortBody
	}
	return longBody
}

// Test is the body of a NAT test and its receipt: the port type and the first
// eight bytes after it in the request.
type Test struct {
	PortType PortType
	Data     [8]byte
}

// ParseTest reads the body of a test. ok is false if it is too short.
func ParseTest(body []byte) (t Test, ok bool) {
	if len(body) < longBody {
		return Test{}, false
	}
	return Test{PortType: PortType(body[0]), Data: [8]byte(body[1:])}, true
}

// AppendTo appends the body.
func (t Test) AppendTo(b []byte) []byte {
	b = append(b, byte(t.PortType))
	return append(b, t.Data[:]...)
}

// Check is the body of the requests of NAT tests and address checks: a Test
// followed by 52 bytes without meaning. A request without them is accepted too.
type Check struct{ Test }

// ParseCheck reads the body of a request. ok is false if the answer would be
// longer than it.
func ParseCheck(body []byte) (c Check, ok bool) {
	c.Test, ok = ParseTest(body)
	return c, ok
}

// AppendTo appends the body at its full size.
func (c Check) AppendTo(b []byte) []byte {
	b = c.Test.AppendTo(b)
	return append(b, make([]byte, checkBody-longBody)...)
}

// AddressReply answers an address check.
//
//	offset size
//	     0    1  port type  \
//	     1    1  index       > as in the check
//	     2    1  game port  /
//	     3    4  address that we see
//	     7    2  port that we see
type AddressReply struct {
	PortType PortType
	Index    byte
	GamePort byte
	Seen     netip.AddrPort // IPv4
}

// ParseAddressReply reads the body. ok is false if it is too short.
func ParseAddressReply(body []byte) (a AddressReply, ok bool) {
	if len(body) < longBody {
		return AddressReply{}, false
	}
	return AddressReply{PortType(body[0]), body[1], body[2], addrPort(body[3:])}, true
}

// AppendTo appends the body.
func (a AddressReply) AppendTo(b []byte) []byte {
	return appendAddrPort(append(b, byte(a.PortType), a.Index, a.GamePort), a.Seen)
}

// Connect tells a client its partner's address. Pings look the same.
//
//	offset size
//	     0    4  address
//	     4    2  port
//	     6    1  ping: 1 if the sender has received data of the receiver
//	     7    1  finished
type Connect struct {
	Remote   netip.AddrPort // IPv4
	GotData  byte
	Finished byte
}

// ParseConnect reads the body. ok is false if it is too short.
func ParseConnect(body []byte) (c Connect, ok bool) {
	if len(body) < connectBody {
		return Connect{}, false
	}
	return Connect{addrPort(body), body[6], body[7]}, true
}

// AppendTo appends the body.
func (c Connect) AppendTo(b []byte) []byte {
	return append(appendAddrPort(b, c.Remote), c.GotData, c.Finished)
}

// Report is the result of a negotiation.
//
//	offset size
//	     0    1  port type, without meaning
//	     1    1  index
//	     2    1  1: connected, 0: not
//	     3    4  NAT type, in the byte order of the client
//	     7    4  mapping scheme, in the byte order of the client
//	    11   50  game name; a NUL ends it if there is one
type Report struct {
	PortType PortType
	Index    byte
	Result   byte
	NATType  [4]byte
	Mapping  [4]byte
	Game     [reportGame]byte
}

// ParseReport reads the body. ok is false if it is too short; the game name may
// be cut.
func ParseReport(body []byte) (r Report, ok bool) {
	if len(body) < minReportBody {
		return Report{}, false
	}
	r = Report{
		PortType: PortType(body[0]), Index: body[1], Result: body[2],
		NATType: [4]byte(body[3:]), Mapping: [4]byte(body[7:]),
	}
	copy(r.Game[:], body[minReportBody:])
	return r, true
}

// AppendTo appends the body.
func (r Report) AppendTo(b []byte) []byte {
	b = append(b, byte(r.PortType), r.Index, r.Result)
	b = append(b, r.NATType[:]...)
	b = append(b, r.Mapping[:]...)
	return append(b, r.Game[:]...)
}

// nat returns the NAT type, whichever byte order it is in; unknown ones are
// reportUnknown.
func (r *Report) nat() byte {
	for _, v := range [...]uint32{binary.LittleEndian.Uint32(r.NATType[:]), binary.BigEndian.Uint32(r.NATType[:])} {
		if v < reportUnknown {
			return byte(v)
		}
	}
	return reportUnknown
}

// The NAT types of a report.
const (
	reportOpen           = 0
	reportFirewall       = 1
	reportFullCone       = 2
	reportRestricted     = 3
	reportPortRestricted = 4
	reportSymmetric      = 5
	reportUnknown        = 6
)

// ReportAck is the body of the receipt of a report: the report's beginning.
type ReportAck [longBody]byte

// AppendTo appends the body.
func (a ReportAck) AppendTo(b []byte) []byte { return append(b, a[:]...) }

// Queue is the body of queue requests and replies.
//
//	offset size
//	     0    1  index
//	     1    1  state; in a reply 2: continue
//	     2    4  client id
type Queue struct {
	Index byte
	State byte
	ID    uint32
}

// ParseQueue reads the body. ok is false if it is too short.
func ParseQueue(body []byte) (q Queue, ok bool) {
	if len(body) < queueBody {
		return Queue{}, false
	}
	return Queue{body[0], body[1], binary.BigEndian.Uint32(body[2:])}, true
}

// AppendTo appends the body.
func (q Queue) AppendTo(b []byte) []byte {
	return binary.BigEndian.AppendUint32(append(b, q.Index, q.State), q.ID)
}

// addrPort reads an address and a port; 0.0.0.0:0 if b is empty.
func addrPort(b []byte) netip.AddrPort {
	if len(b) == 0 {
		return netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b)), binary.BigEndian.Uint16(b[4:]))
}

func appendAddrPort(b []byte, a netip.AddrPort) []byte {
	var ip [4]byte
	if a.Addr().Is4() {
		ip = a.Addr().As4()
	}
	b = append(b, ip[:]...)
	return binary.BigEndian.AppendUint16(b, a.Port())
}

func boolByte(v bool) byte {
	if v {
		return 1
	}
	return 0
}
