package master

import (
	"net/netip"
	"time"
)

// Record is a listed server with its state in the list.
type Record struct {
	*Server
	LastSeen time.Time // when its last sign of life came
	// Revision is the number of the record, which grows with every new record
	// of any server. Unlike the serial it grows for hidden servers too.
	Revision uint64
}

// FindRecord is Find with the state of the server in the list.
func (r *Registry) FindRecord(public netip.AddrPort) (Record, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.byPublicLocked(public)
	if !ok || e.game == &r.hidden {
		return Record{}, false
	}
	return r.record(e), true
}

// record returns the record of an entry. r.mu is held.
func (r *Registry) record(e *entry) Record {
	seen := r.start.Add(time.Duration(e.seen.Load()))
	if e.server.Node != "" && !e.remote.orphaned {
		seen = time.Now() // its node would remove it
	}
	return Record{e.server, seen, e.revision}
}

// All returns every listed server. The order is by game, else arbitrary.
func (r *Registry) All() []Record {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make([]Record, 0, len(r.bySource)-len(r.hidden.entries))
	for _, g := range r.games {
		out = r.appendRecords(g, out)
	}
	return out
}

// Records returns every server of this node, hidden ones included, and the newest
// revision: later records have higher ones.
func (r *Registry) Records() (list []Record, revision uint64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	list = make([]Record, 0, len(r.bySource))
	for _, g := range r.games {
		list = r.appendOwn(g, list)
	}
	return r.appendOwn(&r.hidden, list), r.revision
}

// Revision returns the newest revision.
func (r *Registry) Revision() uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.revision
}

// appendRecords appends the servers of an index. r.mu is held.
func (r *Registry) appendRecords(g *gameIndex, out []Record) []Record {
	for _, e := range g.entries {
		out = append(out, r.record(e))
	}
	return out
}
