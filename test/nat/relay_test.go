package nat

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/natneg"
	"github.com/respawnd/respawnd/natneg/natnegtest"
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

// TestForgedPairsLeaveRoomInTheRelay negotiates for many pairs of addresses without reading an answer,
// as a sender with forged addresses would. Players who cannot connect are relayed all the same.
func TestForgedPairsLeaveRoomInTheRelay(t *testing.T) {
	t.Parallel()
	const forged, places = 40, 8
	d := rig.Start(t, t.TempDir(), rig.Variable("relay.max_pairs", fmt.Sprint(places)))
	for pair := range forged {
		for i := range byte(2) {
			p := rig.PacketsAt(t, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 20, byte(pair), 1 + i}), 0), d.Address["natneg"])
			for port := natneg.PortNN1; port <= natneg.PortNN3; port++ {
				h := natneg.Header{Version: 3, Type: natneg.TypeInit, Cookie: 5000 + uint32(pair)}
				rig.Must(t, p.Send(natneg.Init{PortType: port, Index: i, Game: []byte(rig.TestGame)}.AppendTo(h.AppendTo(nil), 3)))
			}
		}
	}
	const opened, refused = "respawnd_relay_opened_total", `respawnd_relay_refused_total{reason="unproved"}`
	rig.Eventually(t, "all forged pairs asked for the relay", func() bool {
		m := rig.Metrics(t, d, opened, "respawnd_relay_refused_total")
		o, err := strconv.Atoi(m[opened])
		rig.Must(t, err)
		r, err := strconv.Atoi(m[refused])
		rig.Must(t, err)
		return o+r == forged
	})
	if got := rig.Metric(t, d, "respawnd_relay_pairs"); got != fmt.Sprint(places/4) {
		t.Errorf("%s forged pairs are relayed, want %d", got, places/4)
	}
	var ended [2]natnegtest.Result
	var wg sync.WaitGroup
	for i := range ended {
		nat := &natnegtest.NAT{
			Kind: natnegtest.PortRestricted, Outside: natnegtest.System{}, Public: netip.AddrFrom4([4]byte{127, 30, 0, 1 + byte(i)}),
		}
		t.Cleanup(nat.Close)
		inside := netip.AddrFrom4([4]byte{10, 0, byte(i), 5})
		p := &natnegtest.Player{
			Net: nat, Local: netip.AddrPortFrom(inside, 5000), Game: netip.AddrPortFrom(inside, 6500), Cookie: 77, Index: byte(i), Name: rig.TestGame,
			Servers: [3]netip.AddrPort{d.Address["natneg"], d.Address["natneg"], d.Address["natneg"]}, Says: fmt.Sprint("player ", i), Linger: time.Second,
		}
		wg.Go(func() { ended[i], _ = p.Run(t.Context()) })
	}
	wg.Wait()
	for i, r := range ended {
		if r.End != natnegtest.Connected || r.Heard != fmt.Sprint("player ", 1-i) || r.Remote.Addr() != rig.Home {
			t.Errorf("player %d: %v, heard %q from %v; want connected through the relay", i, r.End, r.Heard, r.Remote)
		}
	}
	d.Stop()
}
