package natneg

import (
	"testing"
	"time"
)

func somePair(n int) pairID {
	return pairID{{public: [4]byte{192, 0, byte(n >> 8), byte(n)}}, {public: [4]byte{203, 0, 113, 1}}}
}

func TestMemory(t *testing.T) {
	const at = time.Hour
	for name, tc := range map[string]struct {
		lesson lesson
		after  time.Duration
		want   bool
	}{
		"met":                     {lessonNone, retryAfter, false},
		"again at once":           {lessonTried, retryAfter - 1, false},
		"again after five":        {lessonTried, retryAfter, true},
		"again within a minute":   {lessonTried, retryWithin - 1, true},
		"again after a minute":    {lessonTried, retryWithin, false},
		"failed":                  {lessonFailed, 0, true},
		"failed, last moment":     {lessonFailed, failedLife - 1, true},
		"failed, forgotten":       {lessonFailed, failedLife, false},
		"relayed, last moment":    {lessonRelayed, relayedLife - 1, true},
		"relayed, forgotten":      {lessonRelayed, relayedLife, false},
		"an unknown pair of many": {lessonFailed, 0, true},
	} {
		m := newMemory()
		m.note(at-1, somePair(2), lessonFailed)
		m.note(at-1, somePair(1), lessonFailed)
		m.note(at, somePair(1), tc.lesson)
		m.note(at, somePair(3), lessonFailed)
		if got := m.failed(at+tc.after, somePair(1)); got != tc.want {
			t.Errorf("%s: failed %v, want %v", name, got, tc.want)
		}
		if m.failed(at, somePair(4)) {
			t.Errorf("%s: another pair failed", name)
		}
	}
}

func TestMemoryForgetsTheOldest(t *testing.T) {
	m := newMemory()
	for i := range maxRemembered + 1 {
		m.note(time.Duration(i), somePair(i), lessonFailed)
	}
	m.note(0, somePair(2), lessonNone)
	if len(m.pairs) != maxRemembered-1 || m.failed(0, somePair(0)) || !m.failed(0, somePair(1)) || m.failed(0, somePair(2)) {
		t.Errorf("%d pairs, the first three are failed: %v, %v, %v; want %d, and the second only",
			len(m.pairs), m.failed(0, somePair(0)), m.failed(0, somePair(1)), m.failed(0, somePair(2)), maxRemembered-1)
	}
	m.note(2*relayedLife, somePair(7), lessonTried)
	if len(m.pairs) != 1 || m.oldest != m.newest {
		t.Errorf("%d pairs are kept after hours, want the new one", len(m.pairs))
	}
}

func TestPairOfEitherDirection(t *testing.T) {
	a := someSide("203.0.113.1", "192.168.1.5:6500", 1, 0, 5000, 5000, 5000)
	b := someSide("203.0.113.1", "192.168.1.4:6500", 1, 0, 7000, 7000, 7000)
	if pairOf(&a, &b) != pairOf(&b, &a) || pairOf(&a, &a) == pairOf(&a, &b) {
		t.Errorf("pairs %v, %v", pairOf(&a, &b), pairOf(&b, &a))
	}
}
