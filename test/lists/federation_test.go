package lists

import (
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/test/rig"
)

// masterStates returns the states of the other masters by name.
func masterStates(t testing.TB, d *rig.Running) map[string]operator.OtherMaster {
	t.Helper()
	all := make(map[string]operator.OtherMaster)
	for line := range strings.Lines(d.Cli("federation", "status", "--json")) {
		var m operator.OtherMaster
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		all[m.Name] = m
	}
	return all
}

// hostileMaster answers every datagram with its own address, private ones, one that
// nothing is at, and the same again without an end.
func hostileMaster(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: rig.Home.AsSlice()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buf := make([]byte, 2048)
		for {
			_, from, err := conn.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			lies := []netip.AddrPort{
				netip.MustParseAddrPort("127.0.0.1:27960"), netip.MustParseAddrPort("10.1.2.3:27960"), netip.MustParseAddrPort("0.0.0.0:1"),
				netip.MustParseAddrPort("224.0.0.1:27960"), netip.MustParseAddrPort("192.0.2.77:53"), netip.MustParseAddrPort("192.0.2.77:27960"),
			}
			p := quake3.AppendLists(nil, lies, false)[0]
			p = p[:len(p)-len("\\EOT\x00\x00\x00")]
			for range 30_000 {
				_, _ = conn.WriteToUDPAddrPort(p, from)
			}
		}
	}()
	return conn.LocalAddr().String()
}

// TestFederation feeds one list from another daemon in five protocols, from a scripted
// list, and from a hostile master.
func TestFederation(t *testing.T) {
	t.Parallel()
	at := make(map[string]string) // address by protocol
	var static []string
	for _, p := range []string{"gs3", "a2s", "zandronum", "quake3", "ssq"} {
		game := rig.TestGame
		switch p {
		case "a2s":
			game = "cstrike"
		case "ssq":
			game = "ut"
		case "quake3":
			game = "openarena"
		}
		at[p] = probetest.Listen(t, probetest.Arena(game).Speaks(p)).Address().String()
		static = append(static, p+" "+at[p])
	}
	friend := rig.Start(t, t.TempDir(), rig.Variable("servers.static", strings.Join(static, ",")))
	for _, p := range static {
		rig.Appears(t, friend, strings.Fields(p)[1])
	}
	at["gs1"] = probetest.Listen(t, probetest.Arena(rig.TestGame).Speaks("gs1")).Address().String()
	old := rig.OldList(t, "HA6zkS", netip.MustParseAddrPort(at["gs1"]))
	masters := []string{
		"q3 " + friend.Address["q3master"].String() + " game=openarena protocol=71 name=lan-q3",
		"zandronum " + friend.Address["zanmaster"].String() + " name=lan-zandronum",
		"valve " + friend.Address["valvemaster"].String() + ` filter=\gamedir\cstrike name=lan-valve`,
		"serverbrowse " + friend.Address["serverbrowse"].String() + " game=" + rig.TestGame + " name=lan-browse",
		"gamespy " + old + " game=" + rig.TestGame + " enctype=2 name=lan-old",
		"respawnd http://" + friend.Address["web"].String() + " game=ut name=lan-friends",
		"q3 " + hostileMaster(t) + " protocol=1 name=hostile",
	}
	d := rig.Start(t, t.TempDir(), rig.Variable("federation.masters", strings.Join(masters, ",")), rig.Variable("federation.max_per_master", "1000"))
	want := map[string]rig.Federated{
		at["quake3"]:    {Via: "lan-q3", Query: "quake3"},
		at["zandronum"]: {Via: "lan-zandronum", Query: "zandronum"},
		at["a2s"]:       {Via: "lan-valve", Query: "a2s"},
		at["gs3"]:       {Via: "lan-browse", Query: "gs3"},
		at["gs1"]:       {Via: "lan-old", Query: "gs1"},
		at["ssq"]:       {Via: "lan-friends", Query: "ssq"},
	}
	rig.Eventually(t, "all servers under their masters", func() bool {
		got := rig.FederatedServers(t, d)
		return len(got) == len(want) && !slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(a string) bool { return got[a].Via != want[a].Via })
	})
	for a, s := range rig.FederatedServers(t, d) {
		if w := want[a]; s.Origin != "federated" || s.Vouched || s.Query != w.Query || !strings.HasPrefix(s.Name, "Arena of ") {
			t.Errorf("%s: %+v, want %+v", a, s, w)
		}
	}
	// The friend reads this daemon too: hearsay does not come back.
	reader := rig.Start(t, t.TempDir(), rig.Variable("federation.masters", "respawnd http://"+d.Address["web"].String()+" name=lan-third"))
	rig.Eventually(t, "the third daemon read the list", func() bool { return masterStates(t, reader)["lan-third"].State == operator.MasterRead })
	if m := masterStates(t, reader)["lan-third"]; m.Told != 0 || m.Refused["hearsay"] != len(want) || len(rig.FederatedServers(t, reader)) != 0 {
		t.Errorf("hearsay of hearsay: %+v, listed %v", m, rig.FederatedServers(t, reader))
	}
	reader.Stop()

	rig.Eventually(t, "the hostile master was read", func() bool { return masterStates(t, d)["hostile"].State == operator.MasterRead })
	m := masterStates(t, d)["hostile"]
	for _, why := range []string{"private", "address", "port", "repeated", "too_many"} {
		if m.Refused[why] == 0 {
			t.Errorf("hostile master: nothing refused as %s: %+v", why, m)
		}
	}
	if m.Listed != 0 || !strings.Contains(m.Error, "federation.max_per_master (1000)") {
		t.Errorf("hostile master: %+v", m)
	}

	// A server's own report has precedence over the federated one.
	if out := d.Cli("server", "list"); !strings.Contains(out, "lan-valve") {
		t.Errorf("server list:\n%s", out)
	}
	if out := d.Cli("doctor", at["a2s"]); !strings.Contains(out, "known from lan-valve") {
		t.Errorf("doctor:\n%s", out)
	}
	if out := d.Cli("federation", "status"); !strings.Contains(out, "hostile") || !strings.Contains(out, "repeated:") || !strings.Contains(out, "the list was cut at federation.max_per_master (1000)") {
		t.Errorf("federation status:\n%s", out)
	}
	if code, page := rig.Get(t, d, "web", http.MethodGet, "/servers", ""); code != http.StatusOK || !strings.Contains(page, "known from lan-valve") {
		t.Errorf("page of servers: status %d", code)
	}
	if got := rig.Metric(t, d, `respawnd_federation_servers{master="lan-valve"}`); got != "1" {
		t.Errorf("servers of lan-valve: %s", got)
	}
	friend.Stop()
	d.Stop()
}

// TestVerifiedPeer lists the servers of a peer without queries, and follows its changes.
func TestVerifiedPeer(t *testing.T) {
	t.Parallel()
	friend := rig.Start(t, t.TempDir())
	h := rig.Register(t, friend, "hostname", "First")
	rig.Appears(t, friend, h.Address().String())
	d := rig.Start(t, t.TempDir(), rig.Variable("federation.masters", "respawnd http://"+friend.Address["web"].String()+" name=lan verified=true"))
	a := h.Address().String()
	rig.Eventually(t, "the server of the peer", func() bool { _, ok := rig.FederatedServers(t, d)[a]; return ok })
	want := rig.Federated{Address: a, Game: rig.TestGame, Origin: "federated", Name: "First", Via: "lan", Query: "gs3", Vouched: true}
	if diff := cmp.Diff(want, rig.FederatedServers(t, d)[a]); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	second := rig.Register(t, friend, "hostname", "Second")
	rig.Eventually(t, "a server that came later", func() bool {
		return rig.FederatedServers(t, d)[second.Address().String()].Name == "Second"
	})
	friend.Cli("server", "hide", a)
	rig.Eventually(t, "the first one left", func() bool { _, ok := rig.FederatedServers(t, d)[a]; return !ok })
	// One that reports to both is listed as reporting here.
	second.SetServer(d.Address["qr2"])
	second.MustRegister()
	rig.Eventually(t, "it reports here", func() bool { return rig.FederatedServers(t, d)[second.Address().String()].Origin == "qr2" })
	friend.Stop()
	d.Stop()
}

// What players reported at one daemon is shown at another that reads it, as played elsewhere: with
// its count, without what an operator struck out, and as no word of the game. It is not passed on.
func TestPlayedElsewhere(t *testing.T) {
	t.Parallel()
	friend := rig.Start(t, t.TempDir())
	for _, source := range []string{"a forum", "another forum", "a third one"} {
		friend.Cli("played", "add", "gmtest", "--source", source, "--version", "1.1", "--day", "2026-11-03")
	}
	var id string
	for line := range strings.Lines(friend.Cli("played", "list")) {
		if first, _, _ := strings.Cut(line, " "); strings.Contains(first, "/gmtest/") {
			id = first
		}
	}
	friend.Cli("played", "strike", id)
	read := func(other *rig.Running, name string) *rig.Running {
		d := rig.Start(t, t.TempDir(), rig.Variable("federation.masters", "respawnd http://"+other.Address["web"].String()+" name="+name))
		rig.Eventually(t, "the list was read", func() bool { return masterStates(t, d)[name].State == operator.MasterRead })
		return d
	}
	type game struct {
		State     string
		Played    *struct{ Times int }
		Elsewhere *struct {
			Times         int
			Last, Version string
		} `json:"played_elsewhere"`
	}
	state := func(d *rig.Running) (g game) {
		_, body := rig.Get(t, d, "web", http.MethodGet, "/api/v1/games/gmtest", "")
		rig.Must(t, json.Unmarshal([]byte(body), &g))
		return g
	}
	if v := state(friend); v.State != "played" || v.Played == nil || v.Played.Times != 2 || v.Elsewhere != nil {
		t.Fatalf("at the friend: %+v", v)
	}
	d := read(friend, "lan-friends")
	v := state(d)
	if v.State == "played" || v.Played != nil || v.Elsewhere == nil || v.Elsewhere.Times != 2 || v.Elsewhere.Last != "2026-11-03" || v.Elsewhere.Version != "1.1" {
		t.Errorf("at its reader: %+v, elsewhere %+v", v, v.Elsewhere)
	}
	if _, page := rig.Get(t, d, "web", http.MethodGet, "/games/gmtest", ""); !strings.Contains(page, "played elsewhere: 2 times, last on 3 November 2026, version 1.1") {
		t.Error("the page of the game does not say it")
	}
	third := read(d, "lan-third")
	if v := state(third); v.Elsewhere != nil {
		t.Errorf("at the reader of the reader: %+v", v.Elsewhere)
	}
	third.Stop()
	d.Stop()
	friend.Stop()
}
