package master

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// runList runs the list in the test's bubble and returns the names of those
// that expired so far.
func runList(t *testing.T, r *Registry) (expired func() []uint32) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var gone []uint32
	done := make(chan error)
	go func() {
		done <- r.Run(ctx, func(s *Server) {
			mu.Lock()
			gone = append(gone, s.Key.Instance)
			mu.Unlock()
			r.Len() // takes the lock: the callback must not be called under it
			_, _ = r.Get(s.Key)
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return func() []uint32 {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return slices.Sorted(slices.Values(gone))
	}
}

func TestSilentServersLeaveAfterTheirLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry(Limits{Expire: time.Minute})
		expired := runList(t, r)
		put := func(n int, lifetime time.Duration, restored bool) Key {
			s := at("gmtest", source(n), uint32(n))
			s.Seen, s.Lifetime, s.Restored = time.Now(), lifetime, restored
			mustPut(t, r, s)
			return s.Key
		}
		put(1, 0, false)
		put(2, 10*time.Second, false)
		put(3, 5*time.Minute, true)
		touched := put(4, 0, false)

		steps := []struct {
			wait time.Duration
			gone []uint32
		}{
			{9 * time.Second, nil},
			{3 * time.Second, []uint32{2}},
			{46 * time.Second, []uint32{2}}, // 58 s
			{5 * time.Second, []uint32{1, 2}},
			{3 * time.Minute, []uint32{1, 2}}, // 243 s
			{time.Minute, []uint32{1, 2, 3}},  // 303 s
		}
		for i, step := range steps {
			for wait := step.wait; wait > 0; wait -= 50 * time.Second {
				time.Sleep(min(wait, 50*time.Second))
				if !r.Touch(touched, fromQR2, time.Now()) {
					t.Fatalf("step %d: the touched server left", i)
				}
			}
			if got := expired(); !slices.Equal(got, step.gone) {
				t.Fatalf("step %d: gone %v, want %v", i, got, step.gone)
			}
		}
		time.Sleep(time.Minute + sweepEvery)
		if got := expired(); len(got) != 4 || r.Len() != 0 {
			t.Errorf("at the end: gone %v, %d listed, want all gone", got, r.Len())
		}
	})
}

func TestExpiryWithinOneSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry(Limits{})
		expired := runList(t, r)
		time.Sleep(time.Second) // out of step with the sweeps
		s := at("gmtest", source(1), 1)
		s.Seen = time.Now()
		mustPut(t, r, s)
		time.Sleep(75*time.Second - time.Nanosecond)
		if got := expired(); len(got) != 0 {
			t.Fatalf("left before its lifetime was over")
		}
		time.Sleep(sweepEvery)
		if got := expired(); len(got) != 1 {
			t.Fatalf("still listed a sweep after its lifetime")
		}
	})
}

func TestNewsOfAServerAreASignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry(Limits{Expire: time.Minute})
		expired := runList(t, r)
		s := at("gmtest", source(1), 1)
		for range 4 {
			s.Seen = time.Now()
			mustPut(t, r, s)
			time.Sleep(50 * time.Second)
			r.Report(s.Key, Findings{Reached: ReachedDirect}) // findings are not reports
		}
		if got := expired(); len(got) != 0 {
			t.Fatal("left although it reported")
		}
		time.Sleep(12 * time.Second)
		if got := expired(); len(got) != 1 {
			t.Error("stays although it is silent")
		}
	})
}

// The time for a restored server to report again does not depend on the time of
// its last report.
func TestExpiryOfRestoredServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry(Limits{})
		expired := runList(t, r)
		s := at("gmtest", source(1), 1)
		s.Seen = time.Now().Add(-time.Hour)
		s.Lifetime, s.Restored = 3*time.Minute, true
		mustPut(t, r, s)
		time.Sleep(3*time.Minute - sweepEvery)
		if got := expired(); len(got) != 0 {
			t.Fatal("left before its lifetime was over")
		}
		time.Sleep(2 * sweepEvery)
		if got := expired(); len(got) != 1 {
			t.Fatal("still listed after its lifetime")
		}
	})
}

func TestServerHeardDuringTheSweepStays(t *testing.T) {
	r := NewRegistry(Limits{Expire: time.Minute})
	s := at("gmtest", source(1), 1)
	mustPut(t, r, s)
	if gone := r.expire(start.Add(time.Minute - 1)); len(gone) != 0 {
		t.Fatalf("expire just before the lifetime is over: %d gone", len(gone))
	}
	r.Touch(s.Key, fromQR2, start.Add(time.Second))
	if gone := r.expire(start.Add(time.Minute)); len(gone) != 0 {
		t.Fatalf("expire of a touched server: %d gone", len(gone))
	}
	if gone := r.expire(start.Add(61 * time.Second)); len(gone) != 1 || gone[0].Key != s.Key {
		t.Fatalf("expire: got %v, want the server", gone)
	}
}

func TestSweepRemovesUnusedNames(t *testing.T) {
	r := NewRegistry(Limits{})
	s := withRules(t, r, at("gmtest", source(1), 1), "kept", "1")
	mustPut(t, r, s)
	dropUnusedNames(r, 100)
	collect(t, r, 1)
	if n := r.Names([]string{"kept"}); n != s.Rules.Names() {
		t.Error("names in use are no longer shared")
	}
}
