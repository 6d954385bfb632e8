package uplink

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/unproved"
)

// Terms are those on which servers are waited for.
type Terms struct {
	Wrong int  // wrong answers until a server is no longer waited for
	Last  bool // the challenge of the slot before is right too
}

// Asked is a server that has not answered its challenge yet.
type Asked[K comparable, V any] struct {
	Key     K
	Source  netip.AddrPort
	Expires time.Time
	Number  uint64 // its challenge
	Of      V      // what else the master keeps

	about string
	wrong int
}

// Waiting holds the servers that have not answered their challenge yet. It is not safe for
// concurrent use.
type Waiting[K comparable, V any] struct {
	*unproved.Table[K, *Asked[K, V]]
	challenges *unproved.Challenges
	terms      Terms
}

// NewWaiting returns an empty Waiting.
func NewWaiting[K comparable, V any](t Terms) Waiting[K, V] {
	return Waiting[K, V]{unproved.NewTable[K, *Asked[K, V]](), unproved.NewChallenges(), t}
}

// Hear begins to wait for a server, or continues. Its challenge stays the same until it is
// answered, for about a minute, unless about changes. fresh reports that it was not waited
// for. At most limit servers are; gone is the number of others that made way.
func (w *Waiting[K, V]) Hear(k K, source netip.AddrPort, about string, limit int, now time.Time) (v *Asked[K, V], fresh bool, gone int) {
	v, ok := w.Get(k)
	if !ok {
		gone = w.Evict(source, limit, nil)
		v = &Asked[K, V]{Key: k, Source: source}
		w.Add(k, source, v)
	}
	if !ok || v.about != about {
		v.Number, v.about = w.challenges.Current(source, []byte(about), now), about
	}
	return v, !ok, gone
}

// Answer takes an answer of a server, of which right reports whether it is that to a
// challenge, and returns the server; nil: it is not waited for. A right answer ends the
// waiting, and so do too many wrong ones.
func (w *Waiting[K, V]) Answer(k K, right func(number uint64) bool, now time.Time) (v *Asked[K, V], dropped Drop) {
	v, ok := w.Get(k)
	switch {
	case !ok || !now.Before(v.Expires):
		return nil, Unexpected
	case right(v.Number), w.terms.Last && right(w.challenges.Last(v.Source, []byte(v.about), now)):
		w.finish(v)
		return v, NotDropped
	}
	if v.wrong++; v.wrong >= w.terms.Wrong {
		w.finish(v)
	}
	return v, Wrong
}

// finish ends the waiting for a server, whose challenge is no longer accepted.
func (w *Waiting[K, V]) finish(v *Asked[K, V]) {
	w.Remove(v.Key)
	w.challenges.Use(v.Source, []byte(v.about))
}

// Expire removes the servers that did not answer in time.
func (w *Waiting[K, V]) Expire(now time.Time) (gone []*Asked[K, V]) {
	for k, v := range w.All() {
		if !now.Before(v.Expires) {
			w.Remove(k)
			gone = append(gone, v)
		}
	}
	return gone
}
