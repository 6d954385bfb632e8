package commands

import (
	"context"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestSetsCollector(t *testing.T) {
	for name, tc := range map[string]struct {
		env  []string
		want bool
	}{
		"nothing":      {nil, false},
		"others":       {[]string{"PATH=/bin", "GOGCC=1", "XGOGC=1"}, false},
		"empty":        {[]string{"GOGC=", "GOMEMLIMIT="}, false},
		"percent":      {[]string{"PATH=/bin", "GOGC=100"}, true},
		"off":          {[]string{"GOGC=off"}, true},
		"memory limit": {[]string{"GOMEMLIMIT=512MiB"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := setsCollector(tc.env); got != tc.want {
				t.Errorf("setsCollector(%q) = %t, want %t", tc.env, got, tc.want)
			}
		})
	}
}

// mib is the number of bytes of a MiB.
const mib = 1 << 20

// free returns looks at memory: collections, free MiB, and MiB in use of each.
func free(of ...uint64) (looks []memory) {
	for l := range slices.Chunk(of, 3) {
		looks = append(looks, memory{cycles: l[0], free: l[1] * mib, inUse: l[2] * mib})
	}
	return looks
}

// recent returns looks at 100 MiB, of which so many bytes were allocated since the only
// collection. allocated are the bytes since the start at each look.
func recent(bytes uint64, allocated ...uint64) (looks []memory) {
	for _, a := range allocated {
		looks = append(looks, memory{cycles: 1, inUse: 100 * mib, allocated: a, recent: bytes})
	}
	return looks
}

// quietCollector returns a collector that reads memory, and does what set sets.
func quietCollector(read func() memory, set func(*collector)) collector {
	c := collector{read: read, share: func(int) {}, give: func() {}, release: func() {}}
	set(&c)
	return c
}

// Much garbage may pile up beside little memory, and a smaller share of it beside much.
func TestTrimShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		live := []uint64{0, 1, 8 * mib, 16 * mib, 16 * mib, 32 * mib, 1000 * mib, 20 * mib} // the first is read before a tick
		looks := 0
		var shares []int
		go trim(ctx, quietCollector(func() memory {
			looks++
			return memory{cycles: uint64(looks), live: live[min(looks, len(live))-1]}
		}, func(c *collector) { c.share = func(percent int) { shares = append(shares, percent) } }))
		time.Sleep(time.Duration(len(live)-1)*trimLook + 1)
		cancel()
		synctest.Wait()
		if want := []int{100, 50, 80}; !slices.Equal(shares, want) {
			t.Errorf("shares of garbage %v, want %v", shares, want)
		}
	})
}

func TestTrim(t *testing.T) {
	for name, tc := range map[string]struct {
		looks []memory
		given int
	}{
		"busy":             {free(1, 90, 100, 2, 90, 100, 3, 90, 100), 0},
		"quiet":            {free(1, 90, 100, 1, 90, 100), 1},
		"little":           {[]memory{{cycles: 1, free: trimFree - 1, inUse: mib}, {cycles: 1, free: trimFree - 1, inUse: mib}}, 0},
		"little of much":   {free(1, 20, 160, 1, 20, 160), 0},
		"quiet after work": {free(1, 90, 100, 2, 90, 100, 2, 90, 100), 1},

		"garbage":         {recent(90*mib, 0, trimQuiet), 1},
		"garbage grows":   {recent(90*mib, 0, trimQuiet+1), 0},
		"garbage settles": {recent(90*mib, 0, 90*mib, 90*mib), 1},
		"little garbage":  {recent(trimFree-1, 0, 0), 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				n, given, trimmed := 0, 0, false
				go trim(ctx, quietCollector(func() memory {
					m := tc.looks[min(n, len(tc.looks)-1)]
					if trimmed { // by a collection
						m.cycles, m.free, m.recent = m.cycles+1, 0, 0
					}
					n++
					return m
				}, func(c *collector) { c.give = func() { given++; trimmed = true } }))
				time.Sleep(time.Duration(len(tc.looks)-1)*trimLook + 1)
				cancel()
				synctest.Wait()
				if given != tc.given {
					t.Errorf("memory was returned %d times, want %d", given, tc.given)
				}
			})
		})
	}
}

// Memory that becomes free again soon after it was returned to the system is kept for a
// while: it will probably be needed again.
func TestTrimRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		var given []time.Duration
		go trim(ctx, quietCollector(func() memory { return memory{cycles: 1, free: 90 * mib, inUse: 100 * mib} }, func(c *collector) {
			c.give = func() { given = append(given, time.Since(begin)) }
		}))
		time.Sleep(trimLook + 2*trimRest + 1)
		cancel()
		synctest.Wait()
		if want := []time.Duration{trimLook, trimLook + trimRest, trimLook + 2*trimRest}; !slices.Equal(given, want) {
			t.Errorf("memory was returned at %v, want %v", given, want)
		}
	})
}

// Pages of the program are returned once the start is over, and again after a while.
func TestTrimReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		begin, looks := time.Now(), uint64(0)
		var released []time.Duration
		go trim(ctx, quietCollector(func() memory {
			looks++
			return memory{allocated: min(looks, 5) * mib} // busy for four seconds
		}, func(c *collector) { c.release = func() { released = append(released, time.Since(begin)) } }))
		time.Sleep(2 * releaseRest)
		cancel()
		synctest.Wait()
		if want := []time.Duration{5 * trimLook, 5*trimLook + releaseRest}; !slices.Equal(released, want) {
			t.Errorf("pages were returned at %v, want %v", released, want)
		}
	})
}

func TestReadMemory(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // only those that are asked for
	before := readMemory()
	debug.FreeOSMemory()
	collected := readMemory()
	garbage := make([]byte, 64*mib)
	after := readMemory()
	runtime.KeepAlive(garbage)
	if collected.cycles <= before.cycles || collected.inUse == 0 {
		t.Errorf("%+v after a collection, %+v before", collected, before)
	}
	for name, grown := range map[string]uint64{"allocated": after.allocated - collected.allocated, "recent": after.recent - collected.recent} {
		if grown < 63*mib || grown > 1<<40 {
			t.Errorf("%s grew by %d bytes with an allocation of 64 MiB", name, grown)
		}
	}
}
