package relay

import (
	"sync/atomic"
	"time"
)

// budget bounds bytes per second: a bucket that holds one second's worth. The zero
// budget is full. It may be used concurrently.
type budget struct {
	full atomic.Int64 // when the bucket will be full again, a time as in take
}

// burst is how much of a rate may come at once.
const burst = time.Second

// take takes bytes and reports whether there were so many. now is the time since a
// fixed moment.
func (b *budget) take(now time.Duration, bytes, rate int) bool {
	cost := int64(bytes) * int64(time.Second) / int64(rate)
	for {
		before := b.full.Load()
		after := max(before, int64(now)) + cost
		if after > int64(now+burst) {
			return false
		}
		if b.full.CompareAndSwap(before, after) {
			return true
		}
	}
}
