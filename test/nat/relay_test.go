package nat

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
	"github.com/respawnd/respawnd/test/rig"
)

// TestRelayedServer follows a server whose players do not reach it: they fail, are relayed
// when they try again, and the list, its filter and the badge say how it is joined.
func TestRelayedServer(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	h := rig.NewHost(t, d.Address["qr2"], "hostname", "Behind two routers")
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(rig.Home, 0)))
	rig.Must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	h.Packets = netclient.New(conn, d.Address["qr2"], 0) // the host negotiates from its game port
	h.MustRegister()
	wantJoinable := func(want string) {
		t.Helper()
		_, body := rig.Get(t, d, "web", http.MethodGet, "/api/v1/servers?joinable="+want, "")
		if !strings.Contains(body, "Behind two routers") || !strings.Contains(body, `"joinable":"`+want+`"`) {
			t.Fatalf("servers that are %s: %s\n%s", want, body, d.Log)
		}
	}
	wantJoinable("negotiated") // as it says itself

	players := [2]natneg.Peer{
		{Packets: rig.PacketsAt(t, netip.AddrPortFrom(rig.Home, 0), d.Address["natneg"])},
		{Packets: netclient.New(conn, d.Address["natneg"], 0), Index: 1},
	}
	attempt := func() (told [2]netip.AddrPort) {
		t.Helper()
		cookie := rand.Uint32()
		for i := range players {
			players[i].Version, players[i].Cookie, players[i].Game = 3, cookie, rig.TestGame
			rig.Must(t, players[i].Announce())
		}
		for i := range players {
			told[i], err = players[i].Partner(rig.Wait(t))
			rig.Must(t, err)
		}
		return told
	}
	attempt()
	for i := range players {
		rig.Must(t, players[i].Fail(rig.Wait(t)))
	}
	told := attempt()
	hear := func(player int) bool {
		return players[player].Await(netclient.Bound(t.Context(), 50*time.Millisecond), func(_ []byte, from netip.AddrPort) (bool, error) {
			return from == told[player], nil
		}) == nil
	}
	for heard := [2]bool{}; !heard[0] || !heard[1]; { // the first packets come before the relay knows both
		for i := range players {
			rig.Must(t, players[i].SendTo([]byte("a game's packet"), told[i]))
			heard[i] = hear(i) || heard[i]
		}
	}
	for i := range players {
		rig.Must(t, players[i].Report(rig.Wait(t)))
	}
	d.WaitFor("the end of the relayed negotiation", 0, func(e rig.Entry) bool { return e.Text("result") == "connected through the relay" })
	wantJoinable("relayed")

	_, page := rig.Get(t, d, "web", http.MethodGet, "/servers?joinable=relayed", "")
	rig.WantIn(t, page, "Behind two routers")
	rig.WantIn(t, d.Cli("server", "list", "--json"), `"joinable":"relayed"`)
	rig.WantIn(t, d.Cli("relay"), rig.TestGame)
	d.Stop()
}
