package records

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// The payload of a block is the time of its last change in seconds (8 bytes) and
// its data.
const blockHeader = 8

// statBlockKey is the key of a block: profile (4 bytes), game, NUL, index (4 bytes,
// ascending), kind (1 byte). The blocks of a profile, and of an index in a game, are
// neighbours.
func statBlockKey(id storage.StatBlockID) []byte {
	key := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(id.Game)+6), uint32(id.Profile))
	key = append(append(key, id.Game...), 0)
	key = binary.BigEndian.AppendUint32(key, uint32(id.Index)^1<<31)
	return append(key, byte(id.Kind))
}

// statBlockID is the reverse of statBlockKey.
func statBlockID(key []byte) (id storage.StatBlockID, err error) {
	tail := len(key) - 6 // NUL, index, kind
	if tail < 4 || key[tail] != 0 {
		return id, fmt.Errorf("%w: key of a block", storage.ErrDamaged)
	}
	return storage.StatBlockID{
		Game: string(key[4:tail]), Profile: storage.ProfileID(binary.BigEndian.Uint32(key)),
		Index: int32(binary.BigEndian.Uint32(key[tail+1:]) ^ 1<<31), Kind: storage.StatKind(key[tail+5]),
	}, nil
}

// openBlock returns the time and the data of a block. They share the memory of
// value.
func openBlock(key, value []byte) (modified int64, data []byte, err error) {
	payload, err := unseal(key, value)
	if err != nil {
		return 0, nil, err
	}
	if len(payload) < blockHeader {
		return 0, nil, fmt.Errorf("%w: %d bytes", storage.ErrDamaged, len(payload))
	}
	return int64(binary.BigEndian.Uint64(payload)), payload[blockHeader:], nil
}

// readBlock is the decoder of tableStatBlocks.
func readBlock(_ *view, e engine.Entry) (b storage.StatBlock, err error) {
	if b.StatBlockID, err = statBlockID(e.Key); err != nil {
		return b, err
	}
	modified, data, err := openBlock(e.Key, e.Value)
	if err != nil {
		return storage.StatBlock{}, err
	}
	b.Modified = time.Unix(modified, 0).UTC()
	if len(data) > 0 {
		b.Data = slices.Clone(data)
	}
	return b, nil
}

// blockLen returns the length of the data in a stored block without reading it.
func blockLen(value []byte) int { return max(len(value)-recordHeader-blockHeader, 0) }

// GetStatBlock is described in [storage.Stats].
func (s *Store) GetStatBlock(ctx context.Context, id storage.StatBlockID) (b storage.StatBlock, err error) {
	if err := id.Check(); err != nil {
		return b, err
	}
	key := statBlockKey(id)
	return read(ctx, s, func(v *view) (b storage.StatBlock, err error) {
		value, err := v.stored(tableStatBlocks, key)
		if err != nil {
			return b, err
		}
		b, err = readBlock(v, engine.Entry{Key: key, Value: value})
		return b, about(tableStatBlocks, key, err)
	})
}

// EditStatBlock is described in [storage.Stats].
func (s *Store) EditStatBlock(ctx context.Context, id storage.StatBlockID, limit int64, at time.Time,
	edit func(old []byte) ([]byte, error),
) (storage.StatBlock, error) {
	if err := id.Check(); err != nil {
		return storage.StatBlock{}, err
	}
	key := statBlockKey(id)
	return perform(ctx, s, func(c *change) (storage.StatBlock, error) {
		next := storage.StatBlock{StatBlockID: id}
		c.loadEdit(id.Profile, key)
		old, latest := c.blockBefore(key)
		if c.err != nil {
			return next, c.err // edit gets nothing else than what is stored
		}
		data, err := edit(old)
		if err != nil {
			return next, err
		}
		if len(data) > storage.MaxStatBlock {
			return next, fmt.Errorf("%w: block is longer than %d bytes", storage.ErrInvalid, storage.MaxStatBlock)
		}
		second := storage.NextStatSecond(latest, at)
		next.Modified = time.Unix(second, 0).UTC()
		c.putBlock(id.Profile, key, second, data, limit)
		return next, nil
	})
}

// sameIndex returns the keys of the blocks with the index of the one under a key, one of each kind.
func sameIndex(key []byte) (all [4][]byte) {
	keys := bytes.Repeat(key, len(all))
	for i := range all {
		all[i] = keys[i*len(key) : (i+1)*len(key) : (i+1)*len(key)]
		all[i][len(key)-1] = byte(storage.StatPrivateRead) + byte(i)
	}
	return all
}

// loadEdit loads what a change of a block reads.
func (c *change) loadEdit(id storage.ProfileID, key []byte) {
	if !c.shared {
		return
	}
	keys := append(c.totalKeys(totalBlocks),
		engine.Key{Table: tableProfiles, Key: idKey(id)}, engine.Key{Table: tableStatSums, Key: profileSumKey(id)})
	for _, same := range sameIndex(key) {
		keys = append(keys, engine.Key{Table: tableStatBlocks, Key: same})
	}
	c.load(keys...)
}

// blockBefore returns the present data of a block, and the latest change of a block with
// the same index.
func (v *view) blockBefore(key []byte) (old []byte, latest int64) {
	for _, same := range sameIndex(key) {
		value := v.get(tableStatBlocks, same)
		switch {
		case value != nil && bytes.Equal(same, key):
			modified, data, err := openBlock(key, value)
			v.failed(about(tableStatBlocks, key, err))
			old, latest = data, max(latest, modified)
		case len(value) >= recordHeader+blockHeader:
			latest = max(latest, int64(binary.BigEndian.Uint64(value[recordHeader:])))
		}
	}
	return old, latest
}

// putBlock stores a block of a profile, which must exist, unless it would then
// exceed the limits. Nothing is written before it is checked.
func (c *change) putBlock(id storage.ProfileID, key []byte, second int64, data []byte, limit int64) {
	c.failed(c.wantProfile(id))
	added := storage.StatSize{Blocks: 1, Bytes: int64(len(data))}
	if block := c.get(tableStatBlocks, key); block != nil {
		added.Blocks, added.Bytes = 0, added.Bytes-int64(blockLen(block))
	}
	c.grow(id, added, limit)
	c.putRaw(tableStatBlocks, key, numberKey(uint64(second)), data)
}

// wantProfile returns ErrNotFound if a profile does not exist.
func (v *view) wantProfile(id storage.ProfileID) error {
	if !v.has(tableProfiles, idKey(id)) {
		return fmt.Errorf("profile %d: %w", id, storage.ErrNotFound)
	}
	return nil
}

// grow changes the size of the blocks of a profile. The step fails if the profile would exceed
// its limits.
func (c *change) grow(id storage.ProfileID, added storage.StatSize, limit int64) {
	old := c.statSize(id)
	size := storage.StatSize{Blocks: old.Blocks + added.Blocks, Bytes: old.Bytes + added.Bytes}
	if added.Bytes > 0 && size.Bytes > limit || added.Blocks > 0 && size.Blocks > storage.MaxStatBlocks {
		c.failed(storage.ErrStatsFull(id, size, limit))
	}
	c.putSize(id, old, size)
}

// DeleteStatBlock is described in [storage.Stats].
func (s *Store) DeleteStatBlock(ctx context.Context, id storage.StatBlockID) error {
	if err := id.Check(); err != nil {
		return err
	}
	key := statBlockKey(id)
	return s.change(ctx, func(c *change) error {
		c.loadEdit(id.Profile, key)
		value, err := c.stored(tableStatBlocks, key)
		c.failed(err)
		c.grow(id.Profile, storage.StatSize{Blocks: -1, Bytes: -int64(blockLen(value))}, 0)
		c.delete(tableStatBlocks, key)
		return nil
	})
}

// StatBlocks is described in [storage.Stats].
func (s *Store) StatBlocks(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.StatBlock, error] {
	return iterate(ctx, s, engine.Prefix(tableStatBlocks, idKey(id)), readBlock)
}

// StatSizeOf is described in [storage.Stats].
func (s *Store) StatSizeOf(ctx context.Context, id storage.ProfileID) (storage.StatSize, error) {
	return look(ctx, s, func(v *view) storage.StatSize { return v.statSize(id) })
}

// DeleteStats is described in [storage.Stats].
func (s *Store) DeleteStats(ctx context.Context, id storage.ProfileID) (int, error) {
	return perform(ctx, s, func(c *change) (int, error) { return c.dropStats(id), nil })
}

// dropStats removes the blocks and scores of a profile and returns how many
// there were.
func (c *change) dropStats(id storage.ProfileID) int {
	blocks := c.keys(engine.Prefix(tableStatBlocks, idKey(id)))
	c.deleteAll(tableStatBlocks, blocks)
	if len(blocks) > 0 {
		c.putSize(id, c.statSize(id), storage.StatSize{})
	}
	scores := c.keys(engine.Prefix(tableScores, idKey(id)))
	for _, k := range scores {
		c.dropScore(k)
	}
	return len(blocks) + len(scores)
}

// ImportStats is described in [storage.Stats].
func (s *Store) ImportStats(ctx context.Context, id storage.ProfileID, blocks []storage.StatBlock, scores []storage.Score) error {
	if err := storage.CheckStatImport(id, blocks, scores); err != nil {
		return err
	}
	blocks, scores = slices.Clone(blocks), slices.Clone(scores)
	var err error
	for i := range blocks {
		if blocks[i], err = blocks[i].Canonical(); err != nil {
			return err
		}
	}
	for i := range scores {
		if scores[i], err = scores[i].Canonical(); err != nil {
			return err
		}
	}
	return s.change(ctx, func(c *change) error {
		if c.count(tableStatBlocks, idKey(id), 1) > 0 || c.count(tableScores, idKey(id), 1) > 0 {
			return fmt.Errorf("blocks of profile %d: %w", id, storage.ErrTaken)
		}
		c.failed(c.wantProfile(id))
		for _, b := range blocks {
			c.putBlock(id, statBlockKey(b.StatBlockID), b.Modified.Unix(), b.Data, storage.MaxStatBytes)
		}
		for _, score := range scores {
			c.failed(c.putScore(score))
		}
		return nil
	})
}
