package masters

import (
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/q2master"
	"github.com/respawnd/respawnd/test/rig"
)

// quake2Host registers a server at a master and waits until it is listed.
func quake2Host(t *testing.T, d *rig.Running, master netip.AddrPort, form quake2.Form, status string) *q2master.Host {
	t.Helper()
	conn := rig.PacketsAt(t, netip.AddrPortFrom(rig.Home, 0), master)
	h := q2master.NewHost(conn, form, status)
	var serving sync.WaitGroup
	serving.Go(h.Serve)
	t.Cleanup(func() { _ = conn.Close(); serving.Wait() })
	rig.Must(t, h.Heartbeat(rig.Wait(t)))
	d.WaitFor("the server is listed", 0, rig.VerdictOn(h.Local(), "listed"))
	return h
}

// quake2Servers returns the list of a master as a browser gets it.
func quake2Servers(t *testing.T, master netip.AddrPort, form quake2.Form) []netip.AddrPort {
	t.Helper()
	conn, err := netclient.Dial(t.Context(), master.String())
	rig.Must(t, err)
	defer func() { _ = conn.Close() }()
	list, err := q2master.List(rig.Wait(t), conn, form)
	rig.Must(t, err)
	return list
}

// TestQuake2Master registers a server at the port of qr2, and finds it in all lists, after a
// restart too.
func TestQuake2Master(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	h := quake2Host(t, d, d.Address["qr2"], quake2.Two, `\hostname\The Inn\mapname\q2dm1\maxclients\8`+"\n"+`3 50 "Ann"`+"\n")
	want := []string{h.Local().String() + " The Inn q2dm1 quake2"}
	for _, service := range []string{"qr2", "q2master"} {
		if got := quake2Servers(t, d.Address[service], quake2.Two); !slices.Equal(got, []netip.AddrPort{h.Local()}) {
			t.Errorf("list at %s: %v", service, got)
		}
		wantQuakestat(t, "q2m", d.Address[service], "The Inn")
	}
	if got := listedBy(t, d, "quake2"); !slices.Equal(got, want) {
		t.Errorf("JSON %v, want %v", got, want)
	}
	raw, err := netclient.Get(t.Context(), d.Address["web"].String(), "/v1/q2?raw=2")
	if list, _, bad := quake2.ParseList(nil, append([]byte("\xff\xff\xff\xffservers "), raw...)); err != nil || bad != nil || !slices.Equal(list, []netip.AddrPort{h.Local()}) {
		t.Errorf("list over HTTP: %x, %v", raw, err)
	}
	if out := d.Cli("query", "quake2", h.Local().String()); !strings.Contains(out, "The Inn") || !strings.Contains(out, "Ann") {
		t.Errorf("query quake2:\n%s", out)
	}
	d.Stop()

	d = rig.Start(t, dir)
	if got := listedBy(t, d, "quake2"); !slices.Equal(got, want) {
		t.Errorf("JSON after a restart %v, want %v", got, want)
	}
	d.WaitFor("the restored server answered", 0, rig.VerdictOn(h.Local(), "listed"))
	d.Stop()
}

// TestQuake2Ports has a further port for a game.
func TestQuake2Ports(t *testing.T) {
	t.Parallel()
	at := rig.QuietLoopback(t)
	kingpin := netip.AddrPortFrom(at, 27902)
	d := rig.Start(t, t.TempDir(), rig.Variable("q2master.listen", netip.AddrPortFrom(at, 27903).String()), rig.Variable("q2master.ports", "kingpin=27902"))
	h := quake2Host(t, d, kingpin, quake2.Two, `\hostname\The Bar\mapname\rival\maxclients\8`+"\n")
	if got := quake2Servers(t, kingpin, quake2.Two); !slices.Equal(got, []netip.AddrPort{h.Local()}) {
		t.Errorf("list of Kingpin: %v", got)
	}
	if got := quake2Servers(t, d.Address["q2master"], quake2.Two); len(got) != 0 {
		t.Errorf("list of Quake 2: %v", got)
	}
	if got, want := listedBy(t, d, "kingpin"), []string{h.Local().String() + " The Bar rival quake2"}; !slices.Equal(got, want) {
		t.Errorf("JSON %v, want %v", got, want)
	}
	d.Stop()
}

// TestQuakeWorldMaster registers servers of QuakeWorld and HexenWorld.
func TestQuakeWorldMaster(t *testing.T) {
	t.Parallel()
	at := rig.QuietLoopback(t)
	d := rig.Start(t, t.TempDir(), rig.Variable("qwmaster.listen", netip.AddrPortFrom(at, 27000).String()))
	for _, tc := range []struct {
		game, mode string
		port       uint16
		form       quake2.Form
	}{
		{"quakeworld", "qwm", 27000, quake2.World},
		{"hexenworld", "hwm", 26900, quake2.Hexen},
	} {
		master := netip.AddrPortFrom(at, tc.port)
		h := quake2Host(t, d, master, tc.form, `\hostname\The Inn of `+tc.game+`\map\dm6\maxclients\8`+"\n"+`1 3 10 40 "Ann" "base" 0 0`+"\n")
		if got := quake2Servers(t, master, tc.form); !slices.Equal(got, []netip.AddrPort{h.Local()}) {
			t.Errorf("list of %s: %v", tc.game, got)
		}
		if got, want := listedBy(t, d, tc.game), []string{h.Local().String() + " The Inn of " + tc.game + " dm6 quakeworld"}; !slices.Equal(got, want) {
			t.Errorf("JSON %v, want %v", got, want)
		}
		if out := d.Cli("query", "quakeworld", h.Local().String()); !strings.Contains(out, "The Inn of "+tc.game) || !strings.Contains(out, "Ann") {
			t.Errorf("query of a server of %s:\n%s", tc.game, out)
		}
		wantQuakestat(t, tc.mode, master, "The Inn of "+tc.game)
	}
	if got := quake2Servers(t, d.Address["qr2"], quake2.World); len(got) != 1 {
		t.Errorf("list of QuakeWorld at qr2: %v", got)
	}
	d.Stop()
}
