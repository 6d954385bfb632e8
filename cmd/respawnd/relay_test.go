package main

import (
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/natneg"
)

// TestRelayedServer follows a server whose players do not reach it: they fail, are relayed
// when they try again, and the list, its filter and the badge say how it is joined.
func TestRelayedServer(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	h := newHost(t, d.address["qr2"], "hostname", "Behind two routers")
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(home, 0)))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	h.Packets = netclient.New(conn, d.address["qr2"], 0) // the host negotiates from its game port
	h.register()
	wantJoinable := func(want string) {
		t.Helper()
		_, body := get(t, d, "web", http.MethodGet, "/api/v1/servers?joinable="+want, "")
		if !strings.Contains(body, "Behind two routers") || !strings.Contains(body, `"joinable":"`+want+`"`) {
			t.Fatalf("servers that are %s: %s\n%s", want, body, d.log)
		}
	}
	wantJoinable("negotiated") // as it says itself

	players := [2]natneg.Peer{
		{Packets: packetsAt(t, netip.AddrPortFrom(home, 0), d.address["natneg"])},
		{Packets: netclient.New(conn, d.address["natneg"], 0), Index: 1},
	}
	attempt := func() (told [2]netip.AddrPort) {
		t.Helper()
		cookie := rand.Uint32()
		for i := range players {
			players[i].Version, players[i].Cookie, players[i].Game = 3, cookie, testGame
			must(t, players[i].Announce())
		}
		for i := range players {
			told[i], err = players[i].Partner(wait(t))
			must(t, err)
		}
		return told
	}
	attempt()
	for i := range players {
		must(t, players[i].Fail(wait(t)))
	}
	told := attempt()
	hear := func(player int) bool {
		return players[player].Await(netclient.Bound(t.Context(), 50*time.Millisecond), func(_ []byte, from netip.AddrPort) (bool, error) {
			return from == told[player], nil
		}) == nil
	}
	for heard := [2]bool{}; !heard[0] || !heard[1]; { // the first packets come before the relay knows both
		for i := range players {
			must(t, players[i].SendTo([]byte("a game's packet"), told[i]))
			heard[i] = hear(i) || heard[i]
		}
	}
	for i := range players {
		must(t, players[i].Report(wait(t)))
	}
	d.waitFor("the end of the relayed negotiation", 0, func(e entry) bool { return e.text("result") == "connected through the relay" })
	wantJoinable("relayed")

	_, page := get(t, d, "web", http.MethodGet, "/servers?joinable=relayed", "")
	wantIn(t, page, "Behind two routers")
	wantIn(t, d.cli("server", "list", "--json"), `"joinable":"relayed"`)
	wantIn(t, d.cli("relay"), testGame)
	d.stop()
}
