package hostnet

import (
	"net/netip"
	"testing"
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
