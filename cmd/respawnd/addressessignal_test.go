//go:build !windows

package main

import (
	"net/netip"
	"path/filepath"
	"syscall"
	"testing"
)

// Both spellings of the advertised address take effect on a reload.
func TestReloadOfTheAdvertisedAddress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "own.yaml")
	write := func(text string) {
		t.Helper()
		if err := writeAt(config, text); err != nil {
			t.Fatal(err)
		}
	}
	write("net: {advertise_as: [" + adverted + "]}\n")
	c := startChild(t, filepath.Join(dir, "data"), "--config", config)
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
		write(step.config)
		n := c.log.len()
		c.signal(syscall.SIGHUP)
		c.waitFor("the reload", n, reloaded)
		wantAt(step.want)
	}
	c.signal(syscall.SIGTERM)
	c.end()
}
