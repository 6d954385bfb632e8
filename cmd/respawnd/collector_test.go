package main

import (
	"context"
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

func TestTrim(t *testing.T) {
	const mib = 1 << 20
	for name, tc := range map[string]struct {
		looks []memory
		given int
	}{
		"busy":             {[]memory{{1, 90 * mib, 100 * mib}, {2, 90 * mib, 100 * mib}, {3, 90 * mib, 100 * mib}}, 0},
		"quiet":            {[]memory{{1, 90 * mib, 100 * mib}, {1, 90 * mib, 100 * mib}}, 1},
		"little":           {[]memory{{1, trimFree - 1, 1 * mib}, {1, trimFree - 1, 1 * mib}}, 0},
		"little of much":   {[]memory{{1, 20 * mib, 160 * mib}, {1, 20 * mib, 160 * mib}}, 0},
		"quiet after work": {[]memory{{1, 90 * mib, 100 * mib}, {2, 90 * mib, 100 * mib}, {2, 90 * mib, 100 * mib}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				n, given, trimmed := 0, 0, false
				go trim(ctx, func() memory {
					m := tc.looks[min(n, len(tc.looks)-1)]
					if trimmed { // by a collection
						m.cycles, m.free = m.cycles+1, 0
					}
					n++
					return m
				}, func() { given++; trimmed = true })
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

// Memory that is free again soon after it was returned stays for a while: what needs it
// will probably come again.
func TestTrimRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		var given []time.Duration
		go trim(ctx, func() memory { return memory{1, 90 << 20, 100 << 20} }, func() { given = append(given, time.Since(begin)) })
		time.Sleep(trimLook + 2*trimRest + 1)
		cancel()
		synctest.Wait()
		if want := []time.Duration{trimLook, trimLook + trimRest, trimLook + 2*trimRest}; !slices.Equal(given, want) {
			t.Errorf("memory was returned at %v, want %v", given, want)
		}
	})
}

func TestReadMemory(t *testing.T) {
	before := readMemory()
	debug.FreeOSMemory()
	if after := readMemory(); after.cycles <= before.cycles || after.inUse == 0 {
		t.Errorf("%+v after a collection, %+v before", after, before)
	}
}
