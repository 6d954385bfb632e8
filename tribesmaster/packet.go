package tribesmaster

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"

	"github.com/respawnd/respawnd/internal/uplink"
)

// first begins every message.
const first = 0x10

// kind is the kind of a message, its second byte.
type kind byte

const (
	request   kind = 3 // for a list; of the master to servers, for an answer
	answer    kind = 4
	heartbeat kind = 5
	response  kind = 6
)

const (
	kindSize  = 2
	keyAt     = 4 // in requests and answers, and of the ID in lists
	keySize   = 2
	headSize  = 8 // of a list
	bodySize  = 472
	entrySize = 7
	entryMark = 6
	maxList   = 255 // packets
	maxPacket = 1400

	perPacket = (bodySize - 2) / entrySize // servers
	atFirst   = perPacket - 2              // in the first packet, behind the texts

	newList = 255 // the number in a request for a whole list
)

// title is the name of the master, which browsers show.
const title = "respawnd"

// noID is the ID in lists for requests without one.
var noID = []byte{0x66, 0x66}

// kindOf returns the kind of a message; 0: it is none of this protocol.
func kindOf(b []byte) kind {
	if len(b) < kindSize || b[0] != first {
		return 0
	}
	return kind(b[1])
}

// keyOf returns a challenge as the number that it is in this protocol.
func keyOf(c uplink.Challenge) uint16 { return uint16(crc32.ChecksumIEEE(c[:])) }

// appendRequest appends a request for packet number of a list, or newList: also the question to a
// server.
func appendRequest(b []byte, number byte, key uint16) []byte {
	return binary.LittleEndian.AppendUint16(append(b, first, byte(request), number, 0), key)
}

// appendAnswer appends the answer of a server to a question with a key.
func appendAnswer(b []byte, key uint16) []byte {
	return binary.LittleEndian.AppendUint16(append(b, first, byte(answer), 0, 0), key)
}

// appendHeartbeat appends a heartbeat, of which only the kind counts.
func appendHeartbeat(b []byte) []byte { return append(b, first, byte(heartbeat), 0, 0, 0, 0) }

// keyIn returns the key or ID in a request or answer.
func keyIn(b []byte) (key uint16, ok bool) {
	if len(b) < keyAt+keySize {
		return 0, false
	}
	return binary.LittleEndian.Uint16(b[keyAt:]), true
}

func appendText(b []byte, s string) []byte {
	s = s[:min(len(s), 255)]
	return append(append(b, byte(len(s))), s...)
}

// appendList appends the packets of a list. Their ID is noID.
func appendList(packets [][]byte, list []netip.AddrPort, _ bool) [][]byte {
	list = list[:min(len(list), atFirst+(maxList-1)*perPacket)]
	total := 1 + (max(len(list)-atFirst, 0)+perPacket-1)/perPacket
	for i := range total {
		b := append([]byte{first, byte(response), byte(i + 1), byte(total)}, noID...)
		b, n := append(b, 0, 0x66), perPacket
		if i == 0 {
			b, n = appendText(appendText(b, title), ""), atFirst
		}
		part := list[:min(n, len(list))]
		list = list[len(part):]
		b = append(b, 0, byte(len(part)))
		for _, a := range part {
			ip := a.Addr().As4()
			b = binary.LittleEndian.AppendUint16(append(append(b, entryMark), ip[:]...), a.Port())
		}
		packets = append(packets, b)
	}
	return packets
}

// parseList parses a packet of a list.
func parseList(b []byte) (list []netip.AddrPort, number, total int, ok bool) {
	if len(b) < headSize || kindOf(b) != response {
		return nil, 0, 0, false
	}
	number, total = int(b[2]), int(b[3])
	b = b[headSize:]
	for range 2 { // the texts
		if number != 1 {
			break
		}
		if len(b) == 0 || len(b) <= int(b[0]) {
			return nil, 0, 0, false
		}
		b = b[1+int(b[0]):]
	}
	if len(b) < 2 {
		return nil, 0, 0, false
	}
	n := int(b[1])
	for b = b[2:]; len(b) >= entrySize && len(list) < n && b[0] == entryMark; b = b[entrySize:] {
		list = append(list, netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[1:])), binary.LittleEndian.Uint16(b[5:])))
	}
	return list, number, total, len(list) == n && number > 0 && number <= total
}
