package query

import (
	"net/netip"
	"testing"
)

func TestAskable(t *testing.T) {
	for a, want := range map[string]bool{
		"192.0.2.1:6500": true, "127.0.0.1:1": true, "10.0.0.255:6500": true,
		"192.0.2.1:0": false, "0.0.0.0:6500": false, "0.1.2.3:6500": false, "224.0.0.1:6500": false,
		"239.255.255.255:6500": false, "240.0.0.1:6500": false, "255.255.255.255:6500": false,
		"[2001:db8::1]:6500": false, "[::ffff:192.0.2.1]:6500": false,
	} {
		if got := Askable(netip.MustParseAddrPort(a)); got != want {
			t.Errorf("Askable(%s) = %v, want %v", a, got, want)
		}
	}
	if Askable(netip.AddrPort{}) {
		t.Error("the zero address is askable")
	}
}
