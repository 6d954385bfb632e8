package netserve

import (
	"testing"
	"time"
)

func TestBuckets(t *testing.T) {
	b, now := NewBuckets[int](3, 30*time.Second, 8), time.Now()
	for i, want := range []bool{true, true, true, false} {
		if got := b.Take(1, now); got != want {
			t.Errorf("event %d: Take = %v, want %v", i+1, got, want)
		}
	}
	if !b.Empty(1, now.Add(10*time.Second-1)) || b.Empty(1, now.Add(10*time.Second)) || b.Empty(2, now) {
		t.Error("Empty is wrong before or after the third of the window that brings one event back")
	}
	for i, want := range []bool{false, false, true, false, false} {
		if got := b.Spend(2, now); got != want {
			t.Errorf("event %d: Spend = %v, want %v", i+1, got, want)
		}
	}
	if b.Empty(2, now.Add(10*time.Second)) {
		t.Error("events over the last one are counted")
	}
	b.Fill(2)
	if b.Empty(2, now) || b.Spend(2, now) {
		t.Error("a bucket that was filled is not full")
	}
}

func TestBucketsForgetTheFullest(t *testing.T) {
	b, now := NewBuckets[int](3, time.Hour, 1), time.Now()
	for range 3 {
		b.Spend(0, now)
	}
	for key := range 10 * setSlots {
		b.Spend(1+key, now)
	}
	if !b.Empty(0, now) {
		t.Error("single events of other keys pushed an empty bucket out")
	}
}
