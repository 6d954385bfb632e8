package masters

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/q3master"
	"github.com/respawnd/respawnd/test/rig"
)

// quake3Servers returns the servers of a game and protocol as a browser of a service gets them.
func quake3Servers(t *testing.T, d *rig.Running, service string, r quake3.Request) []netip.AddrPort {
	t.Helper()
	conn, err := netclient.Dial(t.Context(), d.Address[service].String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	b := q3master.Browser{Packets: conn}
	list, err := b.List(rig.Wait(t), r)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// listedJSON returns the servers of a game as the pages' JSON has them.
func listedJSON(t *testing.T, d *rig.Running, game string) (list []rig.Shown) {
	t.Helper()
	b, err := netclient.Get(t.Context(), d.Address["web"].String(), "/api/v1/servers?game="+game)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Servers []struct {
			Name, Address, Map string
			Players            int
			MaxPlayers         int `json:"max_players"`
			Origin             string
		}
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		t.Fatal(err)
	}
	for _, s := range answer.Servers {
		if s.Origin != "quake3" {
			t.Errorf("origin %q", s.Origin)
		}
		list = append(list, rig.Shown{Name: s.Name, Address: s.Address, Map: s.Map, NumPlayers: s.Players, MaxPlayers: s.MaxPlayers})
	}
	return list
}

// TestQuake3AtGameSpysPort registers a server at the port of qr2 and gets the list there.
func TestQuake3AtGameSpysPort(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	conn := rig.PacketsAt(t, netip.AddrPortFrom(rig.Home, 0), d.Address["qr2"])
	h := q3master.NewHost(conn, "QuakeArena-1", "protocol", "71", "hostname", "The Inn", "gamename", "Quake3Arena", "clients", "1", "sv_maxclients", "16")
	var serving sync.WaitGroup
	serving.Go(h.Serve)
	defer func() { _ = conn.Close(); serving.Wait() }()
	if err := h.Heartbeat(rig.Wait(t)); err != nil {
		t.Fatal(err)
	}
	d.WaitFor("the server is listed", 0, rig.VerdictOn(h.Local(), "listed"))
	for _, service := range []string{"qr2", "q3master"} {
		if got := quake3Servers(t, d, service, quake3.Request{Protocol: 71, Empty: true}); !slices.Equal(got, []netip.AddrPort{h.Local()}) {
			t.Errorf("list of %s: %v", service, got)
		}
	}
	d.Stop()
}

// TestQuake3Master registers a server, finds it in all lists, and keeps it over a restart.
func TestQuake3Master(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	conn := rig.PacketsAt(t, netip.AddrPortFrom(rig.Home, 0), d.Address["q3master"])
	h := q3master.NewHost(conn, "DarkPlaces", "gamename", "Xonotic", "protocol", "3", "hostname", "The Inn", "mapname", "dance",
		"clients", "1", "sv_maxclients", "16", "gametype", "dm")
	h.Players = []quake3.Player{{Score: 12, Ping: 40, Name: []byte("Ann")}}
	var serving sync.WaitGroup
	serving.Go(h.Serve)
	defer func() { _ = conn.Close(); serving.Wait() }()
	if err := h.Heartbeat(rig.Wait(t)); err != nil {
		t.Fatal(err)
	}
	d.WaitFor("the server is listed", 0, rig.VerdictOn(h.Local(), "listed"))
	request := quake3.Request{Game: []byte("Xonotic"), Protocol: 3}
	if got := quake3Servers(t, d, "q3master", request); !slices.Equal(got, []netip.AddrPort{h.Local()}) {
		t.Errorf("list %v", got)
	}
	want := []rig.Shown{{Name: "The Inn", Address: h.Local().String(), Map: "dance", NumPlayers: 1, MaxPlayers: 16}}
	if got := listedJSON(t, d, "xonotic"); !slices.Equal(got, want) {
		t.Errorf("JSON %+v, want %+v", got, want)
	}
	if out := d.Cli("query", "quake3", h.Local().String()); !strings.Contains(out, "The Inn") || !strings.Contains(out, "Ann") {
		t.Errorf("query quake3:\n%s", out)
	}
	d.Stop()

	d = rig.Start(t, dir)
	if got := quake3Servers(t, d, "q3master", request); !slices.Equal(got, []netip.AddrPort{h.Local()}) {
		t.Errorf("list after a restart %v", got)
	}
	d.WaitFor("the restored server answered", 0, rig.VerdictOn(h.Local(), "listed"))
	d.Stop()
}
