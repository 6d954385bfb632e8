package main

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/qr2"
)

// One address fills the list. A server of another address is listed, the newest
// of the full address is removed and informed, and both have a verdict.
func TestNewcomerGetsIntoAFullList(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir(), variable("master.max_servers", "5"), variable("net.trusted", ""), variable("qr2.refuse", "true"))
	at := d.address["qr2"]
	var crowd []*host
	for range 5 {
		crowd = append(crowd, register(t, d, "hostname", "One of many"))
	}
	more := newHost(t, at, "hostname", "One too many")
	more.heartbeat("3")
	more.answer()
	wantReason(t, d, more.address(), "qr2", verdicts.ListFull)

	newcomer := newHostAt(t, netip.MustParseAddrPort("127.9.0.1:0"), at, "hostname", "Newcomer")
	newcomer.register()
	newest := crowd[len(crowd)-1]
	if why := newest.expect(qr2.KindRefusal); !strings.Contains(string(why), "full") {
		t.Errorf("the replaced server hears %q, want why", why)
	}
	wantReason(t, d, newest.address(), "qr2", verdicts.Replaced)
	d.waitFor("the verdict on the newcomer", 0, verdictOn(newcomer.address(), verdicts.Listed.String()))
	wantListed(t, d, append(crowd[:4:4], newcomer)...)
	if got := metric(t, d, "respawnd_master_replaced_total"); got != "1" {
		t.Errorf("respawnd_master_replaced_total = %s, want 1", got)
	}
	d.stop()
}
