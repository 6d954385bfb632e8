package masters

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/utmaster"
)

// epicHost opens a game server that reports to the daemon, with GameSpy's port if
// spied.
func epicHost(t *testing.T, d *rig.Running, spied bool) *utmaster.Host {
	t.Helper()
	to := d.Address["utmaster"]
	conn, err := netclient.DialTCP(rig.Wait(t), to.String())
	if err != nil {
		t.Fatal(err)
	}
	h := &utmaster.Host{Version: rig.UtVersion, Word: rig.UtWord, Mode: utmaster.Mode{GameSpy: spied}}
	for i := range h.Sockets {
		if i != utmaster.GameSpySocket || spied {
			h.Sockets[i] = rig.PacketsAt(t, netip.AddrPortFrom(rig.Home, 0), to)
		}
	}
	if err := h.Open(rig.Wait(t), conn); err != nil {
		t.Fatal(err)
	}
	return h
}

// epicList requests the list of Unreal Tournament 2004.
func epicList(t *testing.T, d *rig.Running, filters ...utmaster.Filter) []utmaster.Entry {
	t.Helper()
	conn, err := netclient.DialTCP(rig.Wait(t), d.Address["utmaster"].String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	b := utmaster.Browser{Version: rig.UtVersion, Word: rig.UtWord}
	list, err := b.List(rig.Wait(t), conn, filters...)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestUTMaster lists a server through the whole daemon, and finds it in the list, on
// the pages and in JSON, until its connection ends.
func TestUTMaster(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	h := epicHost(t, d, true)
	ports, err := h.Ports(rig.Wait(t))
	if err != nil {
		t.Fatal(err)
	}
	game, spy := h.Sockets[utmaster.GameSocket].Local(), h.Sockets[utmaster.GameSpySocket].Local()
	if want := (utmaster.Ports{Query: h.Sockets[utmaster.QuerySocket].Local().Port(), Game: game.Port(), GameSpy: spy.Port()}); ports != want {
		t.Errorf("ports %+v, want %+v", ports, want)
	}
	if err := h.Report(&utmaster.State{
		Port: int32(game.Port()), Name: "The Inn", Map: "DM-Rankin", GameType: "xDeathMatch", Players: 1, Max: 16,
		List: []utmaster.Player{{ID: 1, Name: "Ann", Ping: 40, Score: 12}},
	}); err != nil {
		t.Fatal(err)
	}
	d.WaitFor("the server is listed", 0, rig.VerdictOn(spy, "listed"))
	list := epicList(t, d, utmaster.Filter{Key: "gametype", Value: "xDeathMatch"})
	if len(list) != 1 || list[0].Addr != rig.Home || list[0].GamePort != game.Port() || list[0].QueryPort != ports.Query || list[0].Name != "The Inn" {
		t.Errorf("list %+v", list)
	}
	if list := epicList(t, d, utmaster.Filter{Key: "gametype", Value: "xCTFGame"}); len(list) != 0 {
		t.Errorf("list of another type %+v", list)
	}
	b, err := netclient.Get(t.Context(), d.Address["web"].String(), "/api/v1/servers?game=ut2004")
	if err != nil {
		t.Fatal(err)
	}
	var shown struct {
		Servers []struct {
			Name, Address, Map, Origin, Query, Join string
			Players                                 int
			GamePort                                int `json:"game_port"`
		}
	}
	if err := json.Unmarshal(b, &shown); err != nil {
		t.Fatal(err)
	}
	if len(shown.Servers) != 1 {
		t.Fatalf("JSON %s", b)
	}
	if s := shown.Servers[0]; s.Name != "The Inn" || s.Address != spy.String() || s.Origin != "epic" || s.Query != "gs1" || s.Players != 1 ||
		s.GamePort != int(game.Port()) || s.Map != "DM-Rankin" {
		t.Errorf("JSON %+v", s)
	}
	page, err := netclient.Get(t.Context(), d.Address["web"].String(), "/servers?game=ut2004")
	if err != nil || !strings.Contains(string(page), "The Inn") {
		t.Errorf("page: %v", err)
	}
	d.Cli("motd", "set", "ut2004", "Welcome")
	conn, err := netclient.DialTCP(rig.Wait(t), d.Address["utmaster"].String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	browser := utmaster.Browser{Version: rig.UtVersion, Word: rig.UtWord}
	if text, err := browser.MOTD(rig.Wait(t), conn); text != "Welcome" || err != nil {
		t.Errorf("message of the day %q, %v", text, err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	d.WaitFor("the server left", 0, rig.VerdictOn(spy, "left"))
	if list := epicList(t, d); len(list) != 0 {
		t.Errorf("list %+v", list)
	}
	d.Stop()
}

// TestUTMasterRestart checks that a server stays listed while the daemon restarts.
func TestUTMasterRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	h := epicHost(t, d, false)
	if _, err := h.Ports(rig.Wait(t)); err != nil {
		t.Fatal(err)
	}
	game, asked := h.Sockets[utmaster.GameSocket].Local(), h.Sockets[utmaster.QuerySocket].Local()
	if err := h.Report(&utmaster.State{Port: int32(game.Port()), Name: "The Inn"}); err != nil {
		t.Fatal(err)
	}
	d.WaitFor("the server is listed", 0, rig.VerdictOn(asked, "listed"))
	d.Stop()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	d = rig.Start(t, dir)
	if list := epicList(t, d); len(list) != 1 || list[0].Name != "The Inn" || list[0].GamePort != game.Port() || list[0].QueryPort != asked.Port() {
		t.Errorf("list after a restart %+v", list)
	}
	d.Stop()
}

// TestUTMasterQstat lets a server browser of the time list a server.
func TestUTMasterQstat(t *testing.T) {
	rig.Qstat(t)
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("utmaster.list_pause", "1s")) // on a busy machine qstat may read much later than it could
	h := epicHost(t, d, false)
	if _, err := h.Ports(rig.Wait(t)); err != nil {
		t.Fatal(err)
	}
	game := h.Sockets[utmaster.GameSocket].Local()
	if err := h.Report(&utmaster.State{Port: int32(game.Port()), Name: "The Inn", Map: "DM-Rankin", GameType: "xDeathMatch", Max: 16}); err != nil {
		t.Fatal(err)
	}
	d.WaitFor("the server is listed", 0, rig.VerdictOn(h.Sockets[utmaster.QuerySocket].Local(), "listed"))
	for query, want := range map[string]string{"": "1 servers", ",gametype=xDeathMatch": "1 servers", ",gametype=xCTFGame": "0 servers"} {
		out, ok := rig.Quakestat(t, []string{want}, "-ut2004m,cdkey="+utmaster.DefaultKey+query, d.Address["utmaster"].String())
		if !ok {
			t.Errorf("quakestat %s, want %s:\n%s", query, want, out)
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	d.Stop()
}
