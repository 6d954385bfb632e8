package views

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// counted is a Latest whose serial a test sets; its values count the builds.
func counted(serial *uint64, during func()) *Latest[int] {
	return NewLatest(func() uint64 { return *serial }, func(last *int) *int {
		during()
		n := 1
		if last != nil {
			n += *last
		}
		return &n
	})
}

func TestLatestIsFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serial := uint64(0)
		l := counted(&serial, func() {})
		if l.Last() != nil {
			t.Errorf("Last at first: got %d, want nil", *l.Last())
		}
		for _, step := range []struct {
			what  string
			wait  time.Duration
			moves uint64
			want  int
		}{
			{"first", 0, 0, 1},
			{"again", 0, 0, 1},
			{"just before it is old", MaxAge - 1, 0, 1},
			{"old", 1, 0, 2},
			{"changed", 0, 1, 3},
			{"unchanged", 0, 0, 3},
		} {
			time.Sleep(step.wait)
			serial += step.moves
			if got := *l.Now(); got != step.want || *l.Last() != got {
				t.Errorf("%s: got number %d, Last %d, want %d", step.what, got, *l.Last(), step.want)
			}
		}
	})
}

func TestLatestIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serial := uint64(0)
		l := counted(&serial, func() {})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { l.Run(ctx) })
		l.Now()
		time.Sleep(KeptFor - 1)
		l.Now()
		time.Sleep(KeptFor)
		if l.Last() == nil {
			t.Error("a value is forgotten although it was asked for within the time")
		}
		time.Sleep(KeptFor)
		if l.Last() != nil {
			t.Error("a value is kept that was not asked for")
		}
		if got := *l.Now(); got != 1 {
			t.Errorf("after that: got number %d, want one that is made as the first", got)
		}
		stop()
		running.Wait()
	})
}

// A held value lacks changes until its time is over, then none.
func TestLatestIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hold = MaxAge / 2
		serial := uint64(0)
		l := counted(&serial, func() {})
		l.Hold(func(made *int) time.Duration {
			if *made < 2 {
				return 0
			}
			return hold
		})
		for _, step := range []struct {
			what  string
			wait  time.Duration
			moves uint64
			want  int
		}{
			{"first", 0, 0, 1},
			{"changed, the first is not held", 0, 1, 2},
			{"changed", 0, 1, 2},
			{"just before its time is over", hold - 1, 1, 2},
			{"over", 1, 0, 3},
			{"over, unchanged", hold, 0, 3},
			{"old", hold, 0, 4},
		} {
			time.Sleep(step.wait)
			serial += step.moves
			if got := *l.Now(); got != step.want {
				t.Errorf("%s: got number %d, want %d", step.what, got, step.want)
			}
		}
	})
}

// A running build may lack a change that was made before the call.
func TestLatestHasEarlierChanges(t *testing.T) {
	var serial atomic.Uint64
	var making atomic.Int32
	l := NewLatest(serial.Load, func(*uint64) *uint64 {
		if making.Add(1) > 1 {
			t.Error("two are made at a time")
		}
		defer making.Add(-1)
		n := serial.Load()
		return &n
	})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				want := serial.Add(1)
				if got := *l.Now(); got < want {
					t.Errorf("got the list at serial %d, want at least %d", got, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestChangeDuringTheWorkMakesTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serial := uint64(0)
		l := counted(&serial, func() { serial++ })
		if a, b := *l.Now(), *l.Now(); a != 1 || b != 2 {
			t.Errorf("got numbers %d and %d, want 1 and 2: the first may lack the change", a, b)
		}
	})
}
