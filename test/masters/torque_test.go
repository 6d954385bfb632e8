package masters

import (
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/torquemaster"
)

// TestTorque registers a server, which browsers and the pages then have.
func TestTorque(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	conn := rig.PacketsAt(t, netip.AddrPortFrom(rig.Home, 0), d.Address["torquemaster"])
	h := torquemaster.NewHost(conn, "Base")
	var serving sync.WaitGroup
	serving.Go(h.Serve)
	t.Cleanup(func() { _ = conn.Close(); serving.Wait() })
	rig.Must(t, h.Heartbeat(rig.Wait(t)))
	d.WaitFor("the server is listed", 0, rig.VerdictOn(h.Local(), "listed"))
	browser, err := netclient.Dial(t.Context(), d.Address["torquemaster"].String())
	rig.Must(t, err)
	defer func() { _ = browser.Close() }()
	if got, err := torquemaster.List(rig.Wait(t), browser); err != nil || !slices.Equal(got, []netip.AddrPort{h.Local()}) {
		t.Errorf("list %v, %v", got, err)
	}
	wantQuakestat(t, "t2m", d.Address["torquemaster"])
	if got, want := listedBy(t, d, "torque"), []string{h.Local().String() + "   torque"}; !slices.Equal(got, want) {
		t.Errorf("JSON %v, want %v", got, want)
	}
}
