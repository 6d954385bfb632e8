//go:build !windows

package lists

import (
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/test/rig"
)

// Both spellings of the advertised address take effect on a reload.
func TestReloadOfTheAdvertisedAddress(t *testing.T) {
	t.Parallel()
	c := rig.StartConfigured(t, "net: {advertise_as: ["+rig.Adverted+"]}\n")
	h := rig.Register(t, &c.Running, "hostname", "One")
	wantAt := func(given string) {
		t.Helper()
		rig.WantOnly(t, "an outsider", rig.Browse(t, &c.Running).AskAs(rig.Outsider), netip.AddrPortFrom(netip.MustParseAddr(given), h.Address().Port()))
	}
	wantAt(rig.Adverted)
	for _, step := range []struct{ config, want string }{
		{"net: {advertise_as: ['127.0.0.0/8=203.0.113.6', 203.0.113.7]}\n", "203.0.113.6"},
		{"zanmaster: {advertise_as: 203.0.113.8}\n", "203.0.113.8"},
		{"net: {advertise_as: '10.0.0.0/8=203.0.113.6'}\n", h.Address().Addr().String()},
	} {
		c.Reload(step.config, rig.Reloaded)
		wantAt(step.want)
	}
	c.Stop()
}
