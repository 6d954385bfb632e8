package bolt

import (
	"encoding/binary"
	"hash/fnv"
	"os"
)

// The first two pages of a file are its heads, which bbolt writes alternately:
// when one cannot be read, the other describes the file one change earlier.
//
//	offset size
//	     0   16  header of a page
//	    16    4  0xED0CDAED
//	    20    4  version, 2
//	    24    4  size of a page
//	    28    4  flags
//	    32   16  bucket header of the root
//	    48    8  page of the list of free pages
//	    56    8  number of pages
//	    64    8  number of the change
//	    72    8  FNV-1a of the bytes from 16 on
const (
	headMagic = 0xED0CDAED
	headStart = 16
	headSum   = 72
	headEnd   = 80
)

// head is the content of one head.
type head struct {
	freelist uint64
	tx       uint64
}

// readHeads returns the heads of a file that can be read.
func readHeads(f *os.File, size int64) (heads []head, err error) {
	for page := range int64(2) {
		b := make([]byte, headEnd)
		if _, err := f.ReadAt(b, page*size); err != nil {
			return nil, err
		}
		sum := fnv.New64a()
		_, _ = sum.Write(b[headStart:headSum]) // never fails
		if binary.NativeEndian.Uint32(b[headStart:]) != headMagic || binary.NativeEndian.Uint64(b[headSum:]) != sum.Sum64() {
			continue
		}
		heads = append(heads, head{freelist: binary.NativeEndian.Uint64(b[48:]), tx: binary.NativeEndian.Uint64(b[64:])})
	}
	return heads, nil
}
