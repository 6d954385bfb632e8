package masters

import (
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/odamaster"
	"github.com/respawnd/respawnd/test/rig"
)

// TestOdamex registers a server, which launchers and the pages then have.
func TestOdamex(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	conn := rig.PacketsAt(t, netip.AddrPortFrom(rig.Home, 0), d.Address["odamaster"])
	h := odamaster.NewHost(conn, "The Inn")
	var serving sync.WaitGroup
	serving.Go(h.Serve)
	t.Cleanup(func() { _ = conn.Close(); serving.Wait() })
	rig.Must(t, h.Heartbeat(rig.Wait(t)))
	d.WaitFor("the server is listed", 0, rig.VerdictOn(h.Local(), "listed"))
	launcher, err := netclient.Dial(t.Context(), d.Address["odamaster"].String())
	rig.Must(t, err)
	defer func() { _ = launcher.Close() }()
	if got, err := odamaster.List(rig.Wait(t), launcher); err != nil || !slices.Equal(got, []netip.AddrPort{h.Local()}) {
		t.Errorf("list %v, %v", got, err)
	}
	if got, want := listedBy(t, d, "odamex"), []string{h.Local().String() + " The Inn MAP01 odamex"}; !slices.Equal(got, want) {
		t.Errorf("JSON %v, want %v", got, want)
	}
}
