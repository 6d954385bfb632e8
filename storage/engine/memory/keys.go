package memory

import (
	"bytes"
	"iter"
	"slices"

	"github.com/respawnd/respawnd/storage/engine"
)

// maxChunk is the number of entries at which a chunk is halved.
const maxChunk = 256

// keys are entries in the order of their keys, in chunks, so that a change moves few of
// them. No chunk is empty.
type keys struct{ chunks [][]engine.Entry }

// find returns the position of a key, or where it belongs.
func (k *keys) find(key []byte) (chunk, at int, found bool) {
	chunk, found = slices.BinarySearchFunc(k.chunks, key, func(c []engine.Entry, key []byte) int { return bytes.Compare(c[0].Key, key) })
	if found || chunk == 0 {
		return chunk, 0, found
	}
	chunk--
	at, found = slices.BinarySearchFunc(k.chunks[chunk], key, func(e engine.Entry, key []byte) int { return bytes.Compare(e.Key, key) })
	return chunk, at, found
}

func (k *keys) get(key []byte) []byte {
	if chunk, at, ok := k.find(key); ok {
		return k.chunks[chunk][at].Value
	}
	return nil
}

// put stores an entry and returns the value that it replaces.
func (k *keys) put(key, value []byte) (old []byte) {
	chunk, at, found := k.find(key)
	switch {
	case found:
		e := &k.chunks[chunk][at]
		old, e.Value = e.Value, value
		return old
	case len(k.chunks) == 0:
		k.chunks = [][]engine.Entry{{{Key: key, Value: value}}}
		return nil
	}
	c := slices.Insert(k.chunks[chunk], at, engine.Entry{Key: key, Value: value})
	k.chunks[chunk] = c
	if half := len(c) / 2; len(c) == maxChunk {
		k.chunks[chunk] = slices.Clone(c[:half])
		k.chunks = slices.Insert(k.chunks, chunk+1, slices.Clone(c[half:]))
	}
	return nil
}

// remove removes an entry and returns its value.
func (k *keys) remove(key []byte) (old []byte) {
	chunk, at, found := k.find(key)
	if !found {
		return nil
	}
	c := k.chunks[chunk]
	old = c[at].Value
	if len(c) == 1 {
		k.chunks = slices.Delete(k.chunks, chunk, chunk+1)
		return old
	}
	k.chunks[chunk] = slices.Delete(c, at, at+1)
	return old
}

// scan yields the entries from one key on and below another, nil: none, in either order.
func (k *keys) scan(from, to []byte, backward bool) iter.Seq[engine.Entry] {
	return func(yield func(engine.Entry) bool) {
		if backward {
			k.backward(from, to, yield)
			return
		}
		chunk, at, _ := k.find(from)
		for ; chunk < len(k.chunks); chunk, at = chunk+1, 0 {
			for _, e := range k.chunks[chunk][at:] {
				if to != nil && bytes.Compare(e.Key, to) >= 0 || !yield(e) {
					return
				}
			}
		}
	}
}

func (k *keys) backward(from, to []byte, yield func(engine.Entry) bool) {
	last, end := len(k.chunks)-1, -1 // of the last chunk: all
	if to != nil && last >= 0 {
		last, end, _ = k.find(to)
		last = min(last, len(k.chunks)-1)
	}
	for ; last >= 0; last, end = last-1, -1 {
		c := k.chunks[last]
		if end >= 0 {
			c = c[:end]
		}
		for _, e := range slices.Backward(c) {
			if bytes.Compare(e.Key, from) < 0 || !yield(e) {
				return
			}
		}
	}
}
