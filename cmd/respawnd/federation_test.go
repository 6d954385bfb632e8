package main

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

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/probe/probetest"
)

// federated is a server of the public JSON with where it is known from.
type federated struct {
	Address, Game, Origin, Name, Via, Query string
	Vouched                                 bool
}

// federatedServers returns the servers of the public JSON by address.
func federatedServers(t testing.TB, d *running) map[string]federated {
	t.Helper()
	code, body := get(t, d, "web", http.MethodGet, "/api/v1/servers", "")
	var answer struct{ Servers []federated }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || code != http.StatusOK {
		t.Fatalf("GET /api/v1/servers: status %d, %v:\n%.500s", code, err, body)
	}
	all := make(map[string]federated)
	for _, s := range answer.Servers {
		all[s.Address] = s
	}
	return all
}

// masterStates returns the states of the other masters by name.
func masterStates(t testing.TB, d *running) map[string]operator.OtherMaster {
	t.Helper()
	all := make(map[string]operator.OtherMaster)
	for line := range strings.Lines(d.cli("federation", "status", "--json")) {
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
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: home.AsSlice()})
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

// oldList serves a list of GameSpy's first protocol, enctype 2.
func oldList(t *testing.T, secret string, servers ...netip.AddrPort) string {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(`\basic\\secure\ABCDEF`))
			_, _ = c.Read(make([]byte, 2048))
			var list []byte
			for _, a := range servers {
				ip := a.Addr().As4()
				list = append(append(list, ip[:]...), byte(a.Port()>>8), byte(a.Port()))
			}
			list = append(list, gamespy.Final...)
			key := []byte("0123456789")
			tree := gamespy.NewTreeCipher(key)
			tree.XOR(list, list)
			_, _ = c.Write(append(gamespy.AppendEnctype2Header(nil, secret, key), list...))
			_ = c.Close()
		}
	}()
	return ln.Addr().String()
}

// TestFederation feeds one list from another daemon in five protocols, from a scripted
// list, and from a hostile master.
func TestFederation(t *testing.T) {
	t.Parallel()
	at := make(map[string]string) // address by protocol
	var static []string
	for _, p := range []string{"gs3", "a2s", "zandronum", "quake3", "ssq"} {
		game := testGame
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
	friend := start(t, t.TempDir(), variable("servers.static", strings.Join(static, ",")))
	for _, p := range static {
		appears(t, friend, strings.Fields(p)[1])
	}
	at["gs1"] = probetest.Listen(t, probetest.Arena(testGame).Speaks("gs1")).Address().String()
	old := oldList(t, "HA6zkS", netip.MustParseAddrPort(at["gs1"]))
	masters := []string{
		"q3 " + friend.address["q3master"].String() + " game=openarena protocol=71 name=lan-q3",
		"zandronum " + friend.address["zanmaster"].String() + " name=lan-zandronum",
		"valve " + friend.address["valvemaster"].String() + ` filter=\gamedir\cstrike name=lan-valve`,
		"serverbrowse " + friend.address["serverbrowse"].String() + " game=" + testGame + " name=lan-browse",
		"gamespy " + old + " game=" + testGame + " enctype=2 name=lan-old",
		"respawnd http://" + friend.address["web"].String() + " game=ut name=lan-friends",
		"q3 " + hostileMaster(t) + " protocol=1 name=hostile",
	}
	d := start(t, t.TempDir(), variable("federation.masters", strings.Join(masters, ",")), variable("federation.max_per_master", "1000"))
	want := map[string]federated{
		at["quake3"]:    {Via: "lan-q3", Query: "quake3"},
		at["zandronum"]: {Via: "lan-zandronum", Query: "zandronum"},
		at["a2s"]:       {Via: "lan-valve", Query: "a2s"},
		at["gs3"]:       {Via: "lan-browse", Query: "gs3"},
		at["gs1"]:       {Via: "lan-old", Query: "gs1"},
		at["ssq"]:       {Via: "lan-friends", Query: "ssq"},
	}
	eventually(t, "all servers under their masters", func() bool {
		got := federatedServers(t, d)
		return len(got) == len(want) && !slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(a string) bool { return got[a].Via != want[a].Via })
	})
	for a, s := range federatedServers(t, d) {
		if w := want[a]; s.Origin != "federated" || s.Vouched || s.Query != w.Query || !strings.HasPrefix(s.Name, "Arena of ") {
			t.Errorf("%s: %+v, want %+v", a, s, w)
		}
	}
	// The friend reads this daemon too: hearsay does not come back.
	reader := start(t, t.TempDir(), variable("federation.masters", "respawnd http://"+d.address["web"].String()+" name=lan-third"))
	eventually(t, "the third daemon read the list", func() bool { return masterStates(t, reader)["lan-third"].State == operator.MasterRead })
	if m := masterStates(t, reader)["lan-third"]; m.Told != 0 || m.Refused["hearsay"] != len(want) || len(federatedServers(t, reader)) != 0 {
		t.Errorf("hearsay of hearsay: %+v, listed %v", m, federatedServers(t, reader))
	}
	reader.stop()

	eventually(t, "the hostile master was read", func() bool { return masterStates(t, d)["hostile"].State == operator.MasterRead })
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
	if out := d.cli("server", "list"); !strings.Contains(out, "lan-valve") {
		t.Errorf("server list:\n%s", out)
	}
	if out := d.cli("doctor", at["a2s"]); !strings.Contains(out, "known from lan-valve") {
		t.Errorf("doctor:\n%s", out)
	}
	if out := d.cli("federation", "status"); !strings.Contains(out, "hostile") || !strings.Contains(out, "repeated:") || !strings.Contains(out, "the list was cut at federation.max_per_master (1000)") {
		t.Errorf("federation status:\n%s", out)
	}
	if code, page := get(t, d, "web", http.MethodGet, "/servers", ""); code != http.StatusOK || !strings.Contains(page, "known from lan-valve") {
		t.Errorf("page of servers: status %d", code)
	}
	if got := metric(t, d, `respawnd_federation_servers{master="lan-valve"}`); got != "1" {
		t.Errorf("servers of lan-valve: %s", got)
	}
	friend.stop()
	d.stop()
}

// TestVerifiedPeer lists the servers of a peer without queries, and follows its changes.
func TestVerifiedPeer(t *testing.T) {
	t.Parallel()
	friend := start(t, t.TempDir())
	h := register(t, friend, "hostname", "First")
	appears(t, friend, h.address().String())
	d := start(t, t.TempDir(), variable("federation.masters", "respawnd http://"+friend.address["web"].String()+" name=lan verified=true"))
	a := h.address().String()
	eventually(t, "the server of the peer", func() bool { _, ok := federatedServers(t, d)[a]; return ok })
	want := federated{Address: a, Game: testGame, Origin: "federated", Name: "First", Via: "lan", Query: "gs3", Vouched: true}
	if diff := cmp.Diff(want, federatedServers(t, d)[a]); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	second := register(t, friend, "hostname", "Second")
	eventually(t, "a server that came later", func() bool {
		return federatedServers(t, d)[second.address().String()].Name == "Second"
	})
	friend.cli("server", "hide", a)
	eventually(t, "the first one left", func() bool { _, ok := federatedServers(t, d)[a]; return !ok })
	// One that reports to both is listed as reporting here.
	second.SetServer(d.address["qr2"])
	second.register()
	eventually(t, "it reports here", func() bool { return federatedServers(t, d)[second.address().String()].Origin == "qr2" })
	friend.stop()
	d.stop()
}
