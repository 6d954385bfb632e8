package lists

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/test/rig"
)

// One address fills the list. A server of another address is listed, the newest
// of the full address is removed and informed, and both have a verdict.
func TestNewcomerGetsIntoAFullList(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("master.max_servers", "5"), rig.Variable("net.trusted", ""), rig.Variable("qr2.refuse", "true"))
	at := d.Address["qr2"]
	var crowd []*rig.Host
	for range 5 {
		crowd = append(crowd, rig.Register(t, d, "hostname", "One of many"))
	}
	more := rig.NewHost(t, at, "hostname", "One too many")
	more.MustHeartbeat("3")
	more.MustAnswer()
	wantReason(t, d, more.Address(), "qr2", verdicts.ListFull)

	newcomer := rig.NewHostAt(t, netip.MustParseAddrPort("127.9.0.1:0"), at, "hostname", "Newcomer")
	newcomer.MustRegister()
	newest := crowd[len(crowd)-1]
	if why := newest.Expect(qr2.KindRefusal); !strings.Contains(string(why), "full") {
		t.Errorf("the replaced server hears %q, want why", why)
	}
	wantReason(t, d, newest.Address(), "qr2", verdicts.Replaced)
	d.WaitFor("the verdict on the newcomer", 0, rig.VerdictOn(newcomer.Address(), verdicts.Listed.String()))
	rig.WantListed(t, d, append(crowd[:4:4], newcomer)...)
	if got := rig.Metric(t, d, "respawnd_master_replaced_total"); got != "1" {
		t.Errorf("respawnd_master_replaced_total = %s, want 1", got)
	}
	d.Stop()
}
