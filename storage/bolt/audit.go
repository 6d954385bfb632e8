package bolt

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// maxAuditDrop is the maximum number of old entries that one step removes, so
// that a lowered limit does not delay the next change much. Readers do not see
// the remaining ones.
const maxAuditDrop = 100

// auditKey is the key of an entry.
func auditKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// madeKey is the context key of the id that a step assigns.
type madeKey struct{}

// withMade returns a context in which a step stores the id of the changed
// record, for the audit entry of the change.
func withMade(ctx context.Context) (context.Context, *uint32) {
	id := new(uint32)
	return context.WithValue(ctx, madeKey{}, id), id
}

// note stores the audit entry of a step that made a change, if it has one.
func (s *Store) note(ctx context.Context, tx *bbolt.Tx) error {
	e, ok := storage.AuditOf(ctx)
	if !ok {
		return nil
	}
	if id, ok := ctx.Value(madeKey{}).(*uint32); ok {
		e.ID = *id
	}
	_, err := s.addAudit(tx, e.Canonical())
	return err
}

// auditRing is a part of the log with a limit of its own, so that changes of
// players cannot push those of operators out of it. Both parts share one
// sequence of numbers.
type auditRing struct {
	bucket string
	count  string // key in bucketMeta of the number of entries, 8 bytes
}

// auditRings returns the parts: that of operators, and that of players.
func auditRings() [2]auditRing {
	return [2]auditRing{{bucketAudit, metaAudit}, {bucketAuditPlayers, metaAuditPlayers}}
}

func auditRingOf(e storage.AuditEntry) auditRing {
	rings := auditRings()
	if e.Via == storage.ViaPlayer {
		return rings[1]
	}
	return rings[0]
}

// entries returns how many entries a part has. In a file of a version that did
// not store the number they are counted.
func (r auditRing) entries(tx *bbolt.Tx) int {
	if n, err := metaNumber(tx, r.count, 8); err == nil && n > 0 {
		return int(n)
	}
	return tx.Bucket([]byte(r.bucket)).Stats().KeyN
}

// addAudit stores an entry and removes the oldest ones of its part beyond the
// limit.
func (s *Store) addAudit(tx *bbolt.Tx, e storage.AuditEntry) (storage.AuditEntry, error) {
	seq, err := tx.Bucket([]byte(bucketAudit)).NextSequence()
	if err != nil {
		return e, err
	}
	e.Seq = seq
	ring := auditRingOf(e)
	n := ring.entries(tx) + 1
	if err := put(tx, ring.bucket, auditKey(seq), e); err != nil {
		return e, fmt.Errorf("audit log: %w", err)
	}
	dropped, err := ring.drop(tx, min(n-int(s.maxAudit.Load()), maxAuditDrop))
	if err != nil {
		return e, fmt.Errorf("audit log: %w", err)
	}
	left := binary.BigEndian.AppendUint64(nil, uint64(n-dropped))
	return e, tx.Bucket([]byte(bucketMeta)).Put([]byte(ring.count), sealEntry([]byte(ring.count), left))
}

// drop removes the n oldest entries and returns how many there were.
func (r auditRing) drop(tx *bbolt.Tx, n int) (int, error) {
	b := tx.Bucket([]byte(r.bucket))
	var over [][]byte
	c := b.Cursor()
	for k, _ := c.First(); k != nil && len(over) < n; k, _ = c.Next() {
		over = append(over, slices.Clone(k))
	}
	for _, k := range over {
		if err := b.Delete(k); err != nil {
			return 0, err
		}
	}
	return len(over), nil
}

// auditReader reads a part of the log downwards.
type auditReader struct {
	ring   auditRing
	c      *bbolt.Cursor
	k, v   []byte
	oldest []byte // the oldest kept entry
}

// from returns a reader at the newest entry below before; 0: at the newest.
func (r auditRing) from(tx *bbolt.Tx, before uint64, limit int) *auditReader {
	a := &auditReader{ring: r, c: tx.Bucket([]byte(r.bucket)).Cursor()}
	a.oldest, _ = a.c.First()
	for over := r.entries(tx) - limit; over > 0; over-- { // the limit was lowered
		a.oldest, _ = a.c.Next()
	}
	a.k, a.v = a.c.Last()
	if before > 0 && a.k != nil && string(a.k) >= string(auditKey(before)) {
		a.c.Seek(auditKey(before)) // there is one: the last
		a.k, a.v = a.c.Prev()
	}
	return a
}

// more reports whether there is an entry to read.
func (a *auditReader) more() bool { return a.k != nil && string(a.k) >= string(a.oldest) }

// AddAudit is described in [storage.Audit].
func (s *Store) AddAudit(ctx context.Context, e storage.AuditEntry) (stored storage.AuditEntry, err error) {
	e = e.Canonical()
	err = s.update(storage.WithoutAudit(ctx), func(tx *bbolt.Tx) error {
		stored, err = s.addAudit(tx, e)
		return err
	})
	if err != nil {
		return storage.AuditEntry{}, err
	}
	return stored, nil
}

// LimitAudit is described in [storage.Audit].
func (s *Store) LimitAudit(entries int) { s.maxAudit.Store(int64(max(entries, 1))) }

// AuditLog is described in [storage.Audit].
func (s *Store) AuditLog(ctx context.Context, before uint64) iter.Seq2[storage.AuditEntry, error] {
	return func(yield func(storage.AuditEntry, error) bool) {
		for more := true; more; {
			var items []item[storage.AuditEntry]
			err := s.view(ctx, func(tx *bbolt.Tx) error {
				items, before, more = s.auditPage(tx, before)
				return nil
			})
			if err != nil {
				yield(storage.AuditEntry{}, err)
				return
			}
			for _, it := range items {
				if !yield(it.record, it.err) {
					return
				}
			}
		}
	}
}

// auditPage reads one page downwards from below before. next is where the
// following one begins, if there is more.
func (s *Store) auditPage(tx *bbolt.Tx, before uint64) (items []item[storage.AuditEntry], next uint64, more bool) {
	rings, limit := auditRings(), int(s.maxAudit.Load())
	operators, players := rings[0].from(tx, before, limit), rings[1].from(tx, before, limit)
	for size := 0; ; {
		r := operators
		if !r.more() || (players.more() && string(players.k) > string(r.k)) {
			r = players
		}
		if !r.more() {
			return items, next, false
		}
		if len(items) == pageRecords || size > pageBytes {
			return items, next, true
		}
		e, err := decode[storage.AuditEntry](r.v)
		if err != nil {
			err = fmt.Errorf("%s %q: %w", r.ring.bucket, r.k, err)
		}
		items = append(items, item[storage.AuditEntry]{e, err})
		next = binary.BigEndian.Uint64(r.k)
		size += len(r.v)
		r.k, r.v = r.c.Prev()
	}
}
