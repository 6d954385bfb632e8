package unproved

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func TestChallenges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, other := NewChallenges(), NewChallenges()
		a := netip.MustParseAddrPort("192.0.2.1:6500")
		about := []byte("instance")
		first := c.Current(a, about, time.Now())
		for name, got := range map[string]uint64{
			"address":   c.Current(netip.MustParseAddrPort("192.0.2.2:6500"), about, time.Now()),
			"port":      c.Current(netip.MustParseAddrPort("192.0.2.1:6501"), about, time.Now()),
			"instance":  c.Current(a, []byte("another"), time.Now()),
			"key":       other.Current(a, about, time.Now()),
			"slot":      c.Current(a, about, time.Now().Add(Slot)),
			"last slot": c.Last(a, about, time.Now()),
		} {
			if got == first {
				t.Errorf("another %s: got the same challenge %x", name, got)
			}
		}
		time.Sleep(Slot - 1)
		if got := c.Current(a, about, time.Now()); got != first {
			t.Errorf("at the end of the slot: got %x, want %x", got, first)
		}
		time.Sleep(Slot)
		if got := c.Last(a, about, time.Now()); got != first {
			t.Errorf("last challenge in the next slot: got %x, want %x", got, first)
		}
		time.Sleep(time.Nanosecond)
		if got := c.Last(a, about, time.Now()); got == first {
			t.Error("the challenge is good two slots later")
		}
	})
}

func TestUsedChallengeIsVoid(t *testing.T) {
	c, now := NewChallenges(), time.Now()
	a := netip.MustParseAddrPort("192.0.2.1:6500")
	current, last := c.Current(a, nil, now), c.Last(a, nil, now)
	c.Use(a, nil)
	if got := c.Current(a, nil, now); got == current || got == last {
		t.Errorf("challenge after its use: got %x again", got)
	}
	if got := c.Last(a, nil, now); got == current || got == last {
		t.Errorf("last challenge after the use: got %x again", got)
	}
}
