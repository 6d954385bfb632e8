package bolt

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// The saved server list is written in generations, each a bucket of chunks that
// never change: segments with the records that a save wrote, and the index of
// the last save, which names every server of the list and its last report. The
// record of a server is the one in the newest segment that has one. The head
// names the generations in use.
const (
	// keyHead is the key of the list head in bucketServers.
	keyHead = "head"
	// maxSegments is the maximum number of segments. A save that finds so many
	// writes the whole list.
	maxSegments = 128
	// compactSegments is the number of segments from which CompactServers acts.
	compactSegments = maxSegments / 2
	// compactSlack is the number of replaced records that are always tolerated.
	compactSlack = 1000
)

// segment is a generation as the head names it. The zero segment is none.
type segment struct {
	Generation uint64 `json:"generation"`
	Chunks     uint64 `json:"chunks"`
	Servers    int    `json:"servers,omitzero"`
}

// listHead describes the saved list. Writing it completes a save.
type listHead struct {
	Segments []segment `json:"segments,omitempty"` // oldest first
	Index    segment   `json:"index,omitzero"`     // zero: every record of the segments is used
	Saved    time.Time `json:"saved"`

	// Older versions had one generation with the whole list, and no index.
	Generation uint64 `json:"generation,omitzero"`
	Chunks     uint64 `json:"chunks,omitzero"`
}

// present returns the head in the present form.
func (h listHead) present() listHead {
	if h.Generation != 0 {
		h.Segments = []segment{{Generation: h.Generation, Chunks: h.Chunks}}
		h.Generation, h.Chunks = 0, 0
	}
	return h
}

// generations returns the generations that the head names.
func (h *listHead) generations() []uint64 {
	all := []uint64{h.Index.Generation}
	for _, s := range h.Segments {
		all = append(all, s.Generation)
	}
	return all
}

// replaced reports whether enough records are replaced for CompactServers to
// act.
func (h *listHead) replaced() bool {
	written := 0
	for _, s := range h.Segments {
		written += s.Servers
	}
	return len(h.Segments) >= compactSegments || written > 2*h.Index.Servers+compactSlack
}

// savedList is the list head in memory and the readers of each generation.
type savedList struct {
	mu      sync.Mutex // guards the fields below
	head    listHead
	damaged error          // the head could not be read
	partial bool           // a part of the list could not be read
	reading map[uint64]int // generation -> running LoadServers
}

// base returns the list that a save adds to. whole reports that there is none.
func (l *savedList) base() (head listHead, whole bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	whole = l.damaged != nil || l.partial || l.head.Index.Generation == 0 || len(l.head.Segments) >= maxSegments
	return l.head, whole
}

// set replaces the head. complete means that it needs nothing of the old list.
func (l *savedList) set(head listHead, complete bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head, l.damaged = head, nil
	l.partial = l.partial && !complete
}

// lost records that a part of the list cannot be read.
func (l *savedList) lost() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = true
}

// uses reports whether the generation under key is needed. A generation that
// the head does not name gets no new readers, so a result of false is final.
func (l *savedList) uses(key []byte) bool {
	if len(key) != 8 {
		return false
	}
	generation := binary.BigEndian.Uint64(key)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reading[generation] > 0 || slices.Contains(l.head.generations(), generation)
}

// acquire returns the head and keeps its generations from being dropped until
// release.
func (l *savedList) acquire() (listHead, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reading == nil {
		l.reading = make(map[uint64]int)
	}
	for _, g := range l.head.generations() {
		l.reading[g]++
	}
	return l.head, l.damaged
}

// release undoes acquire.
func (l *savedList) release(head listHead) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range head.generations() {
		if l.reading[g]--; l.reading[g] == 0 {
			delete(l.reading, g)
		}
	}
}

// generationKey is the key of a generation and of a chunk.
func generationKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// loadListHead reads the head on opening. A damaged head loses the list, not
// the store.
func (s *Store) loadListHead(ctx context.Context) error {
	return s.view(ctx, func(tx *bbolt.Tx) error {
		value := tx.Bucket([]byte(bucketServers)).Get([]byte(keyHead))
		if value == nil {
			return nil
		}
		head, err := decode[listHead](value)
		s.list.mu.Lock()
		defer s.list.mu.Unlock()
		s.list.head = head.present()
		if err != nil {
			s.list.damaged = fmt.Errorf("head of the saved server list: %w", err)
		}
		return nil
	})
}

// dropGenerations removes every generation that is neither part of the saved
// list nor being read, one per step. The caller holds saving or is Open.
func (s *Store) dropGenerations(ctx context.Context) error {
	var found [][]byte
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(bucketServers)).ForEachBucket(func(k []byte) error {
			found = append(found, slices.Clone(k))
			return nil
		})
	})
	if err != nil {
		return err
	}
	for _, key := range found {
		if s.list.uses(key) {
			continue
		}
		err := s.update(ctx, func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte(bucketServers)).DeleteBucket(key)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Sizes in a saved server list.
const (
	// ChunkSize is the largest chunk in bytes. The largest record that
	// storage.Server.Check accepts fits into one.
	ChunkSize = 256 << 10
	// chunksPerStep is the highest number of chunks written in one
	// transaction: it bounds the memory of a save.
	chunksPerStep = 16
)

// generationWriter writes one generation. The zero generation number means that
// the first step has not run yet.
type generationWriter struct {
	store      *Store
	generation uint64
	records    int
	written    uint64   // chunks in the file
	chunk      []byte   // the current chunk, header included
	full       [][]byte // complete chunks for the next step
	free       [][]byte // memory of written chunks for reuse
}

// add appends a record to the generation. The record is copied.
func (w *generationWriter) add(ctx context.Context, record []byte) error {
	if len(w.chunk)+binary.MaxVarintLen32+len(record) > ChunkSize {
		w.closeChunk()
	}
	if len(w.full) >= chunksPerStep {
		if err := w.store.update(ctx, w.step); err != nil {
			return err
		}
		w.written += uint64(len(w.full))
		w.full, w.free = w.free[:0], w.full
	}
	if w.chunk == nil {
		w.chunk = w.newChunk()
	}
	w.chunk = appendToChunk(w.chunk, record)
	w.records++
	return nil
}

// newChunk returns an empty chunk with room for its header.
func (w *generationWriter) newChunk() []byte {
	if last := len(w.free) - 1; last >= 0 {
		chunk := w.free[last][:valueHeader]
		w.free = w.free[:last]
		return chunk
	}
	return make([]byte, valueHeader, ChunkSize)
}

// closeChunk adds the current chunk to the complete ones.
func (w *generationWriter) closeChunk() {
	if w.chunk != nil {
		w.full = append(w.full, sealInPlace(w.chunk))
		w.chunk = nil
	}
}

// step writes the complete chunks.
func (w *generationWriter) step(tx *bbolt.Tx) error {
	servers := tx.Bucket([]byte(bucketServers))
	if w.generation == 0 {
		n, err := servers.NextSequence()
		if err != nil {
			return err
		}
		w.generation = n
	}
	b, err := servers.CreateBucketIfNotExists(generationKey(w.generation))
	if err != nil {
		return err
	}
	b.FillPercent = 1 // keys only grow
	for i, chunk := range w.full {
		if err := b.Put(generationKey(w.written+uint64(i)), chunk); err != nil {
			return err
		}
	}
	return nil
}

// end writes the rest as a part of a step and returns the segment for the head.
func (w *generationWriter) end(tx *bbolt.Tx) (segment, error) {
	w.closeChunk()
	if err := w.step(tx); err != nil {
		return segment{}, err
	}
	return segment{Generation: w.generation, Chunks: w.written + uint64(len(w.full)), Servers: w.records}, nil
}

// chunkCount returns how many chunks of a generation to read: as many as the
// head states, but at most up to the last existing one. The error is about
// missing ones.
func (s *Store) chunkCount(ctx context.Context, of segment) (chunks uint64, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		if of.Chunks == 0 {
			return nil
		}
		b := tx.Bucket([]byte(bucketServers)).Bucket(generationKey(of.Generation))
		if b == nil {
			return fmt.Errorf("saved server list: %w: generation %d is missing", storage.ErrDamaged, of.Generation)
		}
		if last, _ := b.Cursor().Last(); len(last) == 8 {
			chunks = min(of.Chunks, binary.BigEndian.Uint64(last)+1)
		}
		if chunks < of.Chunks {
			return fmt.Errorf("saved server list: %w: chunks from %d on are missing", storage.ErrDamaged, chunks)
		}
		return nil
	})
	return chunks, err
}

// eachRecord calls fn with every record of a generation, which it must not
// change and may keep, and with an error for every part that is damaged. It
// ends early, with done false, when fn returns false and after an error other
// than damage.
func (s *Store) eachRecord(ctx context.Context, of segment, fn func(record []byte, err error) bool) (done bool) {
	chunks, missing := s.chunkCount(ctx, of)
	for i := range chunks {
		payload, err := s.chunk(ctx, of.Generation, i)
		for record, bad := range chunkRecords(payload) {
			if bad != nil {
				err = fmt.Errorf("saved server list, chunk %d: %w", i, bad)
				break
			}
			if !fn(record, nil) {
				return false
			}
		}
		if err != nil && (!fn(nil, err) || !isDamage(err)) {
			return false
		}
	}
	if missing != nil {
		return fn(nil, missing) && isDamage(missing) // an empty list of a closed store is not a result
	}
	return true
}

// chunk returns a copy of the payload of a chunk.
func (s *Store) chunk(ctx context.Context, generation, number uint64) (payload []byte, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucketServers)).Bucket(generationKey(generation))
		if b == nil {
			return fmt.Errorf("%w: generation %d is missing", storage.ErrDamaged, generation)
		}
		p, err := unseal(b.Get(generationKey(number)))
		payload = slices.Clone(p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("saved server list, chunk %d: %w", number, err)
	}
	return payload, nil
}
