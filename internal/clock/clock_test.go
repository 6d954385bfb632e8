package clock

import (
	"testing"
	"time"
)

func TestJumpsAreSeenOnce(t *testing.T) {
	wall, running := time.Now(), time.Duration(0)
	w := NewWatch(wall)
	for _, step := range []struct {
		what          string
		passes, shown time.Duration
		steady        bool
	}{
		{"an hour", time.Hour, time.Hour, true},
		{"forward by a year", time.Hour, time.Hour + 365*24*time.Hour, false},
		{"an hour after", time.Hour, time.Hour, true},
		{"back by that year", time.Hour, time.Hour - 365*24*time.Hour, false},
		{"an hour after that", time.Hour, time.Hour, true},
		{"corrected little by little", time.Hour, time.Hour + slack, true},
		{"the other way", time.Hour, time.Hour - slack, true},
		{"a little too much", time.Hour, time.Hour + slack + 1, false},
		{"a little too much the other way", time.Hour, time.Hour - slack - 1, false},
		{"stood still", time.Hour, 0, false},
	} {
		wall, running = wall.Add(step.shown), running+step.passes
		jump, steady := w.Steady(wall, running)
		if steady != step.steady || jump != step.shown-step.passes {
			t.Errorf("%s: jump of %v, steady %v, want %v and %v", step.what, jump, steady, step.shown-step.passes, step.steady)
		}
	}
}

func TestTheRealClockIsSteady(t *testing.T) {
	began := time.Now()
	w := NewWatch(began)
	now := time.Now()
	if jump, steady := w.Steady(now, now.Sub(began)); !steady {
		t.Errorf("Steady() = a jump of %v", jump)
	}
}

// A jump farther than time.Duration reaches is one, too.
func TestFarJumps(t *testing.T) {
	for _, year := range []int{1, 1970, 2554, 9999} {
		w := NewWatch(time.Now())
		if _, steady := w.Steady(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC), time.Second); steady {
			t.Errorf("a jump to the year %d passes for steady", year)
		}
	}
}
