package records

import (
	"bytes"
	"context"
	"encoding/binary"
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
func (s *Store) note(ctx context.Context, c *change) {
	e, ok := storage.AuditOf(ctx)
	if !ok {
		return
	}
	if id, ok := ctx.Value(madeKey{}).(*uint32); ok {
		e.ID = *id
	}
	s.addAudit(c, e.Canonical())
}

// addAudit stores an entry. Some steps also remove the oldest entries; if each did, two at
// the same time would be in each other's way in a store that daemons share.
func (s *Store) addAudit(c *change, e storage.AuditEntry) storage.AuditEntry {
	e.Seq = c.next(tableAudit)
	c.put(auditRingOf(e), numberKey(e.Seq), e)
	limit := int(s.maxAudit.Load())
	if period := max(1, limit/10); e.Seq%uint64(period) == 0 {
		for _, ring := range auditRings() {
			c.trimAudit(ring, e.Seq, limit, max(minAuditDrop, 2*period))
		}
	}
	return e
}

// trimAudit removes the oldest entries of a ring beyond a limit, at most most. seq is the
// newest number.
func (c *change) trimAudit(ring engine.Table, seq uint64, limit, most int) {
	oldest := c.first(engine.Range{Table: ring, Loose: true})
	if len(oldest.Key) != 8 || seq-binary.BigEndian.Uint64(oldest.Key) < uint64(limit) {
		return // there are not so many numbers
	}
	n, kept := newest(c.view, ring, nil, limit)
	if n < limit {
		return
	}
	c.deleteAll(ring, c.keys(engine.Range{Table: ring, To: kept, Limit: most, Loose: true}))
}

// newest counts the newest entries of a ring with keys from one on, up to limit, and
// returns the key of the last that it counted.
func newest(v *view, ring engine.Table, from []byte, limit int) (n int, last []byte) {
	for n < limit {
		part := min(limit-n, auditPart)
		keys := v.keys(engine.Range{Table: ring, From: from, To: last, Backward: true, Limit: part, Loose: true})
		if len(keys) > 0 {
			last = keys[len(keys)-1]
		}
		if n += len(keys); len(keys) < part {
			break
		}
	}
	return n, last
}

// AddAudit is described in [storage.Audit].
func (s *Store) AddAudit(ctx context.Context, e storage.AuditEntry) (storage.AuditEntry, error) {
	e = e.Canonical()
	return perform(storage.WithoutAudit(ctx), s, func(c *change) (storage.AuditEntry, error) { return s.addAudit(c, e), nil })
}

// LimitAudit is described in [storage.Audit].
func (s *Store) LimitAudit(entries int) { s.maxAudit.Store(int64(max(entries, 1))) }

// auditPlace is where a reader of the log is.
type auditPlace struct {
	before []byte // the next entry is below this key; nil: the newest
	left   [2]int // how many entries the limit still lets it see, per ring
}

// begin sets the place below a number, or at the newest entry for 0.
func (p *auditPlace) begin(v *view, before uint64, limit int) {
	p.left = [2]int{limit, limit}
	if before == 0 {
		return
	}
	p.before = numberKey(before)
	for i, ring := range auditRings() {
		newer, _ := newest(v, ring, p.before, limit)
		p.left[i] -= newer
	}
}

// AuditLog is described in [storage.Audit].
func (s *Store) AuditLog(ctx context.Context, before uint64) iter.Seq2[storage.AuditEntry, error] {
	var begin *auditPlace
	return paged(ctx, s, begin, func(v *view, at *auditPlace) ([]item[storage.AuditEntry], *auditPlace, bool) {
		var next auditPlace
		if at != nil {
			next = *at
		} else {
			next.begin(v, before, int(s.maxAudit.Load()))
		}
		items, more := next.page(v)
		return items, &next, more
	})
}

// page reads one page downwards and moves the place to its end. more says that there may
// be another.
func (p *auditPlace) page(v *view) (items []item[storage.AuditEntry], more bool) {
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
		for e := range v.scan(engine.Range{Table: t, To: p.before, Backward: true, Limit: min(p.left[i], engine.Page)}) {
			entries = append(entries, ringEntry{e, i})
		}
	}
	slices.SortFunc(entries, func(a, b ringEntry) int { return bytes.Compare(b.Key, a.Key) })
	entries = entries[:min(len(entries), engine.Page)]
	for _, e := range entries {
		record, err := readRecord[storage.AuditEntry](v, e.Entry)
		items = append(items, item[storage.AuditEntry]{record, about(rings[e.ring], e.Key, err)})
		p.left[e.ring]--
		p.before = slices.Clone(e.Key)
	}
	return items, len(entries) == engine.Page
}
