package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage/engine"
)

// Sizes and flags of bbolt's pages, in the byte order of the machine.
//
//	page     id(8) flags(2) count(2) overflow(4), then count elements, then their data
//	branch   position(4) key size(4) page(8)
//	leaf     flags(4) position(4) key size(4) value size(4)
//	bucket   root page(8) sequence(8): begins the value of a leaf with flag 1;
//	         root page 0: the one page of the bucket follows
//	freelist page numbers(8); a count of 0xFFFF says that the first one is the count
//
// Positions count from the beginning of the element. bbolt writes the data of
// the elements in their order, without gaps.
const (
	pageHeader   = 16
	pageElement  = 16
	bucketHeader = 16

	branchPage   = 1
	leafPage     = 2
	freelistPage = 16
	bucketLeaf   = 1
	manyFree     = 0xFFFF
)

// maxDepth is more than the depth of any real file: each branch leads to at
// least two pages.
const maxDepth = 64

// tree walks all pages of a file without bbolt's code, which trusts its input,
// loops for ever on a cycle of pages, and has no checksums. The walk detects
// any wrong byte of the file, unless nothing depends on that byte:
//
//   - Every page is used exactly once: by the tree, or as a free one.
//   - The elements of a page are where bbolt puts them, so that none is missing
//     and none is longer or shorter than it was.
//   - Keys are in order, also with respect to the branches above.
//   - Keys and values are checked by contents, which knows the checksums.
type tree struct {
	file     *os.File
	size     int64 // of a page, in bytes
	end      uint64
	seen     []uint64 // a bit for each page
	pages    [][]byte // the page being visited, by depth
	contents *contents
	only     func(bucket string) bool // which buckets are visited; nil: all
	stop     <-chan struct{}          // ends the walk when it is closed; nil: never
}

// errStopped means that a walk was ended before its time.
var errStopped = errors.New("stopped")

// span is the range of the keys of a page: from min, and below max if that is
// not nil.
type span struct{ min, max []byte }

// checkTree returns an error for an invalid page of the file, and found with the faults of
// its keys and values. If only is not nil, it checks no more than the buckets for
// which that is true, the path to them, and that no bucket is missing. If stop is
// closed, it returns errStopped.
func checkTree(tx *bbolt.Tx, path string, found *contents, only func(bucket string) bool, stop <-chan struct{}) (*contents, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	size := int64(tx.DB().Info().PageSize)
	end := uint64(tx.Size() / size)
	t := &tree{file: f, size: size, end: end, seen: make([]uint64, end/64+1), contents: found, only: only, stop: stop}
	if err := t.walk(uint64(tx.Cursor().Bucket().Root()), 0, span{}, nil); err != nil {
		return nil, err
	}
	heads, err := readHeads(f, size)
	if err != nil {
		return nil, err
	}
	if only == nil {
		if err := t.freelist(heads, uint64(tx.ID())); err != nil {
			return nil, err
		}
	}
	t.contents.oneHead = len(heads) == 1
	t.contents.end()
	return t.contents, nil
}

// use marks a page as used.
func (t *tree) use(id uint64) error {
	if id < 2 || id >= t.end {
		return t.damaged(id, "is not in use")
	}
	if t.seen[id/64]&(1<<(id%64)) != 0 {
		return t.damaged(id, "is used twice")
	}
	t.seen[id/64] |= 1 << (id % 64)
	return nil
}

// walk visits a page and the pages below it. of names the buckets that it belongs
// to, outermost first.
func (t *tree) walk(id uint64, depth int, keys span, of [][]byte) error {
	select {
	case <-t.stop:
		return errStopped
	default:
	}
	page, err := t.read(id, depth)
	if err != nil {
		return err
	}
	switch flags := binary.NativeEndian.Uint16(page[8:]); {
	case depth >= maxDepth:
		return t.damaged(id, "leads back to itself")
	case flags == branchPage:
		return t.branch(id, page, depth, keys, of)
	case flags == leafPage:
		return t.leaf(id, page, depth, keys, of)
	default:
		return t.damaged(id, "is no part of the tree")
	}
}

// read returns a page with its overflow. It is valid until another page is read
// at that depth.
func (t *tree) read(id uint64, depth int) ([]byte, error) {
	if err := t.use(id); err != nil {
		return nil, err
	}
	for len(t.pages) <= depth {
		t.pages = append(t.pages, make([]byte, t.size))
	}
	page := t.pages[depth][:t.size]
	if _, err := t.file.ReadAt(page, int64(id)*t.size); err != nil {
		return nil, err
	}
	if binary.NativeEndian.Uint64(page) != id {
		return nil, t.damaged(id, "says that it is another")
	}
	more := uint64(binary.NativeEndian.Uint32(page[12:]))
	if more == 0 {
		return page, nil
	}
	if id+more >= t.end {
		return nil, t.damaged(id, "goes beyond the end")
	}
	for i := range more {
		if err := t.use(id + 1 + i); err != nil {
			return nil, err
		}
	}
	if whole := (int64(more) + 1) * t.size; int64(cap(t.pages[depth])) < whole {
		t.pages[depth] = make([]byte, whole)
	}
	page = t.pages[depth][:(int64(more)+1)*t.size]
	_, err := t.file.ReadAt(page, int64(id)*t.size)
	return page, err
}

// element is one of a page.
type element struct {
	flags uint32 // of a leaf
	child uint64 // of a branch
	key   []byte
	value []byte // of a leaf
}

// elements calls visit for every element of a page, in order. next is the key of
// the element after it, nil for the last one.
func (t *tree) elements(id uint64, page []byte, leaf bool, keys span, visit func(e element, next []byte) error) error {
	count := int(binary.NativeEndian.Uint16(page[10:]))
	at := pageHeader + count*pageElement
	if at > len(page) {
		return t.damaged(id, "has too many elements")
	}
	var before element
	for i := range count {
		e, end, ok := cut(page, pageHeader+i*pageElement, at, leaf)
		switch {
		case !ok:
			return t.damaged(id, "has an element that is not where it belongs")
		case i == 0 && bytes.Compare(e.key, keys.min) < 0, i > 0 && bytes.Compare(e.key, before.key) <= 0,
			keys.max != nil && bytes.Compare(e.key, keys.max) >= 0:
			return t.damaged(id, "has keys that are not in order")
		}
		if i > 0 {
			if err := visit(before, e.key); err != nil {
				return err
			}
		}
		before, at = e, end
	}
	if count == 0 {
		return nil
	}
	return visit(before, nil)
}

// cut returns the element with its header at one offset of a page and its data
// at another, and the end of the data.
func cut(page []byte, header, data int, leaf bool) (e element, end int, ok bool) {
	h := page[header : header+pageElement]
	var position, keySize, valueSize int
	if leaf {
		e.flags = binary.NativeEndian.Uint32(h)
		position, keySize = int(binary.NativeEndian.Uint32(h[4:])), int(binary.NativeEndian.Uint32(h[8:]))
		valueSize = int(binary.NativeEndian.Uint32(h[12:]))
	} else {
		position, keySize = int(binary.NativeEndian.Uint32(h)), int(binary.NativeEndian.Uint32(h[4:]))
		e.child = binary.NativeEndian.Uint64(h[8:])
	}
	if header+position != data || keySize <= 0 || valueSize < 0 || keySize > len(page)-data || valueSize > len(page)-data-keySize {
		return e, 0, false
	}
	e.key = page[data : data+keySize]
	e.value = page[data+keySize : data+keySize+valueSize]
	return e, data + keySize + valueSize, true
}

// branch visits the pages that a branch leads to.
func (t *tree) branch(id uint64, page []byte, depth int, keys span, of [][]byte) error {
	if binary.NativeEndian.Uint16(page[10:]) == 0 {
		return t.damaged(id, "is a branch that leads nowhere")
	}
	return t.elements(id, page, false, keys, func(e element, next []byte) error {
		if next == nil {
			next = keys.max
		}
		return t.walk(e.child, depth+1, span{e.key, next}, of)
	})
}

// leaf visits the keys of a leaf, and the buckets whose names they are.
func (t *tree) leaf(id uint64, page []byte, depth int, keys span, of [][]byte) error {
	return t.elements(id, page, true, keys, func(e element, _ []byte) error {
		switch {
		case e.flags == 0 && len(of) > 0:
			t.contents.visit(of, e.key, e.value)
			return nil
		case e.flags != bucketLeaf || len(e.value) < bucketHeader:
			return t.damaged(id, "has an element of no kind")
		}
		inner := append(slices.Clip(of), e.key)
		t.contents.enter(inner)
		if t.only != nil && !t.only(string(inner[0])) {
			return nil
		}
		if root := binary.NativeEndian.Uint64(e.value); root != 0 {
			return t.walk(root, depth+1, span{}, inner)
		}
		inline := e.value[bucketHeader:]
		if len(inline) < pageHeader || binary.NativeEndian.Uint16(inline[8:]) != leafPage {
			return t.damaged(id, "has a bucket without its page")
		}
		return t.leaf(id, inline, depth, span{}, inner)
	})
}

// freelist checks that every page that the tree does not use is free, and no
// other.
func (t *tree) freelist(heads []head, tx uint64) error {
	for _, h := range heads {
		if h.tx != tx {
			continue
		}
		page, err := t.read(h.freelist, 0)
		if err != nil {
			return err
		}
		if binary.NativeEndian.Uint16(page[8:]) != freelistPage {
			return t.damaged(h.freelist, "is not the list of free pages")
		}
		count, ids := uint64(binary.NativeEndian.Uint16(page[10:])), page[pageHeader:]
		if count == manyFree {
			count, ids = binary.NativeEndian.Uint64(ids), ids[8:]
		}
		if count > uint64(len(ids)/8) {
			return t.damaged(h.freelist, "has too many elements")
		}
		for i := range count {
			if err := t.use(binary.NativeEndian.Uint64(ids[8*i:])); err != nil {
				return err
			}
		}
	}
	for id := uint64(2); id < t.end; id++ {
		if t.seen[id/64]&(1<<(id%64)) == 0 {
			return t.damaged(id, "is neither used nor free")
		}
	}
	return nil
}

func (t *tree) damaged(id uint64, what string) error {
	return fmt.Errorf("%w: page %d %s", engine.ErrDamaged, id, what)
}

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
