package records

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

var _ storage.Contents = Shared{}

// A content is in tableContents in parts, each under the hash and the number of the part (4
// bytes). tableContentHeads has its head under the hash.
const (
	// partsAtOnce is the number of parts that one step stores, so that none is large.
	partsAtOnce = 4
	// maxParts is the number of parts of the largest content.
	maxParts = storage.MaxFileSize / storage.ContentPart
)

// errContentGone means that a content was removed while it was stored.
var errContentGone = errors.New("the content was removed meanwhile")

// contentHead describes a content: its size (8 bytes), a number (8 bytes), and 1 if all
// parts are there. Until then several daemons may store them at once, which all store the
// same. One that finds another number, or no head, must begin again.
type contentHead struct {
	size   int64
	number uint64 // 0: there is no head
	whole  bool
}

const contentHeadSize = 8 + 8 + 1

func openHead(content []byte) contentHead {
	return contentHead{int64(binary.BigEndian.Uint64(content)), binary.BigEndian.Uint64(content[8:]), content[16] != 0}
}

func (v *view) head(hash []byte) (h contentHead) {
	if content := v.entry(tableContentHeads, hash, contentHeadSize); content != nil {
		h = openHead(content)
	}
	return h
}

func (c *change) putHead(hash []byte, h contentHead) {
	content := append(numberKey(uint64(h.size)), numberKey(h.number)...)
	c.putEntry(tableContentHeads, hash, append(content, flag(h.whole)))
}

func partKey(hash []byte, part int64) []byte {
	return binary.BigEndian.AppendUint32(slices.Clone(hash), uint32(part))
}

// PutContent is described in [storage.Contents]. It takes several steps; the last one makes
// the content whole. Contents shows one that was interrupted as unused, so that it is
// removed.
func (s Shared) PutContent(ctx context.Context, hash string, content io.ReaderAt, size int64) error {
	raw, err := hashPrefix(hash)
	if err != nil {
		return err
	}
	if size < 0 || size > storage.MaxFileSize {
		return fmt.Errorf("%w: a content of %d bytes", storage.ErrInvalid, size)
	}
	err = s.putContent(ctx, raw, content, size, partsAtOnce)
	if errors.Is(err, errContentGone) {
		err = s.putContent(ctx, raw, content, size, maxParts) // in one step, which nothing comes between
	}
	return err
}

// putContent stores a content in steps of some parts.
func (s Shared) putContent(ctx context.Context, hash []byte, content io.ReaderAt, size, parts int64) error {
	p := contentPut{hash: hash, size: size, data: make([]byte, min(size, parts*storage.ContentPart))}
	for !p.done {
		p.data = p.data[:min(int64(len(p.data)), size-p.at)]
		if n, err := content.ReadAt(p.data, p.at); n < len(p.data) {
			return fmt.Errorf("read the content: %w", err)
		}
		var next contentPut
		err := s.step(ctx, func(c *change) error {
			next = p
			return next.step(c)
		})
		if err != nil {
			return err
		}
		p = next
	}
	return nil
}

// contentPut is how far a content is stored.
type contentPut struct {
	hash   []byte
	size   int64
	data   []byte // of the next step
	at     int64  // its offset
	number uint64 // of the head, from the first step on
	done   bool
}

// step stores the next data. A content that is whole gets another number, which has no
// meaning but that a DropContent which looked at it before does nothing.
func (p *contentPut) step(c *change) error {
	h := c.head(p.hash)
	if p.at > 0 && !h.whole && h.number != p.number {
		return errContentGone
	}
	begins := h.number == 0
	p.done = h.whole || p.at+int64(len(p.data)) == p.size
	if begins || p.done {
		h.number = c.next(tableContentHeads)
	}
	if !h.whole {
		h.size = p.size
		p.parts(c)
	}
	p.number, h.whole = h.number, p.done
	p.at += int64(len(p.data))
	if begins || p.done {
		c.putHead(p.hash, h)
	}
	return nil
}

// parts stores the data as parts.
func (p *contentPut) parts(c *change) {
	n := p.at / storage.ContentPart
	for data := range slices.Chunk(p.data, storage.ContentPart) {
		c.putEntry(tableContents, partKey(p.hash, n), data)
		n++
	}
}

// ContentPart is described in [storage.Contents].
func (s Shared) ContentPart(ctx context.Context, hash string, part int) (data []byte, err error) {
	raw, err := hashPrefix(hash)
	if err != nil {
		return nil, err
	}
	if part < 0 || part > maxParts {
		part = maxParts // has nothing
	}
	key := partKey(raw, int64(part))
	return read(ctx, s.Store, func(v *view) ([]byte, error) {
		v.load(engine.Key{Table: tableContentHeads, Key: raw}, engine.Key{Table: tableContents, Key: key})
		h := v.head(raw)
		if !h.whole {
			return nil, storage.ErrNotFound
		}
		if int64(part)*storage.ContentPart >= h.size {
			return nil, nil
		}
		content := v.entry(tableContents, key, 0)
		if content == nil {
			return nil, about(tableContents, key, errMissing)
		}
		return bytes.Clone(content), nil
	})
}

// DropContent is described in [storage.Contents].
func (s Shared) DropContent(ctx context.Context, hash string) (dropped bool, err error) {
	raw, err := hashPrefix(hash)
	if err != nil {
		return false, err
	}
	var seen *contentHead // at the beginning
	return perform(storage.WithoutAudit(ctx), s.Store, func(c *change) (bool, error) {
		h := c.head(raw)
		if seen == nil {
			seen = &h
		}
		if h.number == 0 || h != *seen || c.first(engine.Prefix(tableFilesByHash, raw)).Key != nil {
			return false, nil
		}
		for part := range int64(maxParts) {
			if part*storage.ContentPart < h.size {
				c.delete(tableContents, partKey(raw, part))
			}
		}
		c.delete(tableContentHeads, raw)
		return true, nil
	})
}

// Contents is described in [storage.Contents]. One that is not whole is among them if no
// file has it.
func (s Shared) Contents(ctx context.Context) iter.Seq2[storage.Content, error] {
	return paged(ctx, s.Store, engine.Range{Table: tableContentHeads, Loose: true}, contentPage)
}

// contentPage reads one page from the beginning of a range of heads.
func contentPage(v *view, r engine.Range) (items []item[storage.Content], rest engine.Range, more bool) {
	heads, rest, more := pageEntries(v, r)
	if len(heads) == 0 {
		return nil, r, false
	}
	used := usedHashes(v, engine.Range{
		Table: tableFilesByHash, From: heads[0].Key, To: engine.After(heads[len(heads)-1].Key), Loose: true,
	})
	for _, e := range heads {
		content := v.open(r.Table, e, contentHeadSize)
		if content == nil {
			break
		}
		h := openHead(content)
		c := storage.Content{Hash: hex.EncodeToString(e.Key), Size: h.size, Used: used[string(e.Key)]}
		if h.whole || !c.Used {
			items = append(items, item[storage.Content]{record: c})
		}
	}
	return items, rest, more
}

// usedHashes returns the hashes in a range that files have.
func usedHashes(v *view, r engine.Range) map[string]bool {
	used := make(map[string]bool)
	for e := range v.scan(r) {
		used[string(e.Key[:len(e.Key)-4])] = true
	}
	return used
}
