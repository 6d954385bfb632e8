package views

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// text is a minimal list.
type text struct {
	Sending
	size int
}

func (t *text) Size() int { return t.size }

func newCache(views, bytes, sending int) *Cache[string, text, *text] {
	return New[string, text, *text](Options{Views: views, Bytes: bytes, SendingBytes: sending})
}

func always(*text) bool { return true }

// sized returns a build of a list of n bytes.
func sized(n int) func() (*text, error) {
	return func() (*text, error) { return &text{size: n}, nil }
}

func get(t *testing.T, c *Cache[string, text, *text], key string, n int) *text {
	t.Helper()
	v, err := c.Get(key, always, sized(n))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestListIsKeptForAsLongAsItIsFresh(t *testing.T) {
	c := newCache(10, 1<<20, 1<<20)
	first := get(t, c, "a", 1)
	if get(t, c, "a", 1) != first {
		t.Error("a fresh list was made again")
	}
	if get(t, c, "b", 1) == first {
		t.Error("another key got the same list")
	}
	again, err := c.Get("a", func(*text) bool { return false }, sized(2))
	if err != nil || again == first || get(t, c, "a", 1) != again {
		t.Error("a list that is too old was not replaced")
	}
}

func TestOneBuildsWhileOthersWait(t *testing.T) {
	c := newCache(10, 1<<20, 1<<20)
	var builds int // modified by one goroutine at a time, which the race detector checks
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := c.Get("a", always, func() (*text, error) { builds++; return sized(10)() })
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if builds != 1 {
		t.Errorf("%d builds, want 1", builds)
	}
}

func TestBuildsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(10, 1<<20, 1<<20)
		most := cap(c.turns)
		var building, built atomic.Int32
		var wg sync.WaitGroup
		for range 2*most + 1 {
			wg.Go(func() {
				_, err := c.InTurn(func() (*text, error) {
					building.Add(1)
					time.Sleep(time.Second)
					building.Add(-1)
					built.Add(1)
					return sized(1)()
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		for _, want := range []int{most, most, 1} {
			synctest.Wait()
			if got := int(building.Load()); got != want {
				t.Errorf("%d builds at a time after %d were done, want %d", got, built.Load(), want)
			}
			time.Sleep(time.Second)
		}
		wg.Wait()
		if len(c.turns) != 0 {
			t.Errorf("%d turns were not given back", len(c.turns))
		}
	})
}

func TestGetAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(10, 1<<20, 1<<20)
		expensive := errors.New("too expensive")
		builds := 0
		ask := func() error {
			_, err := c.Get("a", always, func() (*text, error) { builds++; return nil, expensive })
			return err
		}
		for range 3 {
			if err := ask(); !errors.Is(err, expensive) {
				t.Errorf("Get = %v, want %v", err, expensive)
			}
		}
		time.Sleep(RefuseFor)
		_ = ask()
		if builds != 2 {
			t.Errorf("%d builds, want 2", builds)
		}
		time.Sleep(RefuseFor)
		get(t, c, "a", 1)
	})
}

func TestKeptListsAreBounded(t *testing.T) {
	t.Run("in number", func(t *testing.T) {
		c := newCache(3, 1<<20, 1<<20)
		a := get(t, c, "a", 1)
		get(t, c, "b", 1)
		get(t, c, "c", 1)
		get(t, c, "a", 1)
		get(t, c, "d", 1) // b goes
		if len(c.slots) != 3 || c.recent.Len() != 3 || c.bytes != 3 || get(t, c, "a", 1) != a {
			t.Errorf("%d lists of %d bytes, want 3 of 3 with the one used again", len(c.slots), c.bytes)
		}
		if _, ok := c.slots["b"]; ok {
			t.Error("the one unused for longest is still there")
		}
	})
	t.Run("in bytes", func(t *testing.T) {
		c := newCache(100, 1000, 1<<20)
		for _, step := range []struct {
			key           string
			n             int
			bytes, number int
		}{
			{"a", 400, 400, 1},
			{"b", 600, 1000, 2},
			{"c", 1, 601, 2},
			{"huge", 5000, 5000, 1}, // the one used last stays
			{"a", 1, 1, 1},
		} {
			get(t, c, step.key, step.n)
			if c.bytes != step.bytes || len(c.slots) != step.number {
				t.Errorf("after %s: %d lists of %d bytes, want %d of %d", step.key, len(c.slots), c.bytes, step.number, step.bytes)
			}
		}
	})
	t.Run("and told", func(t *testing.T) {
		var views, bytes int
		c := New[string, text, *text](Options{Views: 2, Bytes: 100, Kept: func(v, b int) { views, bytes = v, b }})
		for i, key := range []string{"a", "b", "c"} {
			get(t, c, key, i+1)
		}
		if views != 2 || bytes != 5 {
			t.Errorf("told of %d lists of %d bytes, want 2 of 5", views, bytes)
		}
	})
}

// TestListForgottenWhileItIsMade: the list is returned and not cached.
func TestListForgottenWhileItIsMade(t *testing.T) {
	c := newCache(1, 1000, 1<<20)
	v, err := c.Get("a", always, func() (*text, error) {
		get(t, c, "b", 7)
		return sized(5)()
	})
	if err != nil || v.size != 5 || c.bytes != 7 || len(c.slots) != 1 {
		t.Errorf("got %v, %v; %d lists of %d bytes kept, want 1 of 7", v, err, len(c.slots), c.bytes)
	}
}

// TestListForgottenWhileOthersWaitForIt: they share the slot, and need not
// build the list again, one after the other.
func TestListForgottenWhileOthersWaitForIt(t *testing.T) {
	c := newCache(1, 1000, 1<<20)
	place := c.slot("a")
	get(t, c, "b", 7)
	made := &text{size: 5}
	c.keep(place, made)
	if got := place.current.Load(); got != made {
		t.Errorf("those who wait find %v, want the list", got)
	}
	if c.bytes != 7 || len(c.slots) != 1 {
		t.Errorf("%d lists of %d bytes kept, want 1 of 7", len(c.slots), c.bytes)
	}
}

func TestListsThatAreBeingSentAreBounded(t *testing.T) {
	c := newCache(10, 1<<20, 1000)
	half, rest, more := &text{size: 500}, &text{size: 500}, &text{size: 1}
	for _, v := range []*text{half, rest, half} {
		if err := c.Begin(v); err != nil {
			t.Fatalf("Begin: %v", err)
		}
	}
	if err := c.Begin(more); !errors.Is(err, ErrBusy) {
		t.Errorf("Begin of a byte too much = %v, want %v", err, ErrBusy)
	}
	c.End(half)
	if err := c.Begin(more); !errors.Is(err, ErrBusy) {
		t.Errorf("Begin while the first is sent once more = %v, want %v", err, ErrBusy)
	}
	c.End(half)
	if err := c.Begin(more); err != nil {
		t.Errorf("Begin after the first was sent = %v, want nil", err)
	}
	c.End(more)
	c.End(rest)
	if got := c.sending.Load(); got != 0 {
		t.Errorf("%d bytes are being sent, want 0", got)
	}
}
