package bolt

import (
	"encoding/binary"
	"fmt"
	"os"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// Sizes and flags of bbolt's pages, in the byte order of the machine.
//
//	page     id(8) flags(2) count(2) overflow(4), then count elements
//	branch   position(4) key size(4) page(8)
//	leaf     flags(4) position(4) key size(4) value size(4)
//	bucket   root page(8) sequence(8): begins the value of a leaf with flag 1
//
// Positions count from the beginning of the element.
const (
	pageHeader   = 16
	pageElement  = 16
	bucketHeader = 16

	branchPage = 1
	leafPage   = 2
	bucketLeaf = 1
)

// tree walks the pages of a file from the root on. bbolt follows a page that
// leads back to one above it for ever, and takes more memory with each turn; so
// before it reads a file, we do, without its code.
type tree struct {
	file *os.File
	size int64  // of a page, in bytes
	end  uint64 // pages from here on are not in use
	seen []uint64
	all  bool // leaves of buckets too, not only what leads to them
}

// checkTree refuses a file in which a page is used twice or is none. With all
// it reads everything, without only as much as it takes to see every branch.
func checkTree(tx *bbolt.Tx, path string, all bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	size := int64(tx.DB().Info().PageSize)
	end := uint64(tx.Size() / size)
	t := &tree{file: f, size: size, end: end, seen: make([]uint64, end/64+1), all: all}
	return t.walk(uint64(tx.Cursor().Bucket().Root()), -1, true)
}

// walk visits a page and what is below it. leaves is how far below the leaves
// are, -1 if that is not known yet; outer: the keys are names of buckets.
func (t *tree) walk(id uint64, leaves int, outer bool) error {
	if id < 2 || id >= t.end {
		return t.damaged(id, "is not in use")
	}
	if t.seen[id/64]&(1<<(id%64)) != 0 {
		return t.damaged(id, "is used twice")
	}
	t.seen[id/64] |= 1 << (id % 64)
	if leaves == 0 && !outer && !t.all {
		return nil
	}
	page, err := t.read(id)
	if err != nil {
		return err
	}
	switch binary.NativeEndian.Uint16(page[8:]) {
	case branchPage:
		return t.branch(id, page, leaves, outer)
	case leafPage:
		return t.leaf(id, page)
	default:
		return t.damaged(id, "is no part of the tree")
	}
}

// read returns a page with its overflow.
func (t *tree) read(id uint64) ([]byte, error) {
	page := make([]byte, t.size)
	if _, err := t.file.ReadAt(page, int64(id)*t.size); err != nil {
		return nil, err
	}
	more := uint64(binary.NativeEndian.Uint32(page[12:]))
	count := int(binary.NativeEndian.Uint16(page[10:]))
	switch {
	case binary.NativeEndian.Uint64(page) != id:
		return nil, t.damaged(id, "says that it is another")
	case id+more >= t.end:
		return nil, t.damaged(id, "goes beyond the end")
	case more > 0:
		page = make([]byte, (int64(more)+1)*t.size)
		if _, err := t.file.ReadAt(page, int64(id)*t.size); err != nil {
			return nil, err
		}
	}
	if pageHeader+count*pageElement > len(page) {
		return nil, t.damaged(id, "has too many elements")
	}
	return page, nil
}

// branch visits the pages that a branch leads to. All leaves of a bucket are at
// one depth, so after the first way down the others need not be read.
func (t *tree) branch(id uint64, page []byte, leaves int, outer bool) error {
	if leaves == 0 {
		return t.damaged(id, "is a branch where a leaf should be")
	}
	for i := range int(binary.NativeEndian.Uint16(page[10:])) {
		child := binary.NativeEndian.Uint64(page[pageHeader+i*pageElement+8:])
		if leaves < 0 {
			depth, err := t.depth(child)
			if err != nil {
				return err
			}
			leaves = depth + 1
		}
		if err := t.walk(child, leaves-1, outer); err != nil {
			return err
		}
	}
	return nil
}

// maxDepth is more branches than any file of ours has above a leaf: each leads
// to two pages at least.
const maxDepth = 64

// depth returns how many branches are above the first leaf below a page.
func (t *tree) depth(id uint64) (int, error) {
	for depth := range maxDepth {
		if id < 2 || id >= t.end {
			return 0, t.damaged(id, "is not in use")
		}
		page, err := t.read(id)
		if err != nil {
			return 0, err
		}
		if binary.NativeEndian.Uint16(page[8:]) != branchPage || binary.NativeEndian.Uint16(page[10:]) == 0 {
			return depth, nil
		}
		id = binary.NativeEndian.Uint64(page[pageHeader+8:])
	}
	return 0, t.damaged(id, "leads back to itself")
}

// leaf visits the buckets whose names a leaf has.
func (t *tree) leaf(id uint64, page []byte) error {
	for i := range int(binary.NativeEndian.Uint16(page[10:])) {
		at := pageHeader + i*pageElement
		e := page[at:]
		if binary.NativeEndian.Uint32(e)&bucketLeaf == 0 {
			continue
		}
		value := int64(at) + int64(binary.NativeEndian.Uint32(e[4:])) + int64(binary.NativeEndian.Uint32(e[8:]))
		if value+bucketHeader > int64(len(page)) {
			return t.damaged(id, "has a bucket beyond its end")
		}
		root := binary.NativeEndian.Uint64(page[value:])
		if root == 0 { // the bucket is within the page
			continue
		}
		if err := t.walk(root, -1, false); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) damaged(id uint64, what string) error {
	return fmt.Errorf("%w: page %d %s", storage.ErrDamaged, id, what)
}
