package zandronum

import (
	"net/netip"
)

// ListVersion is the version of the list that launchers ask for.
const ListVersion = 2

// Answer is the long that a master's answer to a launcher starts with.
type Answer uint32

// The answers to a launcher.
const (
	AnswerOldList      Answer = 0
	AnswerBanned       Answer = 3
	AnswerTooSoon      Answer = 4
	AnswerWrongVersion Answer = 5
	AnswerList         Answer = 6
)

// IsAnswer reports whether a message that starts with k is one that masters send
// to launchers.
func IsAnswer(k Kind) bool { return k <= Kind(listBlocks) }

// The bytes inside a list.
const (
	listServer byte = 1
	listEnd    byte = 2
	listMore   byte = 7
	listBlocks byte = 8
)

const (
	// maxListSize is the maximum counted size of a list packet. Counting starts
	// at firstListSize or laterListSize, which is not exactly the length of
	// those bytes; the original splits its packets in this way.
	maxListSize   = 1023
	firstListSize = 6
	laterListSize = 5
	blockHeader   = 5

	// MaxPorts is the maximum number of servers in a block: their number is a
	// byte.
	MaxPorts = 255

	// MaxListPackets is the maximum number of packets of a list that launchers
	// accept: one widely used launcher marks their numbers in 32 bits.
	MaxListPackets = 31

	// maxOldList bounds the old list, which is one packet, in bytes.
	maxOldList = 8192
)

// Block holds the servers on one address.
type Block struct {
	Addr  netip.Addr // IPv4
	Ports []uint16
}

// AppendListRequest appends a launcher's request.
func AppendListRequest(dst []byte, version uint16) []byte {
	return appendUint16(appendUint32(dst, uint32(KindListRequest)), version)
}

// ParseListRequest returns the version that follows KindListRequest, all ones
// if it is missing.
func ParseListRequest(body []byte) (version uint16) {
	r := reader{b: body}
	return r.uint16()
}

// AppendAnswer appends an answer without further data.
func AppendAnswer(dst []byte, a Answer) []byte { return appendUint32(dst, uint32(a)) }

// ListPackets returns the messages of a list in their order, at most
// MaxListPackets of them, and how many servers had no room. Blocks keep their
// order; one with more than MaxPorts servers becomes several.
func ListPackets(blocks []Block) (packets [][]byte, left int) {
	p := startListPacket(0)
	size := firstListSize
	for i, b := range blocks {
		for ports := b.Ports; len(ports) > 0; {
			n := min(len(ports), MaxPorts)
			if size+blockHeader+2*n > maxListSize {
				if len(packets) == MaxListPackets-1 {
					left = len(ports) + countPorts(blocks[i+1:])
					return append(packets, append(p, 0, listEnd)), left
				}
				packets = append(packets, append(p, 0, listMore))
				p = startListPacket(byte(len(packets)))
				size = laterListSize
			}
			p = appendBlock(p, b.Addr, ports[:n])
			size += blockHeader + 2*n
			ports = ports[n:]
		}
	}
	return append(packets, append(p, 0, listEnd)), 0
}

func countPorts(blocks []Block) (n int) {
	for _, b := range blocks {
		n += len(b.Ports)
	}
	return n
}

func startListPacket(number byte) []byte {
	p := make([]byte, 0, maxListSize+8)
	return append(AppendAnswer(p, AnswerList), number, listBlocks)
}

func appendBlock(dst []byte, addr netip.Addr, ports []uint16) []byte {
	a := addr.As4()
	dst = append(append(dst, byte(len(ports))), a[:]...)
	for _, port := range ports {
		dst = appendUint16(dst, port)
	}
	return dst
}

// OldList returns the old form of the list, which is one message, and how many
// servers had no room in it.
func OldList(blocks []Block) (message []byte, left int) {
	const server = 7
	message = AppendAnswer(nil, AnswerOldList)
	for _, b := range blocks {
		a := b.Addr.As4()
		for _, port := range b.Ports {
			if len(message)+server+1 > maxOldList {
				left++
				continue
			}
			message = append(append(message, listServer), a[:]...)
			message = appendUint16(message, port)
		}
	}
	return append(message, listEnd), left
}

// ListPacket is a parsed packet of a list.
type ListPacket struct {
	Answer  Answer
	Number  byte
	Servers []netip.AddrPort
	Last    bool
}

// ParseListPacket reads any answer of a master to a launcher.
func ParseListPacket(message []byte) (ListPacket, error) {
	r := reader{b: message}
	p := ListPacket{Answer: Answer(r.uint32())}
	switch {
	case r.short:
		return p, ErrMalformed
	case p.Answer == AnswerBanned || p.Answer == AnswerTooSoon || p.Answer == AnswerWrongVersion:
		return p, nil
	case p.Answer == AnswerOldList:
		return p, p.parseOld(&r)
	case p.Answer != AnswerList:
		return p, ErrMalformed
	}
	p.Number = r.byte()
	if r.byte() != listBlocks {
		return p, ErrMalformed
	}
	for n := r.byte(); n != 0; n = r.byte() {
		a := r.take(4)
		for range n {
			port := r.uint16()
			if r.short {
				return p, ErrMalformed
			}
			p.Servers = append(p.Servers, netip.AddrPortFrom(netip.AddrFrom4([4]byte(a)), port))
		}
	}
	end := r.byte()
	p.Last = end == listEnd
	if end != listEnd && end != listMore {
		return p, ErrMalformed
	}
	return p, nil
}

func (p *ListPacket) parseOld(r *reader) error {
	for {
		switch kind := r.byte(); kind {
		case listEnd:
			p.Last = true
			return nil
		case listServer:
			a := r.take(4)
			port := r.uint16()
			if r.short {
				return ErrMalformed
			}
			p.Servers = append(p.Servers, netip.AddrPortFrom(netip.AddrFrom4([4]byte(a)), port))
		default:
			return ErrMalformed
		}
	}
}
