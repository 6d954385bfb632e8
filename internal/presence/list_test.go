package presence

import (
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

func TestSignedInFrom(t *testing.T) {
	w := newWorld(t, 3)
	for id, from := range map[int]string{1: "[::ffff:192.0.2.1]:1000", 2: "[2001:db8::1]:1000"} {
		p := newPeer(id)
		p.from = netip.MustParseAddrPort(from)
		w.enter(t, p, KickProfile)
	}
	w.enter(t, newPeer(3), KickProfile)
	for _, tt := range []struct {
		id   storage.ProfileID
		from netip.Addr
		want bool
	}{
		{1, netip.MustParseAddr("192.0.2.1"), true},
		{1, netip.MustParseAddr("192.0.2.2"), false},
		{2, netip.MustParseAddr("2001:db8::1"), true},
		{2, netip.MustParseAddr("192.0.2.1"), false},
		{3, netip.Addr{}, false},
		{4, netip.MustParseAddr("192.0.2.1"), false},
	} {
		if got := w.SignedInFrom(t.Context(), tt.id, tt.from); got != tt.want {
			t.Errorf("SignedInFrom(%d, %v) = %v, want %v", tt.id, tt.from, got, tt.want)
		}
	}
}
