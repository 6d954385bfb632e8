package ssq

import (
	"errors"
	"iter"
)

// Bounds of packets.
const (
	// HeaderLen is the length of the header of a packet, in bytes.
	HeaderLen = 2
	// MaxPackets is the most packets of a sequence.
	MaxPackets = 16
	// MaxPacket is the size of the largest packet that is written, header
	// included: it passes every network without fragmentation.
	MaxPacket = 1200
	// MaxWritten is the longest answer that fits a sequence of such packets.
	MaxWritten = MaxPackets * (MaxPacket - HeaderLen)
	// MaxAnswer is the longest answer that is read. Other servers may write
	// larger packets.
	MaxAnswer = 64 << 10
)

var (
	// ErrMalformed reports a packet or an answer that cannot be read.
	ErrMalformed = errors.New("ssq: malformed")

	// ErrTooMuch reports an answer longer than MaxAnswer when reading, than
	// MaxWritten when writing.
	ErrTooMuch = errors.New("ssq: answer too long")
)

// Header is the beginning of each packet.
//
//	offset size
//	     0    1  ID, chosen by the client and repeated in the answer
//	     1    1  high four bits: number of packets of the sequence, less one;
//	             low four bits: number of this packet, from 0
type Header struct {
	ID     byte
	Count  int // packets of the sequence, 1 to MaxPackets
	Number int // of this packet, 0 to Count-1
}

// ParseHeader cuts the header off a packet. The error is ErrMalformed. body is
// part of packet.
func ParseHeader(packet []byte) (h Header, body []byte, err error) {
	if len(packet) < HeaderLen {
		return Header{}, nil, ErrMalformed
	}
	h = Header{ID: packet[0], Count: int(packet[1]>>4) + 1, Number: int(packet[1] & 0x0F)}
	if h.Number >= h.Count {
		return Header{}, nil, ErrMalformed
	}
	return h, packet[HeaderLen:], nil
}

// AppendTo appends the header, whose numbers must be in their ranges.
func (h Header) AppendTo(b []byte) []byte {
	return append(b, h.ID, byte(h.Count-1)<<4|byte(h.Number&0x0F))
}

// Split yields the packets of an answer of at most MaxWritten bytes. An empty
// answer is one packet. All are made in space, so a packet is valid only until
// the next one.
func Split(space *[MaxPacket]byte, id byte, answer []byte) (iter.Seq[[]byte], error) {
	if len(answer) > MaxWritten {
		return nil, ErrTooMuch
	}
	const room = MaxPacket - HeaderLen
	h := Header{ID: id, Count: max((len(answer)+room-1)/room, 1)}
	return func(yield func([]byte) bool) {
		for rest := answer; h.Number < h.Count; h.Number++ {
			n := min(len(rest), room)
			if !yield(append(h.AppendTo(space[:0]), rest[:n]...)) {
				return
			}
			rest = rest[n:]
		}
	}, nil
}

// Assembly reassembles the packets of one sequence, which may come in any
// order. The zero value is ready. It holds at most MaxAnswer bytes.
type Assembly struct {
	count int // 0: no packet received
	size  int
	have  uint16 // a bit for each packet received
	parts [MaxPackets][]byte
}

// Add takes a packet, of which it copies the body, and reports whether the
// sequence is whole. A repeated packet changes nothing. After an error nothing
// has changed either; the error is ErrTooMuch or ErrMalformed, also for a
// packet that states another number of packets than the first.
func (a *Assembly) Add(packet []byte) (whole bool, err error) {
	h, body, err := ParseHeader(packet)
	if err != nil {
		return false, err
	}
	return a.add(h, body)
}

func (a *Assembly) add(h Header, body []byte) (whole bool, err error) {
	switch bit := uint16(1) << h.Number; {
	case a.count != 0 && h.Count != a.count:
		return false, ErrMalformed
	case a.have&bit != 0:
	case a.size+len(body) > MaxAnswer:
		return false, ErrTooMuch
	default:
		a.count, a.have = h.Count, a.have|bit
		a.parts[h.Number] = append([]byte(nil), body...)
		a.size += len(body)
	}
	return a.have == 1<<a.count-1, nil
}

// Answer returns the content of the packets, in their order.
func (a *Assembly) Answer() []byte {
	b := make([]byte, 0, a.size)
	for _, p := range a.parts {
		b = append(b, p...)
	}
	return b
}
