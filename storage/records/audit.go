package records

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// minAuditDrop is the number of old entries of a ring that one step removes at least, so
// that a lowered limit does not delay the next changes much. Readers do not see the
// remaining ones.
const minAuditDrop = 100

// auditPart is the number of entries that are counted at once.
const auditPart = 10_000

// auditKey is the key of an entry.
func auditKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// auditRings returns the parts of the log: that of operators, and that of players. Each has
// a limit of its own, so that changes of players cannot push those of operators out. Both
// share one sequence of numbers.
func auditRings() [2]engine.Table { return [2]engine.Table{tableAudit, tableAuditPlayers} }

func auditRingOf(e storage.AuditEntry) engine.Table {
	if e.Via == storage.ViaPlayer {
		return tableAuditPlayers
	}
	return tableAudit
}

// madeKey is the context key of the id that a step assigns.
type madeKey struct{}

// withMade returns a context in which a step stores the id of the changed
// record, for the audit entry of the change.
func withMade(ctx context.Context) (context.Context, *uint32) {
	id := new(uint32)
	return context.WithValue(ctx, madeKey{}, id), id
}

// note stores the audit entry of a step that made a change, if it has one.
func (s *Store) note(ctx context.Context, c *change) error {
	e, ok := storage.AuditOf(ctx)
	if !ok {
		return nil
	}
	if id, ok := ctx.Value(madeKey{}).(*uint32); ok {
		e.ID = *id
	}
	_, err := s.addAudit(c, e.Canonical())
	return err
}

// addAudit stores an entry. Some steps also remove the oldest entries; if each did, two at
// the same time would be in each other's way in a store that daemons share.
func (s *Store) addAudit(c *change, e storage.AuditEntry) (_ storage.AuditEntry, err error) {
	if e.Seq, err = c.Next(tableAudit); err != nil {
		return e, err
	}
	c.put(auditRingOf(e), auditKey(e.Seq), e)
	limit := int(s.maxAudit.Load())
	period := max(1, limit/10)
	if e.Seq%uint64(period) != 0 {
		return e, nil
	}
	for _, ring := range auditRings() {
		if err := c.trimAudit(ring, e.Seq, limit, max(minAuditDrop, 2*period)); err != nil {
			return e, fmt.Errorf("audit log: %w", err)
		}
	}
	return e, nil
}

// trimAudit removes the oldest entries of a ring beyond a limit, at most most. seq is the
// newest number.
func (c *change) trimAudit(ring engine.Table, seq uint64, limit, most int) error {
	oldest, err := first(c, engine.Range{Table: ring, Loose: true})
	if err != nil || len(oldest.Key) != 8 || seq-binary.BigEndian.Uint64(oldest.Key) < uint64(limit) {
		return err // there are not so many numbers
	}
	n, kept, err := newest(c, ring, nil, limit)
	if err != nil || n < limit {
		return err
	}
	over, err := keysOf(c, engine.Range{Table: ring, To: kept, Limit: most, Loose: true})
	if err != nil {
		return err
	}
	for _, key := range over {
		c.delete(ring, key)
	}
	return nil
}

// newest counts the newest entries of a ring with keys from one on, up to limit, and
// returns the key of the last that it counted.
func newest(tx engine.Reader, ring engine.Table, from []byte, limit int) (n int, last []byte, err error) {
	for n < limit {
		part := min(limit-n, auditPart)
		keys, err := keysOf(tx, engine.Range{Table: ring, From: from, To: last, Backward: true, Limit: part, Loose: true})
		if err != nil {
			return 0, nil, err
		}
		if len(keys) > 0 {
			last = keys[len(keys)-1]
		}
		if n += len(keys); len(keys) < part {
			break
		}
	}
	return n, last, nil
}

// AddAudit is described in [storage.Audit].
func (s *Store) AddAudit(ctx context.Context, e storage.AuditEntry) (stored storage.AuditEntry, err error) {
	e = e.Canonical()
	err = s.change(storage.WithoutAudit(ctx), func(c *change) (err error) {
		stored, err = s.addAudit(c, e)
		return err
	})
	if err != nil {
		return storage.AuditEntry{}, err
	}
	return stored, nil
}

// LimitAudit is described in [storage.Audit].
func (s *Store) LimitAudit(entries int) { s.maxAudit.Store(int64(max(entries, 1))) }

// auditPlace is where a reader of the log is.
type auditPlace struct {
	before []byte // the next entry is below this key; nil: the newest
	left   [2]int // how many entries the limit still lets it see, per ring
}

// begin sets the place below a number, or at the newest entry for 0.
func (p *auditPlace) begin(tx engine.Reader, before uint64, limit int) error {
	p.left = [2]int{limit, limit}
	if before == 0 {
		return nil
	}
	p.before = auditKey(before)
	for i, ring := range auditRings() {
		newer, _, err := newest(tx, ring, p.before, limit)
		if err != nil {
			return err
		}
		p.left[i] -= newer
	}
	return nil
}

// AuditLog is described in [storage.Audit].
func (s *Store) AuditLog(ctx context.Context, before uint64) iter.Seq2[storage.AuditEntry, error] {
	var begin *auditPlace
	return paged(ctx, s, begin, func(tx engine.Reader, at *auditPlace) ([]item[storage.AuditEntry], *auditPlace, bool, error) {
		var next auditPlace
		if at != nil {
			next = *at
		} else if err := next.begin(tx, before, int(s.maxAudit.Load())); err != nil {
			return nil, at, false, err
		}
		items, more, err := next.page(tx)
		return items, &next, more, err
	})
}

// page reads one page downwards and moves the place to its end. more says that there may
// be another.
func (p *auditPlace) page(tx engine.Reader) (items []item[storage.AuditEntry], more bool, err error) {
	type ringEntry struct {
		engine.Entry
		ring int
	}
	var entries []ringEntry
	rings := auditRings()
	for i, t := range rings {
		if p.left[i] == 0 {
			continue
		}
		r := engine.Range{Table: t, To: p.before, Backward: true, Limit: min(p.left[i], engine.Page)}
		for e, err := range tx.Scan(r) {
			if err != nil {
				return nil, false, err
			}
			entries = append(entries, ringEntry{e, i})
		}
	}
	slices.SortFunc(entries, func(a, b ringEntry) int { return bytes.Compare(b.Key, a.Key) })
	entries = entries[:min(len(entries), engine.Page)]
	for _, e := range entries {
		record, err := readRecord[storage.AuditEntry](tx, e.Entry)
		if err != nil {
			err = fmt.Errorf("%s %q: %w", rings[e.ring], e.Key, err)
		}
		items = append(items, item[storage.AuditEntry]{record, err})
		p.left[e.ring]--
		p.before = slices.Clone(e.Key)
	}
	return items, len(entries) == engine.Page, nil
}
