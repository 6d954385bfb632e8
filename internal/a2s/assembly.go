package a2s

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// Bounds of one answer.
const (
	// MaxPackets is the most packets of a split message.
	MaxPackets = 64
	// MaxMessage is the most bytes of a message, over all its packets and after
	// it is decompressed. The largest datagram fits.
	MaxMessage = 64 << 10
	// MaxAtOnce is how many split messages an Assembly holds parts of.
	MaxAtOnce = 4
)

// Assembly puts the packets of messages of one server together. The zero value
// is ready; it holds at most MaxAtOnce messages and MaxMessage bytes of them. It
// is not safe for concurrent use.
type Assembly struct {
	// Sizeless is the result of the function Sizeless for the server. It is
	// used where the packets themselves leave the question open.
	Sizeless bool

	begun []*begun // the oldest first
}

// begun is a message that is still incomplete.
type begun struct {
	id     uint32
	format Format // 0: not known yet
	// parts, by number, each without header and id. While the format is unknown
	// it has one element.
	parts [][]byte
	held  int // number of parts received
	size  int // their size in bytes
}

// Size returns the number of bytes held.
func (a *Assembly) Size() (n int) {
	for _, b := range a.begun {
		n += b.size
	}
	return n
}

// Reset forgets all parts.
func (a *Assembly) Reset() { a.begun = nil }

// Add takes a packet and returns the message once it is complete. The body of a
// message that was not split aliases the packet; parts are copied.
//
// Parts may come in any order, repeatedly, and mixed with those of other
// messages. A part that does not fit the others of its id begins a new message
// with that id. Beyond MaxAtOnce messages or MaxMessage bytes, the oldest
// message is dropped.
//
// The error is ErrForeign for packets of other protocols, ErrMalformed,
// ErrTooMuch or ErrChecksum.
func (a *Assembly) Add(packet []byte) (m Message, whole bool, err error) {
	if len(packet) < headerSize || binary.LittleEndian.Uint32(packet) != headerSplit {
		if len(packet) > MaxMessage {
			return Message{}, false, ErrTooMuch
		}
		m, err = ParseMessage(packet)
		return m, err == nil, err
	}
	if len(packet) < headerSize+idSize {
		return Message{}, false, ErrMalformed
	}
	id, part := binary.LittleEndian.Uint32(packet[headerSize:]), packet[headerSize+idSize:]
	format, err := formatOf(part)
	if err != nil {
		return Message{}, false, err
	}
	if len(part) > MaxMessage {
		return Message{}, false, ErrTooMuch
	}
	b := a.find(id)
	b.add(part, format)
	if !b.whole() {
		return Message{}, false, a.bound(b)
	}
	a.forget(b)
	if b.size > MaxMessage {
		return Message{}, false, ErrTooMuch
	}
	if m, err = b.join(a.Sizeless); err != nil {
		return Message{}, false, err
	}
	return m, true, nil
}

// find returns the incomplete message with an id, a new one if there is none.
func (a *Assembly) find(id uint32) *begun {
	for _, b := range a.begun {
		if b.id == id {
			return b
		}
	}
	if len(a.begun) == MaxAtOnce {
		a.begun = slices.Delete(a.begun, 0, 1)
	}
	b := &begun{id: id}
	a.begun = append(a.begun, b)
	return b
}

func (a *Assembly) forget(b *begun) {
	if i := slices.Index(a.begun, b); i >= 0 {
		a.begun = slices.Delete(a.begun, i, i+1)
	}
}

// bound drops the oldest messages, b last, while more than MaxMessage bytes are
// held.
func (a *Assembly) bound(b *begun) error {
	for a.Size() > MaxMessage {
		i := slices.IndexFunc(a.begun, func(other *begun) bool { return other != b })
		if i < 0 {
			a.forget(b)
			return ErrTooMuch
		}
		a.begun = slices.Delete(a.begun, i, i+1)
	}
	return nil
}

// add takes a part; format is 0 if the part itself leaves it open.
//
// All parts of a Source message begin with the same byte, and no two of a
// GoldSource message do; so the second part decides the format where no single
// part does.
func (b *begun) add(part []byte, format Format) {
	if b.held > 0 && b.format == 0 {
		first := b.parts[0]
		if bytes.Equal(first, part) {
			return
		}
		if format == 0 {
			format = GoldSource
			if first[0] == part[0] {
				format = Source
			}
		}
		b.begin()
		b.format = format
		b.put(first)
	}
	if b.held > 0 && (format == 0 || format == b.format) && b.put(part) {
		return
	}
	b.begin()
	b.format = format
	if format == 0 {
		b.parts, b.held, b.size = [][]byte{bytes.Clone(part)}, 1, len(part)
		return
	}
	b.put(part)
}

// begin forgets all parts.
func (b *begun) begin() { *b = begun{id: b.id} }

// put stores a part, which can be one of the format, under its number. ok is
// false if it does not fit the others.
func (b *begun) put(part []byte) (ok bool) {
	number, count, _ := b.format.place(part)
	switch {
	case b.held == 0:
		b.parts = make([][]byte, count)
	case count != len(b.parts):
		return false
	case b.parts[number] != nil:
		return bytes.Equal(b.parts[number], part)
	}
	b.parts[number] = bytes.Clone(part)
	b.held++
	b.size += len(part)
	return true
}

func (b *begun) whole() bool { return b.format != 0 && b.held == len(b.parts) }

// join returns the message made of all parts.
func (b *begun) join(sizeless bool) (Message, error) {
	offset, compressed := 1, false
	if b.format == Source {
		var err error
		if offset, compressed, err = dataOf(b.parts[0], b.id&compressedBit != 0, sizeless); err != nil {
			return Message{}, err
		}
	}
	data := make([]byte, 0, b.size)
	for _, p := range b.parts {
		if len(p) < offset {
			return Message{}, ErrMalformed
		}
		data = append(data, p[offset:]...)
	}
	if compressed {
		var err error
		if data, err = unpack(data); err != nil {
			return Message{}, err
		}
	}
	return parsePayload(data)
}
