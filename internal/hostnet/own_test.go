package hostnet

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func TestLastOf(t *testing.T) {
	t.Parallel()
	for network, want := range map[string]string{
		"192.168.1.7/24": "192.168.1.255", "10.1.2.3/8": "10.255.255.255", "172.16.5.9/30": "172.16.5.11", "192.0.2.1/32": "192.0.2.1",
	} {
		if got := lastOf(netip.MustParsePrefix(network)); got.String() != want {
			t.Errorf("lastOf(%s) = %v, want %s", network, got, want)
		}
	}
}

// A long list of servers is compared with the networks of this machine without asking the
// system for each of them.
func TestBroadcasts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads, network := 0, "192.168.1.7/24"
		b := &Broadcasts{Read: func() []Address {
			reads++
			return []Address{
				{Prefix: netip.MustParsePrefix(network), Broadcast: true},
				{Prefix: netip.MustParsePrefix("10.0.0.1/31"), Broadcast: true},
				{Prefix: netip.MustParsePrefix("172.16.0.1/16")},
			}
		}}
		check := func(address string, want bool) {
			t.Helper()
			if got := b.Has(netip.MustParseAddr(address)); got != want {
				t.Errorf("Has(%s) = %v, want %v", address, got, want)
			}
		}
		for range 1000 {
			check("192.168.1.255", true)
			check("192.168.1.254", false)
		}
		check("10.0.0.1", false)       // a network of two
		check("172.16.255.255", false) // without broadcasts
		if reads != 1 {
			t.Errorf("the networks were read %d times, want once", reads)
		}
		network = "192.168.2.7/24"
		time.Sleep(broadcastsFor)
		check("192.168.1.255", false)
		check("192.168.2.255", true)
		if reads != 2 {
			t.Errorf("the networks were read %d times after a second, want twice", reads)
		}
	})
}
