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

// maxAuditDrop is how many old entries one step removes at most, so that a
// lowered limit does not hold up whoever changes something next. Readers do not
// see what is left over.
const maxAuditDrop = 100

// auditKey is the key of an entry.
func auditKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// madeKey is the key of the id that a step gives out, in its context.
type madeKey struct{}

// withMade returns a context in which a step says which id its change is about,
// for the audit entry of the change.
func withMade(ctx context.Context) (context.Context, *uint32) {
	id := new(uint32)
	return context.WithValue(ctx, madeKey{}, id), id
}

// note stores the audit entry of a step that changed something, if it has one.
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

// addAudit stores an entry and removes the oldest ones beyond the limit.
func (s *Store) addAudit(tx *bbolt.Tx, e storage.AuditEntry) (storage.AuditEntry, error) {
	seq, err := tx.Bucket([]byte(bucketAudit)).NextSequence()
	if err != nil {
		return e, err
	}
	e.Seq = seq
	if err := put(tx, bucketAudit, auditKey(seq), e); err != nil {
		return e, fmt.Errorf("audit log: %w", err)
	}
	return e, s.dropAudit(tx, s.oldestAudit(seq))
}

// oldestAudit returns the number of the oldest entry that is kept when newest is
// the newest.
func (s *Store) oldestAudit(newest uint64) uint64 {
	if most := uint64(s.maxAudit.Load()); newest > most {
		return newest - most + 1
	}
	return 1
}

// dropAudit removes entries before oldest.
func (s *Store) dropAudit(tx *bbolt.Tx, oldest uint64) error {
	b := tx.Bucket([]byte(bucketAudit))
	var over [][]byte
	c := b.Cursor()
	for k, _ := c.First(); k != nil && len(over) < maxAuditDrop && string(k) < string(auditKey(oldest)); k, _ = c.Next() {
		over = append(over, slices.Clone(k))
	}
	for _, k := range over {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

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
	b := tx.Bucket([]byte(bucketAudit))
	oldest := auditKey(s.oldestAudit(b.Sequence()))
	c := b.Cursor()
	k, v := c.Last()
	if before > 0 && k != nil && string(k) >= string(auditKey(before)) {
		c.Seek(auditKey(before)) // there is one: the last
		k, v = c.Prev()
	}
	size := 0
	for ; k != nil && string(k) >= string(oldest); k, v = c.Prev() {
		if len(items) == pageRecords || size > pageBytes {
			return items, next, true
		}
		e, err := decode[storage.AuditEntry](v)
		if err != nil {
			err = fmt.Errorf("%s %q: %w", bucketAudit, k, err)
		}
		items = append(items, item[storage.AuditEntry]{e, err})
		next = binary.BigEndian.Uint64(k)
		size += len(v)
	}
	return items, next, false
}
