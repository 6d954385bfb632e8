//go:build !windows

package main

import (
	"net/netip"
	"testing"
)

// Both spellings of the advertised address take effect on a reload.
func TestReloadOfTheAdvertisedAddress(t *testing.T) {
	t.Parallel()
	c := startConfigured(t, "net: {advertise_as: ["+adverted+"]}\n")
	h := register(t, &c.running, "hostname", "One")
	wantAt := func(given string) {
		t.Helper()
		wantOnly(t, "an outsider", browse(t, &c.running).askAs(outsider), netip.AddrPortFrom(netip.MustParseAddr(given), h.address().Port()))
	}
	wantAt(adverted)
	for _, step := range []struct{ config, want string }{
		{"net: {advertise_as: ['127.0.0.0/8=203.0.113.6', 203.0.113.7]}\n", "203.0.113.6"},
		{"zanmaster: {advertise_as: 203.0.113.8}\n", "203.0.113.8"},
		{"net: {advertise_as: '10.0.0.0/8=203.0.113.6'}\n", h.address().Addr().String()},
	} {
		c.reload(step.config, reloaded)
		wantAt(step.want)
	}
	c.stop()
}
