package netserve

import (
	"sync/atomic"
	"time"
)

// Quota is Buckets whose size may change. The zero value allows everything. It is safe for
// concurrent use.
type Quota[K comparable] struct{ current atomic.Pointer[sized[K]] }

// sized are Buckets with the arguments of their constructor.
type sized[K comparable] struct {
	*Buckets[K]
	n      int
	window time.Duration
}

// Set allows each key n events within window; 0: any number. slots is that of NewBuckets.
// If n or window changes, every key starts with a full bucket.
func (q *Quota[K]) Set(n int, window time.Duration, slots int) {
	switch now := q.current.Load(); {
	case n <= 0:
		q.current.Store(nil)
	case now == nil || now.n != n || now.window != window:
		q.current.Store(&sized[K]{NewBuckets[K](n, window, slots), n, window})
	}
}

// Take takes one event from the bucket of a key and reports whether there was one.
func (q *Quota[K]) Take(key K, now time.Time) bool {
	b := q.current.Load()
	return b == nil || b.Take(key, now)
}
