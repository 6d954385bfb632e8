package records

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/respawnd/respawnd/storage"
)

// The value of an entry of an index, of a pair and of a number is
// its content, which may be empty, and the CRC-32C of the key and the content,
// big-endian. The key holds the data of such an entry, so a changed key must be
// noticed.

// flag is one byte of a content: 1 if on.
func flag(on bool) byte {
	if on {
		return 1
	}
	return 0
}

// sealEntry returns the value of an entry.
func sealEntry(key, content []byte) []byte {
	sum := crc32.Update(checksum(key), castagnoli, content)
	return binary.BigEndian.AppendUint32(append(make([]byte, 0, len(content)+crc32.Size), content...), sum)
}

// openEntry returns the content of an entry. It shares the memory of value.
func openEntry(key, value []byte) ([]byte, error) {
	n := len(value) - crc32.Size
	if n < 0 {
		return nil, fmt.Errorf("%w: %d bytes", storage.ErrDamaged, len(value))
	}
	if binary.BigEndian.Uint32(value[n:]) != crc32.Update(checksum(key), castagnoli, value[:n]) {
		return nil, fmt.Errorf("%w: checksum differs", storage.ErrDamaged)
	}
	return value[:n], nil
}
