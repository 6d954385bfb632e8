package a2s

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"hash/crc32"
	"io"
)

// unpack reads size, CRC-32 and bzip2 stream of a compressed message. A stated
// size above MaxMessage is an error, and no more than the stated size is
// decompressed. The error is ErrTooMuch, ErrChecksum or ErrMalformed.
func unpack(data []byte) ([]byte, error) {
	if len(data) < compressedHead+len(bzip2Magic)+1 {
		return nil, ErrMalformed
	}
	size, sum := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
	if size > MaxMessage {
		return nil, ErrTooMuch
	}
	stream := bytes.Clone(data[compressedHead:])
	// The digit states the size of the blocks, in 100,000 bytes, and the decoder
	// takes 400,000 bytes of memory for each. No block of a message that may be
	// read is larger than one.
	stream[len(bzip2Magic)] = '1'

	message := make([]byte, size)
	r := bzip2.NewReader(bytes.NewReader(stream))
	if _, err := io.ReadFull(r, message); err != nil {
		return nil, ErrMalformed
	}
	var more [1]byte
	if n, err := r.Read(more[:]); n > 0 || err != io.EOF || crc32.ChecksumIEEE(message) != sum {
		return nil, ErrChecksum
	}
	return message, nil
}
