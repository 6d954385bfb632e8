package a2s

import (
	"bytes"
	"errors"
	"hash/crc32"
)

// Format is the form of the packets of a split message.
type Format uint8

// The formats. After the header of 4 bytes (-2) and the message's id of 4 bytes
// comes:
//
//	GoldSource
//	     8    1  number in the upper 4 bits, from 0; count in the lower 4
//	     9    -  data
//
//	Source
//	     8    1  count
//	     9    1  number, from 0
//	    10    2  maximum bytes of data in a packet; left out by some games
//	     -    4  number 0 of compressed messages alone: size of the message
//	     -    4  and their CRC-32 (IEEE)
//	     -    -  data
//
// The highest bit of the id is set if the data of all packets is a bzip2
// stream.
const (
	GoldSource Format = iota + 1
	Source
)

const (
	idSize         = 4
	compressedBit  = 1 << 31
	compressedHead = 8 // size and CRC-32

	// DefaultSplit is the number of bytes of data that servers put in a packet
	// by default.
	DefaultSplit = 1248

	maxGoldSource = 15 // packets
)

// ErrUnsplittable reports a message that does not fit the packets of a Splitter.
var ErrUnsplittable = errors.New("a2s: message does not fit its packets")

// Splitter cuts messages into packets as servers do.
type Splitter struct {
	Format Format
	ID     uint32 // chosen per message
	Size   int    // maximum bytes of data in a packet; 0: DefaultSplit

	// Source alone.
	Sizeless bool // leave the field for Size out, as the games of Sizeless do
	// Compressed is the message as a bzip2 stream, which is sent in its place if
	// it is not empty. The highest bit of ID is set then, and clear otherwise.
	Compressed []byte
}

// Split returns the packets of a message. The error is ErrUnsplittable.
func (s Splitter) Split(message []byte) ([][]byte, error) {
	data, id := message, s.ID
	if s.Format == Source {
		id &^= compressedBit
		if len(s.Compressed) > 0 {
			data, id = s.Compressed, id|compressedBit
		}
	}
	size := s.Size
	if size <= 0 {
		size = DefaultSplit
	}
	count, most := (len(data)+size-1)/size, 255
	if s.Format == GoldSource {
		most = maxGoldSource
	}
	if count == 0 || count > most || size >= 0xFFFF { // which would look like a -1
		return nil, ErrUnsplittable
	}
	packets := make([][]byte, count)
	for i := range packets {
		p := appendUint32(appendUint32(nil, headerSplit), id)
		if s.Format == GoldSource {
			p = append(p, byte(i<<4|count))
		} else {
			p = s.appendSource(p, i, count, size, message)
		}
		packets[i] = append(p, data[i*size:min((i+1)*size, len(data))]...)
	}
	return packets, nil
}

func (s Splitter) appendSource(p []byte, number, count, size int, message []byte) []byte {
	p = append(p, byte(count), byte(number))
	if !s.Sizeless {
		p = appendUint16(p, uint16(size))
	}
	if number == 0 && len(s.Compressed) > 0 {
		p = appendUint32(p, uint32(len(message)))
		p = appendUint32(p, crc32.ChecksumIEEE(message))
	}
	return p
}

// Sizeless reports whether the servers of a game leave the size out of the
// packets of split messages. protocol is the one of Info.
func Sizeless(app App, protocol uint8) bool {
	switch app {
	case AppSourceSDK2006, AppEternalSilence, AppInsurgency:
		return true
	case AppCSSource:
		return protocol == 7
	default:
		return false
	}
}

// place reads the number and count of a part, which begins after the id. ok is
// false if the part is not of that format.
func (f Format) place(part []byte) (number, count int, ok bool) {
	switch {
	case f == GoldSource && len(part) >= 1:
		number, count = int(part[0]>>4), int(part[0]&15)
	case f == Source && len(part) >= 2:
		number, count = int(part[1]), int(part[0])
	}
	return number, count, number < count
}

// formatOf returns the format of a single part, or 0 if it fits both.
//
// A part whose first byte is below 16 is the number 0 of GoldSource, whose data
// begins with -1 or the kind of a message, never with a small byte; or it is one
// of Source, where the small number follows. One of 16 and above is either a
// later number of GoldSource or one of many of Source.
func formatOf(part []byte) (Format, error) {
	_, _, gold := GoldSource.place(part)
	_, count, source := Source.place(part)
	switch {
	case gold && (!source || count > MaxPackets):
		return GoldSource, nil
	case source && count > MaxPackets:
		return 0, ErrTooMuch
	case source && (!gold || part[0] < 16):
		return Source, nil
	case source:
		return 0, nil
	default:
		return 0, ErrMalformed
	}
}

var (
	single     = []byte{0xFF, 0xFF, 0xFF, 0xFF}
	bzip2Magic = []byte("BZh")
)

// dataOf returns the offset at which the data of Source parts begins, from the
// first part: there stands -1, or a bzip2 stream after its size and checksum.
// If neither is found, sizeless decides.
func dataOf(first []byte, flagged, sizeless bool) (offset int, compressed bool, err error) {
	const without, with = 2, 4
	at := func(offset int, what []byte) bool {
		return len(first) > offset && bytes.HasPrefix(first[offset:], what)
	}
	switch {
	case flagged && at(with+compressedHead, bzip2Magic):
		return with, true, nil
	case flagged && at(without+compressedHead, bzip2Magic):
		return without, true, nil
	case at(without, single):
		return without, false, nil
	case at(with, single):
		return with, false, nil
	case flagged:
		return 0, false, ErrMalformed
	case sizeless:
		return without, false, nil
	default:
		return with, false, nil
	}
}
