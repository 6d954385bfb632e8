package master

import (
	"net/netip"
	"time"
)

// Heard is a listed server and when it last gave a sign of life.
type Heard struct {
	*Server
	Last time.Time
	// Revision is that of the record: one more than the newest before it, of all
	// servers. Unlike the serial it counts for hidden servers too.
	Revision uint64
}

// FindHeard is Find with the time at which the server was heard last.
func (r *Registry) FindHeard(public netip.AddrPort) (Heard, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.byPublicLocked(public)
	if !ok || e.game == &r.hidden {
		return Heard{}, false
	}
	return r.heard(e), true
}

// heard returns the record of an entry. r.mu is held.
func (r *Registry) heard(e *entry) Heard {
	return Heard{e.server, r.start.Add(time.Duration(e.seen.Load())), e.revision}
}

// All returns every listed server. The order is by game, else arbitrary.
func (r *Registry) All() []Heard {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make([]Heard, 0, len(r.bySource)-len(r.hidden.entries))
	for _, g := range r.games {
		out = r.allHeard(g, out)
	}
	return out
}

// Records returns every server, hidden ones included, and the newest revision:
// what is new later has a higher one.
func (r *Registry) Records() (list []Heard, revision uint64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	list = make([]Heard, 0, len(r.bySource))
	for _, g := range r.games {
		list = r.allHeard(g, list)
	}
	return r.allHeard(&r.hidden, list), r.revision
}

// Revision returns the newest revision.
func (r *Registry) Revision() uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.revision
}

// allHeard appends the servers of an index. r.mu is held.
func (r *Registry) allHeard(g *gameIndex, out []Heard) []Heard {
	for _, e := range g.entries {
		out = append(out, r.heard(e))
	}
	return out
}
