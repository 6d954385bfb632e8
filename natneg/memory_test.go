package natneg

import (
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/meeting"
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
		"a router":                {lessonEach, 0, false},
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
	m.note(2*routerLife, somePair(7), lessonTried)
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

// Players who were relayed without a failure before are no pair that cannot meet.
func TestMemoryOfAFirstMeeting(t *testing.T) {
	m := newMemory()
	m.note(time.Hour, somePair(1), lessonRelayed)
	if m.failed(time.Hour, somePair(1)) || len(m.pairs) != 0 {
		t.Errorf("a pair relayed at its first meeting is remembered: %v", m.pairs)
	}
}

func TestMemoryOfRouters(t *testing.T) {
	const at = time.Hour
	public := [4]byte{203, 0, 113, 1}
	for name, tc := range map[string]struct {
		lesson lesson
		after  time.Duration
		want   meeting.Kind
	}{
		"one port":             {lessonOnce, routerLife - 1, meeting.Cone},
		"another for each":     {lessonEach, routerLife - 1, meeting.Symmetric},
		"forgotten":            {lessonEach, routerLife, meeting.Unknown},
		"nothing is known yet": {lessonNone, 0, meeting.Unknown},
	} {
		m := newMemory()
		m.note(at, routerOf(public), tc.lesson)
		if got := m.router(at+tc.after, public); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
		if got := m.router(at, [4]byte{203, 0, 113, 2}); got != meeting.Unknown {
			t.Errorf("%s: another address is %v", name, got)
		}
	}
}

// A failure is one of two players with their kinds of routers.
func TestPairOfOtherRouters(t *testing.T) {
	a := someSide("203.0.113.1", "192.168.1.5:6500", 1, 0, 5000, 5000, 5000)
	b := someSide("203.0.113.2", "192.168.1.4:6500", 1, 0, 7000, 7000, 7000)
	before := pairOf(&a, &b)
	a.tests.passed.add(int(testNear)) // it returned no test before, perhaps because that was lost
	if pairOf(&a, &b) != before {
		t.Error("the pair is another one, and its routers are the same")
	}
	a.tests.passed.add(int(testPort))
	if pairOf(&a, &b) == before || pairOf(&a, &b) != pairOf(&b, &a) {
		t.Error("the pair is the same, and the router of a player is another")
	}
}
