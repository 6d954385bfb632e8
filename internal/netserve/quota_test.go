package netserve

import (
	"testing"
	"time"
)

func TestQuota(t *testing.T) {
	var q Quota[int]
	now := time.Now()
	taken := func(key int) (n int) {
		for n < 10 && q.Take(key, now) {
			n++
		}
		return n
	}
	for i, step := range []struct{ set, key, want int }{
		{-1, 1, 10}, // the zero value
		{3, 1, 3},
		{3, 1, 0}, // the same again
		{3, 2, 3},
		{2, 1, 2},
		{0, 1, 10},
	} {
		if step.set >= 0 {
			q.Set(step.set, time.Minute, 64)
		}
		if n := taken(step.key); n != step.want {
			t.Errorf("step %d: %d events, want %d", i, n, step.want)
		}
	}
	q.Set(3, time.Minute, 64)
	taken(1)
	now = now.Add(20 * time.Second)
	if n := taken(1); n != 1 {
		t.Errorf("%d events after a third of the window, want 1", n)
	}
}
