package masters

import (
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/tribesmaster"
)

// TestTribes registers a server, which browsers and the pages then have. After a restart it answers
// the questions again.
func TestTribes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	conn := rig.PacketsAt(t, netip.AddrPortFrom(rig.Home, 0), d.Address["tribesmaster"])
	h := tribesmaster.NewHost(conn, "Valley of the Winds")
	var serving sync.WaitGroup
	serving.Go(h.Serve)
	t.Cleanup(func() { _ = conn.Close(); serving.Wait() })
	rig.Must(t, h.Heartbeat(rig.Wait(t)))
	d.WaitFor("the server is listed", 0, rig.VerdictOn(h.Local(), "listed"))
	browser, err := netclient.Dial(t.Context(), d.Address["tribesmaster"].String())
	rig.Must(t, err)
	defer func() { _ = browser.Close() }()
	if got, err := tribesmaster.List(rig.Wait(t), browser); err != nil || !slices.Equal(got, []netip.AddrPort{h.Local()}) {
		t.Errorf("list %v, %v", got, err)
	}
	wantQuakestat(t, "tbm", d.Address["tribesmaster"])
	if got, want := listedBy(t, d, "tribes"), []string{h.Local().String() + "   tribes"}; !slices.Equal(got, want) {
		t.Errorf("JSON %v, want %v", got, want)
	}
	d.Stop()
	d = rig.Start(t, dir)
	d.WaitFor("the server is listed again", 0, rig.VerdictOn(h.Local(), "listed"))
	d.Stop()
}
