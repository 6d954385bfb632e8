package bolt

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/respawnd/respawnd/storage/engine"
)

// The value of an entry of the engine's own buckets is its content and the CRC-32C of the
// key and the content, big-endian: a changed key must be noticed too.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealEntry returns the value of an entry.
func sealEntry(key, content []byte) []byte {
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, content)
	return binary.BigEndian.AppendUint32(append(make([]byte, 0, len(content)+crc32.Size), content...), sum)
}

// openEntry returns the content of an entry. It shares the memory of value.
func openEntry(key, value []byte) ([]byte, error) {
	n := len(value) - crc32.Size
	if n < 0 {
		return nil, fmt.Errorf("%w: %d bytes", engine.ErrDamaged, len(value))
	}
	if binary.BigEndian.Uint32(value[n:]) != crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value[:n]) {
		return nil, fmt.Errorf("%w: checksum differs", engine.ErrDamaged)
	}
	return value[:n], nil
}
