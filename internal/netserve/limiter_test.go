package netserve

import (
	"encoding/binary"
	"math"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// allowed returns how many of tries events in a row are allowed.
func allowed(l *Limiter, a netip.Addr, now time.Time, tries int) int {
	n := 0
	for range tries {
		if l.Allow(a, now) {
			n++
		}
	}
	return n
}

func TestLimiterAllowsBurstThenRate(t *testing.T) {
	l := NewLimiter(LimiterOptions{Rate: 2, Burst: 5})
	a, now := netip.MustParseAddr("192.0.2.1"), time.Now()
	for _, step := range []struct {
		after time.Duration
		want  int
	}{
		{0, 5},
		{499 * time.Millisecond, 0},
		{time.Millisecond, 1},
		{time.Second, 2},
		{time.Hour, 5},
	} {
		now = now.Add(step.after)
		if got := allowed(l, a, now, 20); got != step.want {
			t.Errorf("%v later %d events are allowed, want %d", step.after, got, step.want)
		}
	}
	if got := allowed(l, netip.MustParseAddr("192.0.2.2"), now, 20); got != 5 {
		t.Errorf("another source has %d events, want 5", got)
	}
}

func TestLimiterTakesManyEventsOrNone(t *testing.T) {
	l := NewLimiter(LimiterOptions{Rate: 100, Burst: 1000})
	a, now := netip.MustParseAddr("192.0.2.1"), time.Now()
	for _, step := range []struct {
		after time.Duration
		n     int
		want  bool
	}{
		{0, 1001, false},
		{0, math.MaxInt, false},
		{0, 0, true},
		{0, -1, true},
		{0, 1000, true},
		{0, 1, false},
		{time.Second, 101, false},
		{0, 100, true},
		{0, 1, false},
		{time.Hour, 999, true},
		{0, 2, false},
		{0, 1, true},
	} {
		now = now.Add(step.after)
		if got := l.AllowN(a, step.n, now); got != step.want {
			t.Errorf("%v later AllowN(%d) = %v, want %v", step.after, step.n, got, step.want)
		}
	}
	var none *Limiter
	if !none.AllowN(a, math.MaxInt, now) || !NewLimiter(LimiterOptions{}).AllowN(a, math.MaxInt, now) {
		t.Error("no limit is a limit")
	}
}

func TestLimiterOptionsAtTheirEdges(t *testing.T) {
	a := netip.MustParseAddr("192.0.2.1")
	for name, tc := range map[string]struct {
		opt  LimiterOptions
		want int // of 100 at once
	}{
		"no rate":                  {LimiterOptions{Burst: 1}, 100},
		"negative rate":            {LimiterOptions{Rate: -1, Burst: 1}, 100},
		"not a number":             {LimiterOptions{Rate: math.NaN(), Burst: 1}, 100},
		"burst from rate":          {LimiterOptions{Rate: 7.5}, 7},
		"burst from a small rate":  {LimiterOptions{Rate: 0.01}, 1},
		"burst of one":             {LimiterOptions{Rate: 50, Burst: 1}, 1},
		"very small rate":          {LimiterOptions{Rate: 1e-300, Burst: 3}, 3},
		"very large rate":          {LimiterOptions{Rate: 1e300, Burst: 3}, 3},
		"infinite":                 {LimiterOptions{Rate: math.Inf(1), Burst: 3}, 3},
		"very large burst":         {LimiterOptions{Rate: 1, Burst: math.MaxInt}, 100},
		"one slot":                 {LimiterOptions{Rate: 1, Burst: 3, Slots: 1}, 3},
		"prefixes that are no len": {LimiterOptions{Rate: 1, Burst: 3, Prefix4: 99, Prefix6: 999}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			if got := allowed(NewLimiter(tc.opt), a, time.Now(), 100); got != tc.want {
				t.Errorf("%+v allows %d of 100, want %d", tc.opt, got, tc.want)
			}
		})
	}
	if got := allowed(nil, a, time.Now(), 100); got != 100 {
		t.Errorf("a nil Limiter allows %d of 100, want 100", got)
	}
}

func TestLimiterCountsPrefixesAsOneSource(t *testing.T) {
	for name, tc := range map[string]struct {
		opt  LimiterOptions
		a, b string
		same bool
	}{
		"IPv4 neighbours":           {LimiterOptions{}, "192.0.2.1", "192.0.2.2", false},
		"IPv4 and mapped":           {LimiterOptions{}, "192.0.2.1", "::ffff:192.0.2.1", true},
		"IPv4 in a /24":             {LimiterOptions{Prefix4: 24}, "192.0.2.1", "192.0.2.254", true},
		"IPv4 beside a /24":         {LimiterOptions{Prefix4: 24}, "192.0.2.1", "192.0.3.1", false},
		"IPv6 in a /64":             {LimiterOptions{}, "2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true},
		"IPv6 beside a /64":         {LimiterOptions{}, "2001:db8:1:2::1", "2001:db8:1:3::1", false},
		"IPv6 in a /48":             {LimiterOptions{Prefix6: 48}, "2001:db8:1:2::1", "2001:db8:1:3::1", true},
		"IPv6 in a /96":             {LimiterOptions{Prefix6: 96}, "2001:db8::1", "2001:db8::2", true},
		"IPv6 whole":                {LimiterOptions{Prefix6: 128}, "2001:db8::1", "2001:db8::2", false},
		"IPv6 with another zone":    {LimiterOptions{}, "fe80::1%eth0", "fe80::1%eth1", true},
		"IPv4 and low IPv6":         {LimiterOptions{Prefix6: 128}, "0.0.0.1", "::1", false},
		"IPv4 and IPv6 wildcards":   {LimiterOptions{}, "0.0.0.0", "::", false},
		"IPv6 wildcard and its /64": {LimiterOptions{}, "::", "::1", true},
	} {
		t.Run(name, func(t *testing.T) {
			tc.opt.Rate, tc.opt.Burst = 1, 1
			l, now := NewLimiter(tc.opt), time.Now()
			l.Allow(netip.MustParseAddr(tc.a), now)
			if got := !l.Allow(netip.MustParseAddr(tc.b), now); got != tc.same {
				t.Errorf("%s and %s are one source: %v, want %v", tc.a, tc.b, got, tc.same)
			}
		})
	}
}

// numbered returns distinct IPv4 addresses.
func numbered(i int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 0x0a000000+uint32(i))
	return netip.AddrFrom4(b)
}

func TestFullLimiterForgetsTheFullestBucket(t *testing.T) {
	l := NewLimiter(LimiterOptions{Rate: 1, Burst: 100, Slots: setSlots}) // one set
	now := time.Now()
	for i := range setSlots { // later ones are emptier
		allowed(l, numbered(i), now, 10*(i+1))
	}
	if got := allowed(l, numbered(setSlots), now, 200); got != 100 {
		t.Errorf("a new source has %d events, want 100", got)
	}
	for i := setSlots - 1; i > 0; i-- {
		if got, want := allowed(l, numbered(i), now, 200), 100-10*(i+1); got != want {
			t.Errorf("remembered source %d has %d events left, want %d", i, got, want)
		}
	}
}

func TestLimiterTableDoesNotGrow(t *testing.T) {
	for slots, want := range map[int]int{0: DefaultLimiterSlots, 1: 8, 8: 8, 9: 16, 1000: 1024, 1024: 1024, 1025: 2048} {
		l := NewLimiter(LimiterOptions{Rate: 1, Slots: slots})
		if l.sets.Load() != nil {
			t.Errorf("Slots %d: the table has memory before the first event", slots)
		}
		l.Allow(numbered(1), time.Now())
		if got := len(*l.sets.Load()) * setSlots; got != want {
			t.Errorf("Slots %d makes %d slots, want %d", slots, got, want)
		}
	}
	l, now := NewLimiter(LimiterOptions{Rate: 1, Burst: 1, Slots: 64}), time.Now()
	i := 0
	if got := testing.AllocsPerRun(10_000, func() {
		i++
		l.Allow(numbered(i), now)
	}); got != 0 {
		t.Errorf("Allow for new sources allocates %v times, want 0", got)
	}
}

func TestLimiterIsExactUnderConcurrentUse(t *testing.T) {
	l := NewLimiter(LimiterOptions{Rate: 1, Burst: 500})
	a, now := netip.MustParseAddr("192.0.2.1"), time.Now()
	var total atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { total.Add(int64(allowed(l, a, now, 400))) })
	}
	wg.Wait()
	if got := total.Load(); got != 500 {
		t.Errorf("%d of 1600 concurrent events were allowed, want 500", got)
	}
}

// TestLimiterIsATokenBucket compares one source with the textbook bucket.
func TestLimiterIsATokenBucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.SampledFrom([]float64{0.5, 1, 4, 1000}).Draw(t, "rate")
		burst := rapid.IntRange(1, 20).Draw(t, "burst")
		l := NewLimiter(LimiterOptions{Rate: rate, Burst: burst})
		token := time.Duration(float64(time.Second) / rate)
		full := time.Duration(burst) * token
		level, now := full, time.Now()
		for range rapid.IntRange(1, 100).Draw(t, "events") {
			after := time.Duration(rapid.Int64Range(0, int64(2*token)).Draw(t, "after"))
			now = now.Add(after)
			level = min(full, level+after)
			want := level >= token
			if want {
				level -= token
			}
			if got := l.Allow(netip.IPv6Loopback(), now); got != want {
				t.Fatalf("Allow = %v, want %v", got, want)
			}
		}
	})
}
