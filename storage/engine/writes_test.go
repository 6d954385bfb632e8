package engine

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A write may end after the next one has begun.
func TestWritesThatOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Writes
		var took []time.Duration
		w.OnWrite(func(d time.Duration, _ error) { took = append(took, d) })
		first := w.Begin()
		time.Sleep(time.Second)
		second := w.Begin()
		time.Sleep(time.Second)
		failure := errors.New("full")
		w.End(first, failure)
		if _, err := w.LastWrite(); w.WriteUnderWay() != time.Second || !errors.Is(err, failure) {
			t.Errorf("after the first: a write for %v, the last ended with %v", w.WriteUnderWay(), err)
		}
		w.End(second, nil)
		w.Drop(w.Begin())
		w.End(0, nil)
		if at, err := w.LastWrite(); w.WriteUnderWay() != 0 || err != nil || !at.Equal(time.Now()) {
			t.Errorf("after all: a write for %v, the last ended at %v with %v", w.WriteUnderWay(), at, err)
		}
		if len(took) != 3 || took[0] != 2*time.Second || took[1] != time.Second || took[2] != 0 {
			t.Errorf("OnWrite() was called with %v", took)
		}
	})
}
