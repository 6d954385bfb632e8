package bolt

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// Sizes in a saved server list.
const (
	// ChunkSize is the largest chunk in bytes. The largest record that
	// storage.Server.Check lets through fits into one.
	ChunkSize = 256 << 10
	// chunksPerStep is the highest number of chunks written in one
	// transaction: what a save holds in memory.
	chunksPerStep = 16
)

// keyHead is the key of the list head in bucketServers.
const keyHead = "head"

// listHead says which generation is the saved list. Writing it is what makes a
// save happen.
type listHead struct {
	Generation uint64    `json:"generation"` // 0: nothing was ever saved
	Chunks     uint64    `json:"chunks"`
	Saved      time.Time `json:"saved"`
}

// savedList is the list head in memory and who reads which generation.
type savedList struct {
	mu      sync.Mutex // guards the fields below
	head    listHead
	damaged error          // the head could not be read
	reading map[uint64]int // generation -> running LoadServers
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
		s.list.head = head
		if err != nil {
			s.list.damaged = fmt.Errorf("head of the saved server list: %w", err)
		}
		return nil
	})
}

// SaveServers is described in [storage.Servers].
func (s *Store) SaveServers(ctx context.Context, servers iter.Seq[storage.Server]) (int, error) {
	select {
	case s.saving <- struct{}{}:
		defer func() { <-s.saving }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	ctx = storage.WithoutAudit(ctx) // many steps, and no operator's change
	n, err := s.saveServers(ctx, servers)
	// Either the old generation or the unfinished one is of no more use. What
	// cannot be removed now is removed by the next save or the next Open.
	if err := s.dropGenerations(context.WithoutCancel(ctx)); err != nil {
		s.log.Warn().Err(err).Msg("old server list not removed yet")
	}
	if err != nil {
		return 0, fmt.Errorf("save servers: %w", err)
	}
	return n, nil
}

// saveServers writes a new generation and makes it the saved list.
func (s *Store) saveServers(ctx context.Context, servers iter.Seq[storage.Server]) (int, error) {
	w := &listWriter{store: s}
	saved, leftOut := 0, 0
	for server := range servers {
		if server.Check() != nil {
			leftOut++
			continue
		}
		if err := w.add(ctx, server); err != nil {
			return 0, err
		}
		saved++
	}
	if leftOut > 0 {
		s.log.Warn().Int("left_out", leftOut).Msg("servers beyond the storage limits were not saved")
	}
	return saved, w.finish(ctx)
}

// listWriter writes one generation. The zero generation number means that the
// first step has not run yet.
type listWriter struct {
	store      *Store
	generation uint64
	written    uint64   // chunks in the file
	chunk      []byte   // the chunk that is being filled, header included
	full       [][]byte // chunks that wait for the next step
}

// add appends a record to the generation.
func (w *listWriter) add(ctx context.Context, server storage.Server) error {
	server.First, server.Seen = server.First.UTC(), server.Seen.UTC()
	record, err := json.Marshal(server)
	if err != nil {
		return err
	}
	if len(w.chunk)+binary.MaxVarintLen32+len(record) > ChunkSize {
		w.closeChunk()
	}
	if len(w.full) >= chunksPerStep {
		if err := w.store.update(ctx, w.step); err != nil {
			return err
		}
		w.written += uint64(len(w.full))
		w.full = w.full[:0]
	}
	if w.chunk == nil {
		w.chunk = make([]byte, valueHeader, ChunkSize)
	}
	w.chunk = appendToChunk(w.chunk, record)
	return nil
}

// closeChunk puts the chunk that is being filled to those that wait.
func (w *listWriter) closeChunk() {
	if w.chunk != nil {
		w.full = append(w.full, sealInPlace(w.chunk))
		w.chunk = nil
	}
}

// step writes the chunks that wait.
func (w *listWriter) step(tx *bbolt.Tx) error {
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

// finish writes the rest and the head in one step: from then on the generation
// is the saved list.
func (w *listWriter) finish(ctx context.Context) error {
	w.closeChunk()
	var head listHead
	err := w.store.update(ctx, func(tx *bbolt.Tx) error {
		if err := w.step(tx); err != nil {
			return err
		}
		head = listHead{Generation: w.generation, Chunks: w.written + uint64(len(w.full)), Saved: time.Now().UTC()}
		return put(tx, bucketServers, []byte(keyHead), head)
	})
	if err != nil {
		return err
	}
	l := &w.store.list
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head, l.damaged = head, nil
	return nil
}

// dropGenerations removes every generation that is neither the saved list nor
// being read, one per step. The caller holds the saving token or is Open.
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

// uses reports whether the generation under key is needed. A generation that is
// not the head any more gets no new readers, so "no" stays "no".
func (l *savedList) uses(key []byte) bool {
	if len(key) != 8 {
		return false
	}
	generation := binary.BigEndian.Uint64(key)
	l.mu.Lock()
	defer l.mu.Unlock()
	return generation == l.head.Generation || l.reading[generation] > 0
}

// acquire returns the head and keeps its generation from being dropped until
// release.
func (l *savedList) acquire() (listHead, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reading == nil {
		l.reading = make(map[uint64]int)
	}
	l.reading[l.head.Generation]++
	return l.head, l.damaged
}

// release undoes acquire.
func (l *savedList) release(head listHead) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reading[head.Generation]--; l.reading[head.Generation] == 0 {
		delete(l.reading, head.Generation)
	}
}

// LoadServers is described in [storage.Servers].
func (s *Store) LoadServers(ctx context.Context) iter.Seq2[storage.Server, error] {
	return func(yield func(storage.Server, error) bool) {
		head, err := s.list.acquire()
		defer s.list.release(head)
		if err != nil {
			yield(storage.Server{}, err)
			return
		}
		chunks, err := s.countChunks(ctx, head)
		for i := range chunks {
			if !s.yieldChunk(ctx, head.Generation, i, yield) {
				return
			}
		}
		if err != nil { // an empty list of a closed store is no answer
			yield(storage.Server{}, err)
		}
	}
}

// countChunks returns how many chunks of a list to read: as many as its head
// says, but none behind the last one that is there. An error tells of the rest.
func (s *Store) countChunks(ctx context.Context, head listHead) (chunks uint64, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		if head.Chunks == 0 {
			return nil
		}
		b := tx.Bucket([]byte(bucketServers)).Bucket(generationKey(head.Generation))
		if b == nil {
			return fmt.Errorf("saved server list: %w: generation %d is missing", storage.ErrDamaged, head.Generation)
		}
		if last, _ := b.Cursor().Last(); len(last) == 8 {
			chunks = min(head.Chunks, binary.BigEndian.Uint64(last)+1)
		}
		if chunks < head.Chunks {
			return fmt.Errorf("saved server list: %w: chunks from %d on are missing", storage.ErrDamaged, chunks)
		}
		return nil
	})
	return chunks, err
}

// yieldChunk yields the records of one chunk and reports whether to go on.
func (s *Store) yieldChunk(ctx context.Context, generation, number uint64, yield func(storage.Server, error) bool) bool {
	items, err := s.readChunk(ctx, generation, number)
	for _, it := range items {
		if !yield(it.record, it.err) {
			return false
		}
	}
	if err != nil {
		err = fmt.Errorf("saved server list, chunk %d: %w", number, err)
		return yield(storage.Server{}, err) && isDamage(err)
	}
	return true
}

// readChunk returns the records of a chunk, with an error for each that is
// damaged; err is about the chunk as a whole.
func (s *Store) readChunk(ctx context.Context, generation, number uint64) (items []item[storage.Server], err error) {
	var payload []byte
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
		return nil, err
	}
	for record, err := range chunkRecords(payload) {
		if err != nil {
			return items, err
		}
		server, err := decodeJSON[storage.Server](record)
		items = append(items, item[storage.Server]{server, err})
	}
	return items, nil
}

// ServersSavedAt is described in [storage.Servers].
func (s *Store) ServersSavedAt(ctx context.Context) (time.Time, error) {
	if err := s.view(ctx, func(*bbolt.Tx) error { return nil }); err != nil {
		return time.Time{}, err
	}
	s.list.mu.Lock()
	defer s.list.mu.Unlock()
	switch {
	case s.list.damaged != nil:
		return time.Time{}, s.list.damaged
	case s.list.head.Generation == 0:
		return time.Time{}, storage.ErrNotFound
	}
	return s.list.head.Saved, nil
}
