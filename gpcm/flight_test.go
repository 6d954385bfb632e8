package gpcm

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/presence"
)

func TestFlight(t *testing.T) {
	began := time.Now()
	const size = 100 // bytes of each event on the wire
	// Five events, one per second, of which the second and the fourth are in the mailbox.
	loaded := func() *flight {
		f := new(flight)
		for n := range 5 {
			f.written += size
			f.add(presence.Message{Kind: presence.Text, Text: fmt.Sprint(n)}, uint64(n%2*(n+1)), f.written, began.Add(time.Duration(n)*time.Second))
		}
		return f
	}
	for name, tc := range map[string]struct {
		unacknowledged int
		known          bool
		before         time.Duration // since began
		left           string
		ids            []uint64
	}{
		"all are acknowledged":           {0, true, time.Hour, "", []uint64{2, 4}},
		"all but one byte":               {1, true, time.Hour, "4", []uint64{2, 4}},
		"two are not":                    {2 * size, true, time.Hour, "34", []uint64{2}},
		"none are":                       {5 * size, true, time.Hour, "01234", nil},
		"more than was written":          {9 * size, true, time.Hour, "01234", nil},
		"acknowledged, but just written": {0, true, 2 * time.Second, "34", []uint64{2}},
		"not known":                      {0, false, 3 * time.Second, "4", []uint64{2, 4}},
		"not known, just written":        {0, false, -1, "01234", nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := loaded()
			f.acknowledge(tc.unacknowledged, tc.known)
			ids, left := f.arrived(began.Add(tc.before)), ""
			for _, s := range f.events {
				left += s.event.(presence.Message).Text
			}
			if left != tc.left || !slices.Equal(ids, tc.ids) {
				t.Errorf("arrived() = %v and leaves %q, want %v and %q", ids, left, tc.ids, tc.left)
			}
			if want := len(left) * (itemOverhead + 1); f.weight != want {
				t.Errorf("weight %d, want %d", f.weight, want)
			}
		})
	}
	t.Run("what was known stays known", func(t *testing.T) {
		f := loaded()
		f.acknowledge(2*size, true)
		f.acknowledge(0, false) // closed meanwhile
		f.acknowledge(4*size, true)
		f.arrived(began.Add(time.Hour))
		if len(f.events) != 2 {
			t.Errorf("%d events are left, want 2", len(f.events))
		}
	})
}
