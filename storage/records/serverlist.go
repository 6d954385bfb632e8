package records

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// The saved server list is written in generations, each of chunks that never change:
// segments with the records that a save wrote, and the index of the last save, which names
// every server of the list and its last report. The record of a server is the one in the
// newest segment that has one. The head names the generations in use.
//
// The keys of tableServers begin with the name of the daemon that saved the list, which is
// empty if there is only one, and NUL. The head follows as "h", a chunk as "c", its
// generation and its number (8 bytes each).
const (
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

// savedList is what a store knows of its list besides what is stored.
type savedList struct {
	mu      sync.Mutex     // guards partial and reading
	partial bool           // a part of the list could not be read
	reading map[uint64]int // generation -> running LoadServers

	// found are the generations that are stored, or may be, each with the number of its
	// chunks; nil: they have not been looked for. Store.saving guards it.
	found map[uint64]uint64
}

// lost records that a part of the list cannot be read.
func (l *savedList) lost() { l.setPartial(true) }

func (l *savedList) setPartial(partial bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = partial
}

func (s *Store) listHeadKey() []byte { return append([]byte(s.opt.Node), 0, 'h') }

// chunkKey is the key of a chunk.
func (s *Store) chunkKey(generation, number uint64) []byte {
	key := binary.BigEndian.AppendUint64(append([]byte(s.opt.Node), 0, 'c'), generation)
	return binary.BigEndian.AppendUint64(key, number)
}

// readHead returns the head, the zero head if there is none.
func (s *Store) readHead(ctx context.Context) (listHead, error) {
	head, err := fetch[listHead](ctx, s, tableServers, s.listHeadKey())
	switch {
	case isMissing(err):
		return listHead{}, nil
	case err != nil:
		return listHead{}, fmt.Errorf("head of the saved server list: %w", err)
	}
	return head.present(), nil
}

// baseOfList returns the list that a save adds to. whole reports that there is none: a
// damaged head loses the list.
func (s *Store) baseOfList(ctx context.Context) (head listHead, whole bool, err error) {
	head, err = s.readHead(ctx)
	if err != nil {
		return head, true, unlessDamage(err)
	}
	s.list.mu.Lock()
	defer s.list.mu.Unlock()
	return head, s.list.partial || head.Index.Generation == 0 || len(head.Segments) >= maxSegments, nil
}

// acquireList returns the head and keeps its generations from being dropped until release.
func (s *Store) acquireList(ctx context.Context) (listHead, error) {
	s.list.mu.Lock() // from reading the head on: unused must not run in between
	defer s.list.mu.Unlock()
	head, err := s.readHead(ctx)
	if err != nil {
		return head, err
	}
	if s.list.reading == nil {
		s.list.reading = make(map[uint64]int)
	}
	for _, g := range head.generations() {
		s.list.reading[g]++
	}
	return head, nil
}

// release undoes acquireList.
func (l *savedList) release(head listHead) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range head.generations() {
		if l.reading[g]--; l.reading[g] == 0 {
			delete(l.reading, g)
		}
	}
}

// dropStep is how many chunks one step removes.
const dropStep = 1000

// dropGenerations removes every generation that is neither part of the saved list nor
// being read. The caller holds saving.
func (s *Store) dropGenerations(ctx context.Context) error {
	unused, err := s.unused(ctx)
	var keys [][]byte
	drop := func() {
		err = s.change(ctx, func(c *change) error {
			c.deleteAll(tableServers, keys)
			return nil
		})
		keys = keys[:0]
	}
	for _, g := range unused {
		for n := s.list.found[g]; n > 0 && err == nil; n-- { // the last one first: it tells how many there are
			if keys = append(keys, s.chunkKey(g, n-1)); len(keys) == dropStep {
				drop()
			}
		}
	}
	if err == nil && len(keys) > 0 {
		drop()
	}
	if err != nil {
		return err
	}
	for _, g := range unused {
		delete(s.list.found, g)
	}
	return nil
}

// findGenerations looks for the generations of an earlier run of the program, once. It reads
// the last chunk of each.
func (s *Store) findGenerations(ctx context.Context) error {
	if s.list.found != nil {
		return nil
	}
	found := make(map[uint64]uint64)
	last := engine.Range{Table: tableServers, From: s.chunkKey(0, 0), To: engine.After(s.chunkKey(math.MaxUint64, math.MaxUint64)), Backward: true}
	for {
		key, err := look(ctx, s, func(v *view) []byte { return slices.Clone(v.first(last).Key) })
		if err != nil {
			return err
		}
		if len(key) != len(last.From) {
			break
		}
		numbers := key[len(key)-16:]
		generation := binary.BigEndian.Uint64(numbers)
		found[generation] = binary.BigEndian.Uint64(numbers[8:]) + 1
		last.To = s.chunkKey(generation, 0)
	}
	s.list.found = found
	return nil
}

// unused returns the generations that are not needed. One that the head does not name gets
// no new readers, so that stays true.
func (s *Store) unused(ctx context.Context) (all []uint64, err error) {
	s.list.mu.Lock()
	defer s.list.mu.Unlock()
	head, err := s.readHead(ctx)
	if err != nil {
		return nil, err
	}
	for g := range s.list.found {
		if s.list.reading[g] == 0 && !slices.Contains(head.generations(), g) {
			all = append(all, g)
		}
	}
	return all, nil
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

// generationWriter writes one generation.
type generationWriter struct {
	store      *Store
	generation uint64 // 0: no chunk was written yet
	records    int
	written    uint64   // chunks that are stored
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
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	if w.chunk == nil {
		w.chunk = w.newChunk()
	}
	w.chunk = appendToChunk(w.chunk, record)
	w.records++
	return nil
}

// flush stores the complete chunks.
func (w *generationWriter) flush(ctx context.Context) error {
	var of segment
	err := w.store.change(ctx, func(c *change) error {
		of = w.put(c)
		return nil
	})
	w.store.list.foundAll(listHead{Index: of})
	if err != nil {
		return err
	}
	w.generation, w.written = of.Generation, of.Chunks
	w.full, w.free = w.free[:0], w.full
	return nil
}

// foundAll adds generations to found: also after a step that failed they may be stored.
func (l *savedList) foundAll(head listHead) {
	for _, of := range append(slices.Clip(head.Segments), head.Index) {
		if of.Generation != 0 {
			l.found[of.Generation] = of.Chunks
		}
	}
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

// put writes the complete chunks as a part of a step and returns the generation as it is
// then.
func (w *generationWriter) put(c *change) segment {
	of := segment{Generation: w.generation, Chunks: w.written, Servers: w.records}
	if of.Generation == 0 {
		of.Generation = c.next(tableServers)
	}
	for _, chunk := range w.full {
		c.putValue(tableServers, w.store.chunkKey(of.Generation, of.Chunks), chunk)
		of.Chunks++
	}
	return of
}

// end writes the rest as a part of a step and returns the segment for the head.
func (w *generationWriter) end(c *change) segment {
	w.closeChunk()
	return w.put(c)
}

// chunksPerRead is how many chunks are read in one step.
const chunksPerRead = 4

// storedChunk is the payload of a chunk, or why it cannot be read.
type storedChunk struct {
	number  uint64
	payload []byte
	err     error
}

// readChunks returns copies of the next chunks of a generation, from one on: fewer than
// chunksPerRead if there are no more. Some may be missing between them.
func (s *Store) readChunks(ctx context.Context, of segment, from uint64) ([]storedChunk, error) {
	r := engine.Range{
		Table: tableServers, From: s.chunkKey(of.Generation, from), To: s.chunkKey(of.Generation, of.Chunks), Limit: chunksPerRead,
	}
	return look(ctx, s, func(v *view) (all []storedChunk) {
		for e := range v.scan(r) {
			payload, err := unseal(e.Key, e.Value)
			all = append(all, storedChunk{binary.BigEndian.Uint64(lastID64(e.Key)), slices.Clone(payload), err})
		}
		return all
	})
}

// errMissing is the error for chunks that are missing.
var errMissing = fmt.Errorf("%w: it is missing", storage.ErrDamaged)

// eachRecord calls fn with every record of a generation, which it must not
// change and may keep, and with an error for every part that is damaged: chunks that are
// missing one after another are one part. It ends early, with done false, when fn returns
// false and after an error other than damage.
func (s *Store) eachRecord(ctx context.Context, of segment, fn func(record []byte, err error) bool) (done bool) {
	next := uint64(0)
	for next < of.Chunks {
		chunks, err := s.readChunks(ctx, of, next)
		if err != nil {
			fn(nil, err)
			return false
		}
		for _, c := range chunks {
			if c.number != next && !fn(nil, chunkError(next, errMissing)) {
				return false
			}
			if !c.each(fn) {
				return false
			}
			next = c.number + 1
		}
		if len(chunks) < chunksPerRead {
			break
		}
	}
	return next >= of.Chunks || fn(nil, chunkError(next, errMissing))
}

// chunkError names the chunk in an error.
func chunkError(n uint64, err error) error {
	return fmt.Errorf("saved server list, chunk %d: %w", n, err)
}

// each calls fn with every record of a chunk, and with an error if it is damaged.
func (c *storedChunk) each(fn func([]byte, error) bool) bool {
	err := c.err
	for record, bad := range chunkRecords(c.payload) {
		if bad != nil {
			err = bad
			break
		}
		if !fn(record, nil) {
			return false
		}
	}
	return err == nil || fn(nil, chunkError(c.number, err))
}
