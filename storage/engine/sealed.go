package engine

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// A sealed value is its content and the CRC-32C of the key and the content, big-endian:
// a changed key must be noticed too. Engines seal what they store of their own, code above
// the entries whose keys hold data.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum is the CRC-32C of all parts, one after the other.
func Checksum(parts ...[]byte) (sum uint32) {
	for _, p := range parts {
		sum = crc32.Update(sum, castagnoli, p)
	}
	return sum
}

// Seal returns the value of an entry with a key and a content.
func Seal(key, content []byte) []byte {
	value := append(make([]byte, 0, len(content)+crc32.Size), content...)
	return binary.BigEndian.AppendUint32(value, Checksum(key, content))
}

// Unseal returns the content of an entry, or an error that matches ErrDamaged. It shares
// the memory of value.
func Unseal(key, value []byte) ([]byte, error) {
	n := len(value) - crc32.Size
	if n < 0 {
		return nil, fmt.Errorf("%w: %d bytes", ErrDamaged, len(value))
	}
	if binary.BigEndian.Uint32(value[n:]) != Checksum(key, value[:n]) {
		return nil, fmt.Errorf("%w: checksum differs", ErrDamaged)
	}
	return value[:n], nil
}
