// Package meeting describes how two players behind routers reached each other, and
// counts that by the kinds of their routers.
//
// It negotiates nothing. The counts have no addresses; of an address only the kind of its router is
// kept, for an hour.
package meeting

import (
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Kind is how the router of a player maps ports, reduced to the cases that matter
// for a negotiation.
type Kind uint8

// The kinds.
const (
	Unknown   Kind = iota
	Open           // no NAT: the public address is the player's own
	Cone           // one port for all destinations
	Symmetric      // another port for each partner
	Strict         // only answers get in; whether it has one port for all destinations is not known

	Kinds = 5
)

// String returns the word for logs and metrics.
func (k Kind) String() string {
	return [Kinds]string{"unknown", "open", "cone", "symmetric", "strict"}[k]
}

// Way is how two players reached each other.
type Way uint8

// The ways.
const (
	Unreported Way = iota // they were introduced, and did not report how it went: usual before version 3
	Direct                // one of them has no NAT, or both are in one network
	Negotiated            // through the NATs of both
	Relayed               // through a relay of ours
	Failed                // not at all

	Ways = 5
)

// String returns the word for pages and metrics.
func (w Way) String() string {
	return [Ways]string{"unreported", "direct", "negotiated", "relayed", "failed"}[w]
}

// Outcome is the end of a negotiation between two players.
type Outcome struct {
	Game         string // name in the catalogue, empty for others
	KindA, KindB Kind   // of the player that joined, and of the host
	Way          Way
	Server       netip.AddrPort // where the host was seen from outside
}

// Count is the number of outcomes of a pair of kinds.
type Count struct {
	KindA, KindB Kind // the lower one first
	Way          Way
	Number       uint64
}

// Recorder counts outcomes. A nil Recorder counts nothing. It may be used
// concurrently.
type Recorder struct {
	Sightings

	mu        sync.Mutex // guards the fields below
	counts    [Kinds][Kinds][Ways]uint64
	since     time.Time // when counting began; zero: nothing was counted
	followers []func(Outcome)
}

// Saw keeps the kind of router of a player's address.
func (r *Recorder) Saw(a netip.Addr, k Kind) {
	if r != nil {
		r.See(a, k, time.Now())
	}
}

// Of returns the sightings of the router of an address within an hour.
func (r *Recorder) Of(a netip.Addr, now time.Time) (Sighting, bool) {
	if r == nil {
		return Sighting{}, false
	}
	return r.Sightings.Of(a, now)
}

// Known returns the number of addresses whose router is remembered.
func (r *Recorder) Known() int {
	if r == nil {
		return 0
	}
	return r.Len()
}

// Note counts an outcome and passes it to the followers.
func (r *Recorder) Note(o Outcome) {
	if r == nil {
		return
	}
	r.mu.Lock()
	if r.since.IsZero() {
		r.since = time.Now()
	}
	r.counts[min(o.KindA, o.KindB)][max(o.KindA, o.KindB)][o.Way]++
	followers := r.followers
	r.mu.Unlock()
	for _, f := range followers {
		f(o)
	}
}

// Follow calls f with each later outcome. f must not block.
func (r *Recorder) Follow(f func(Outcome)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.followers = append(slices.Clip(r.followers), f)
}

// Counts returns the numbers above 0, ordered by kinds and way.
func (r *Recorder) Counts() (list []Count) {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for a := range r.counts {
		for b := range r.counts[a] {
			for w, n := range r.counts[a][b] {
				if n > 0 {
					list = append(list, Count{Kind(a), Kind(b), Way(w), n})
				}
			}
		}
	}
	return list
}
