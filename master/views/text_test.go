package views

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTextIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for took, want := range map[time.Duration]time.Duration{
			0: 0, time.Millisecond: 20 * time.Millisecond, 5 * time.Millisecond: MaxHold, time.Second: MaxHold,
		} {
			v := &Text{Bytes: make([]byte, 3, 10)}
			began := time.Now()
			time.Sleep(took)
			v.Finish(began)
			v.Built = time.Now() // counted from here, for the test
			if v.Took != took || v.Size() != 10 {
				t.Errorf("took %v, %d bytes; want %v and 10", v.Took, v.Size(), took)
			}
			if want > 0 {
				time.Sleep(want - 1)
				if !v.Held() {
					t.Errorf("built in %v: not held for %v", took, want)
				}
				time.Sleep(time.Nanosecond)
			}
			if v.Held() {
				t.Errorf("built in %v: held for more than %v", took, want)
			}
		}
	})
}
