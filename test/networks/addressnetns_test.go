//go:build linux && netns

package networks

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/master/legacylist"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/natneg"
	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/test/rig"
)

// localPort is where the game server on the daemon's machine is.
const localPort = 6500

// TestAdvertisedAddressNetworks runs the daemon and a game server that reports
// over loopback on one machine, a player on its private network and one
// elsewhere. Each player gets another address and sends a packet there.
func TestAdvertisedAddressNetworks(t *testing.T) {
	w := nettest.NewWorld(t)
	for _, space := range []string{"master", "hall", "outside"} {
		w.Add(space)
	}
	w.Link("master", "card0", "hall", "eth")
	w.Address("master", "card0", "10.77.0.1/24")
	w.Address("hall", "eth", "10.77.0.10/24")
	w.Link("master", "card1", "outside", "eth")
	w.Address("master", "card1", rig.Adverted+"/32") // as if a router forwarded the port
	w.Address("outside", "eth", stranger+"/24")
	w.In("outside", "ip", "route", "add", "default", "dev", "eth")
	w.In("master", "ip", "route", "add", stranger, "dev", "card1")

	startInNetwork(t, w.Child("master", "TestAddressChild", "serves"))
	runInNetwork(t, w.Child("hall", "TestAddressChild", "asks 10.77.0.1"))
	runInNetwork(t, w.Child("outside", "TestAddressChild", "asks "+rig.Adverted))
	runInNetwork(t, w.Child("master", "TestAddressChild", "asks 127.0.0.1"))
}

// TestAddressChild runs in a copy of the test program inside its own network namespace.
func TestAddressChild(t *testing.T) {
	switch role := os.Getenv(nettest.WorldRole); role {
	case "":
		t.Skip("it is part of the tests with networks")
	case "serves":
		serveLocally(t)
	default:
		master, _ := strings.CutPrefix(role, "asks ")
		askForLocal(t, netip.MustParseAddr(master))
	}
}

// serveLocally runs a daemon on the usual ports, and a game server that answers
// players, until standard input ends.
func serveLocally(t *testing.T) {
	var ports []string
	for _, s := range services.All() {
		if s.Name != "admin" {
			ports = append(ports, rig.Variable(s.Key, fmt.Sprintf("0.0.0.0:%d", s.Port)))
		}
	}
	d := rig.StartWithout(t, append(append(rig.TestEnv(t.TempDir()), ports...), rig.Variable("net.advertise_as", rig.Adverted)))
	h := rig.NewHostAt(t, netip.AddrPortFrom(netip.IPv4Unspecified(), localPort), netip.MustParseAddrPort("127.0.0.1:27900"), "hostname", "Local")
	h.Instance = 0xA1
	h.MustRegister()
	registerLocally(t, d)
	var answering sync.WaitGroup
	answering.Go(func() {
		h.Serve(func(b []byte, from netip.AddrPort) {
			if string(b) == "hello" {
				_ = h.SendTo([]byte("here"), from)
			}
		})
	})
	_, _ = fmt.Fprintln(os.Stdout, "ready")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	_ = h.Close()
	answering.Wait()
	d.Stop()
}

// registerLocally registers servers of other protocols over loopback, too.
func registerLocally(t *testing.T, d *rig.Running) {
	for name, a := range d.Address {
		d.Address[name] = netip.AddrPortFrom(rig.Home, a.Port())
	}
	rig.NewZanHost(t, d, rig.Home, nil).MustRegister()
	valve := rig.NewValveHost(t, d, &probetest.Game{Name: "Local", Game: "cstrike", Map: "de_dust"})
	valve.MustHeartbeat()
	d.WaitFor("the verdict on the Valve server", 0, rig.VerdictOn(valve.Address(), "listed"))
	for _, asker := range []string{"10.77.0.1", rig.Adverted, "127.0.0.1"} { // as they know this machine
		announceAs(t, d, netip.MustParseAddr(asker), 1)
	}
}

// announceAs begins the negotiation between a player on the daemon's machine and
// a player that knows that machine by the address master.
func announceAs(t *testing.T, d *rig.Running, master netip.Addr, index byte) natneg.Peer {
	t.Helper()
	ip := master.As4()
	c, err := netclient.Dial(t.Context(), d.Address["natneg"].String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	p := natneg.Peer{Packets: c, Version: 3, Cookie: binary.BigEndian.Uint32(ip[:]), Index: index, Game: rig.TestGame}
	if err := p.Announce(); err != nil {
		t.Fatal(err)
	}
	return p
}

// askForLocal asks the daemon at an address for its game server, which must be at
// the same address, and talks to it.
func askForLocal(t *testing.T, master netip.Addr) {
	d := &rig.Running{T: t, Address: make(map[string]netip.AddrPort)}
	for _, s := range services.All() {
		d.Address[s.Name] = netip.AddrPortFrom(master, s.Port)
	}
	want := netip.AddrPortFrom(master, localPort)
	b := rig.Browse(t, d)
	rig.WantOnly(t, "the player", b.MustAsk(0, "", `\hostname`), want)
	b.Write(serverbrowse.AppendInfoRequest(nil, want))
	if p := b.MustNextOf(serverbrowse.PushServer); p.Entry.Public != want || len(p.Entry.Rules) == 0 {
		t.Errorf("details of %v: %+v, want those of the server", want, p.Entry)
	}
	var page struct {
		Servers []struct{ Address, ID string }
	}
	if _, body := rig.Get(t, d, "web", http.MethodGet, "/api/v1/servers", ""); json.Unmarshal([]byte(body), &page) != nil {
		t.Fatalf("servers: %s", body)
	}
	found := false
	for _, s := range page.Servers {
		a := netip.MustParseAddrPort(s.Address)
		found = found || a == want && s.ID == "qr2-127.0.0.1-6500"
		if a.Addr() != master {
			t.Errorf("JSON: %+v, want it at %v", s, master)
		}
	}
	if !found || len(page.Servers) != 3 {
		t.Errorf("JSON: %+v, want three servers, one at %v with the id that all are given", page.Servers, want)
	}
	askOtherLists(t, d, want)
	player := announceAs(t, d, master, 0)
	if got, err := player.Partner(rig.Wait(t)); err != nil || got.Addr() != master {
		t.Errorf("NAT negotiation introduces %v, %v, want a player at %v", got, err, master)
	}

	conn, err := new(net.Dialer).DialContext(t.Context(), "udp4", want.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(rig.Hang))
	buf := make([]byte, 16)
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(buf); err != nil || string(buf[:n]) != "here" {
		t.Errorf("the server at %v said %q, %v", want, buf[:n], err)
	}
}

// askOtherLists asks for every other list. Its servers must be at the address of
// the daemon.
func askOtherLists(t *testing.T, d *rig.Running, want netip.AddrPort) {
	old, err := rig.LegacyList(t, d, legacylist.Request{
		Engine: rig.TestGame, Secret: rig.TestSecret, Mode: legacylist.Compact, Game: rig.TestGame,
	})
	if err != nil || len(old) != 1 || old[0] != want {
		t.Errorf("old list: %v, %v, want %v", old, err, want)
	}
	lists := map[string][]netip.AddrPort{"Zandronum": rig.NewZanPeer(t, d, netip.IPv4Unspecified(), nil).List(false)}
	for _, a := range rig.ValveList(t, d, "") {
		lists["Valve"] = append(lists["Valve"], netip.MustParseAddrPort(a))
	}
	for _, row := range rig.NewQueryTool(t, d).MustAsk("SELECT hostip WHERE game = " + rig.TestGame).Rows {
		lists["SSQ"] = append(lists["SSQ"], netip.MustParseAddrPort(row[0]))
	}
	for name, list := range lists {
		if len(list) != 1 || list[0].Addr() != want.Addr() {
			t.Errorf("list of %s: %v, want one server at %v", name, list, want.Addr())
		}
	}
	for _, name := range []string{"Zandronum", "Valve", "SSQ"} {
		if len(lists[name]) == 0 {
			t.Errorf("the list of %s is empty", name)
		}
	}
}
