package web

import (
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
)

// words is the address of a service without a listener.
type words string

func (w words) String() string { return string(w) }

func TestPublicServices(t *testing.T) {
	got := publicServices([]service.Opened{
		{Name: "qr2", Title: "Servers", Address: netip.MustParseAddrPort("0.0.0.0:27900"), Connect: "set it", Nouns: []noun.Noun{noun.Zandronum}},
		{Name: "gpcm", Title: "Sign-in", Address: &net.TCPAddr{Port: 29900}},
		{Name: "relay", Title: "Relay", Address: words("ports 40000-40999")},
		{Name: "quickmatch", Title: "Off", Address: words("")},
		{Name: "probe", Address: netip.MustParseAddrPort("0.0.0.0:40000")},
	})
	want := []Service{
		{"qr2", "Servers", "UDP 27900", "set it", true},
		{Name: "gpcm", What: "Sign-in", Port: "TCP 29900"},
		{Name: "relay", What: "Relay", Port: "ports 40000-40999"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("services %+v, want %+v", got, want)
	}
}
