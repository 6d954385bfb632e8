package netserve

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// Buckets are token buckets by key in a table of fixed size. If there is no
// room for a new key, the key with the fullest bucket (the one idle for
// longest) is dropped; a dropped key starts with a full bucket again. The slot
// of a key comes from a hash with a random key, so that no client can choose
// which key to push out. It is safe for concurrent use.
type Buckets[K comparable] struct {
	buckets
	seed maphash.Seed
}

// NewBuckets returns Buckets of n events, which refill within window, for a
// number of keys. n and window must be above 0.
func NewBuckets[K comparable](n int, window time.Duration, slots int) *Buckets[K] {
	interval := int64(window) / int64(n)
	return &Buckets[K]{newBuckets(interval, int64(n-1)*interval, slots), maphash.MakeSeed()}
}

// Take takes one event from the bucket of a key and reports whether there was one.
func (b *Buckets[K]) Take(key K, now time.Time) bool {
	_, ok := b.take(b.source(key), b.interval, 0, now)
	return ok
}

// Spend takes one event, or the rest of one, from the bucket of a key. It
// reports whether that was the last one.
func (b *Buckets[K]) Spend(key K, now time.Time) (last bool) {
	t := int64(now.Sub(b.start))
	set, s := b.slot(b.source(key), t)
	defer set.mu.Unlock()
	before := max(s.full, t)
	empty := t + b.ahead
	s.full = min(before+b.interval, empty+b.interval)
	return before <= empty && s.full > empty
}

// Empty reports whether the bucket of a key has no event left.
func (b *Buckets[K]) Empty(key K, now time.Time) (empty bool) {
	b.known(key, func(s *bucketSlot) { empty = s.full > int64(now.Sub(b.start))+b.ahead })
	return empty
}

// Fill fills the bucket of a key.
func (b *Buckets[K]) Fill(key K) { b.known(key, func(s *bucketSlot) { *s = bucketSlot{} }) }

// known calls do with the slot of a key that has one, the lock of its set held.
func (b *Buckets[K]) known(key K, do func(*bucketSlot)) {
	source := b.source(key)
	set := b.set(source)
	set.mu.Lock()
	defer set.mu.Unlock()
	if s := set.find(source); s.source == source {
		do(s)
	}
}

// source returns the keyed hash of a key, never 0.
func (b *Buckets[K]) source(key K) uint64 { return max(maphash.Comparable(b.seed, key), 1) }

// setSlots is the number of slots that share a lock and compete for room.
const setSlots = 8

// buckets is the table of Buckets and of a Limiter.
//
// The table takes its memory with the first event: a daemon has dozens of limits, and
// most of them belong to services that are not used.
//
// A bucket is kept as one number: the time at which it will be full again. An
// event moves that time on by one interval and is allowed as long as the time
// stays within the burst ahead of now.
type buckets struct {
	interval int64 // nanoseconds per event; 0: no limit
	ahead    int64 // maximum distance of "full again" from now before an event
	start    time.Time
	mask     uint64 // the number of sets, a power of two, less one
	sets     atomic.Pointer[[]bucketSet]
}

type bucketSet struct {
	mu    sync.Mutex
	slots [setSlots]bucketSlot
}

type bucketSlot struct {
	source uint64 // keyed hash; 0: free
	full   int64  // when the bucket is full again, in nanoseconds since start
}

func newBuckets(interval, ahead int64, slots int) buckets {
	sets := 1 << bits.Len(uint((slots+setSlots-1)/setSlots-1))
	return buckets{interval: interval, ahead: ahead, start: time.Now(), mask: uint64(sets - 1)}
}

func (b *buckets) set(source uint64) *bucketSet {
	sets := b.sets.Load()
	if sets == nil {
		sets = b.allocate()
	}
	return &(*sets)[source&b.mask]
}

// allocate makes the sets unless another goroutine did, and returns them.
func (b *buckets) allocate() *[]bucketSet {
	sets := make([]bucketSet, b.mask+1)
	if !b.sets.CompareAndSwap(nil, &sets) {
		return b.sets.Load()
	}
	return &sets
}

// slot returns the slot of source at t, with the lock of its set held.
func (b *buckets) slot(source uint64, t int64) (*bucketSet, *bucketSlot) {
	set := b.set(source)
	set.mu.Lock()
	s := set.find(source)
	if s.source != source {
		*s = bucketSlot{source: source, full: t}
	}
	return set, s
}

// take advances the time at which the bucket of source is full by cost. wait is
// how long the event has to wait for that; if it is longer than most, nothing
// is taken.
func (b *buckets) take(source uint64, cost int64, most time.Duration, now time.Time) (wait time.Duration, ok bool) {
	t := int64(now.Sub(b.start))
	set, s := b.slot(source, t)
	defer set.mu.Unlock()
	full := max(s.full, t) + cost
	wait = time.Duration(max(full-(t+b.ahead+b.interval), 0))
	if wait > most {
		return 0, false
	}
	s.full = full
	return wait, true
}

// find returns the slot of source, else the one to reuse for it.
func (s *bucketSet) find(source uint64) *bucketSlot {
	victim := &s.slots[0]
	for i := range s.slots {
		slot := &s.slots[i]
		if slot.source == source {
			return slot
		}
		if victim.source != 0 && (slot.source == 0 || slot.full < victim.full) {
			victim = slot
		}
	}
	return victim
}
