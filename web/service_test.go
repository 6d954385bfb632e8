package web

import (
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/respawnd/respawnd/internal/service"
)

// words is the address of a service without a listener.
type words string

func (w words) String() string { return string(w) }

func TestPublicServices(t *testing.T) {
	got := publicServices([]service.Opened{
		{Name: "qr2", Title: "Servers", Address: netip.MustParseAddrPort("0.0.0.0:27900")},
		{Name: "gpcm", Title: "Sign-in", Address: &net.TCPAddr{Port: 29900}},
		{Name: "relay", Title: "Relay", Address: words("ports 40000-40999")},
		{Name: "quickmatch", Title: "Off", Address: words("")},
		{Name: "probe", Address: netip.MustParseAddrPort("0.0.0.0:40000")},
	})
	want := []Service{{"qr2", "Servers", "UDP 27900"}, {"gpcm", "Sign-in", "TCP 29900"}, {"relay", "Relay", "ports 40000-40999"}}
	if !slices.Equal(got, want) {
		t.Errorf("services %q, want %q", got, want)
	}
}
