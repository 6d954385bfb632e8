package netserve

import (
	"encoding/binary"
	"hash/maphash"
	"net/netip"
	"time"
)

// Defaults and bounds of LimiterOptions.
const (
	// DefaultLimiterSlots is the number of sources remembered: about 1 MiB of memory.
	DefaultLimiterSlots = 1 << 16
	// MaxLimiterSlots is the most sources a Limiter may remember.
	MaxLimiterSlots = 1 << 24
	// DefaultPrefix4 and DefaultPrefix6 are the prefix lengths that count as one source.
	DefaultPrefix4 = 32
	DefaultPrefix6 = 64
)

// LimiterOptions are the limits of a Limiter.
type LimiterOptions struct {
	// Rate is the number of events per second of each source in the long run; 0
	// or less: everything is allowed.
	Rate float64
	// Burst is the number of events that a source may have at once after a
	// pause; 0 means one second's worth, at least 1.
	Burst int
	// Slots is the number of sources remembered, rounded up to a power of two;
	// 0 means DefaultLimiterSlots, at most MaxLimiterSlots.
	Slots int
	// Prefix4 and Prefix6 are the lengths in bits of the address prefixes that
	// count as one source; 0 means DefaultPrefix4 and DefaultPrefix6.
	Prefix4, Prefix6 int
}

// Limiter bounds the rate of events per source prefix with token buckets in a
// table of fixed size; see Buckets. It is safe for concurrent use.
type Limiter struct {
	buckets
	seed     maphash.Seed
	mask4    uint64 // over the last 64 bits of the mapped address
	hi6, lo6 uint64
}

// NewLimiter returns a Limiter with all buckets full. Its memory, 17 bytes per
// slot, is allocated here and does not grow.
func NewLimiter(opt LimiterOptions) *Limiter {
	if !(opt.Rate > 0) { // true for NaN too
		return &Limiter{}
	}
	const longest = float64(24 * time.Hour) // per event, and for a burst below
	interval := int64(max(min(float64(time.Second)/opt.Rate, longest), 1))
	burst := opt.Burst
	if burst < 1 {
		burst = int(max(min(opt.Rate, 1<<20), 1))
	}
	ahead := int64(min(float64(burst-1)*float64(interval), 1<<30*float64(time.Second)))
	p4 := min(orDefault(opt.Prefix4, DefaultPrefix4), 32)
	p6 := min(orDefault(opt.Prefix6, DefaultPrefix6), 128)
	return &Limiter{
		buckets: newBuckets(interval, ahead, min(orDefault(opt.Slots, DefaultLimiterSlots), MaxLimiterSlots)),
		seed:    maphash.MakeSeed(),
		mask4:   ^uint64(0) << (32 - p4),
		hi6:     ^uint64(0) << max(64-p6, 0),
		lo6:     ^uint64(0) << min(128-p6, 64),
	}
}

// PerMinute returns a Limiter of n events per minute and source, all of which may
// come at once; 0: everything is allowed. Rate and Burst of opt are not used.
func PerMinute(n int, opt LimiterOptions) *Limiter {
	opt.Rate, opt.Burst = float64(n)/time.Minute.Seconds(), n
	return NewLimiter(opt)
}

// Allow takes one event from the bucket of a's prefix and reports whether there
// was one. IPv4-mapped addresses count as IPv4; zero addresses are one source.
// now should come from time.Now. A nil Limiter allows everything.
func (l *Limiter) Allow(a netip.Addr, now time.Time) bool { return l.AllowN(a, 1, now) }

// AllowN takes n events at once, or none. More than the burst are never
// allowed; n of 0 or less always is.
func (l *Limiter) AllowN(a netip.Addr, n int, now time.Time) bool {
	if l == nil || l.interval == 0 || n <= 0 {
		return true
	}
	if int64(n) > (1<<62)/l.interval {
		return false
	}
	_, ok := l.take(l.source(a), int64(n)*l.interval, 0, now)
	return ok
}

// Reserve takes one event from the bucket of a's prefix, or from its future
// content. wait is how long the event has to wait for that, at most the given
// time; if it would be longer, nothing is taken and ok is false. The events of
// one prefix become due in the order in which they were reserved.
func (l *Limiter) Reserve(a netip.Addr, now time.Time, most time.Duration) (wait time.Duration, ok bool) {
	if l == nil || l.interval == 0 {
		return 0, true
	}
	return l.take(l.source(a), l.interval, most, now)
}

// source returns the keyed hash of a's prefix, never 0.
func (l *Limiter) source(a netip.Addr) uint64 {
	b := a.As16()
	hi, lo := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	if a.Is4() || a.Is4In6() {
		lo &= l.mask4
	} else {
		hi, lo = hi&l.hi6, lo&l.lo6
	}
	binary.BigEndian.PutUint64(b[:8], hi)
	binary.BigEndian.PutUint64(b[8:], lo)
	return max(maphash.Bytes(l.seed, b[:]), 1)
}
