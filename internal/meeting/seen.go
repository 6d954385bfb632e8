package meeting

import (
	"net/netip"
	"sync"
	"time"
)

// Bounds of the data kept about players.
const (
	maxSeen = 16_384    // addresses; the oldest is forgotten for a new one
	keepFor = time.Hour // since the last negotiation
)

// Sighting is the last observation of a public address in negotiations.
type Sighting struct {
	Kind Kind
	Time time.Time
}

// Sightings are the kinds of routers of public addresses, for those who ask about their
// own. They are kept for an hour, in memory only. The zero value is empty.
type Sightings struct {
	mu   sync.Mutex // guards the fields below
	seen map[netip.Addr]*sighting
	ring []*sighting // of maxSeen
	next int
}

type sighting struct {
	Sighting
	addr netip.Addr
}

// See keeps the kind of router of an address. An unknown kind does not replace a known
// one.
func (s *Sightings) See(a netip.Addr, k Kind, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.seen[a]; known != nil {
		if k == Unknown && now.Sub(known.Time) < keepFor {
			k = known.Kind
		}
		known.Sighting = Sighting{k, now}
		return
	}
	if s.seen == nil {
		s.seen = make(map[netip.Addr]*sighting)
	}
	one := &sighting{Sighting{k, now}, a}
	s.seen[a] = one
	if len(s.ring) < maxSeen {
		s.ring = append(s.ring, one)
		return
	}
	delete(s.seen, s.ring[s.next].addr)
	s.ring[s.next] = one
	s.next = (s.next + 1) % maxSeen
}

// Of returns the sightings of an address within an hour.
func (s *Sightings) Of(a netip.Addr, now time.Time) (Sighting, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.seen[a]
	if one == nil || now.Sub(one.Time) >= keepFor {
		return Sighting{}, false
	}
	return one.Sighting, true
}

// Len returns the number of addresses that are kept.
func (s *Sightings) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}
