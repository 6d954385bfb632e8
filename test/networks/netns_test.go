//go:build linux && netns

package networks

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/lan"
	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/test/rig"
)

// TestNetworksAreSearchedByBroadcast runs the daemon on a machine with two
// cards, and game servers that report to no master behind each card.
func TestNetworksAreSearchedByBroadcast(t *testing.T) {
	w := twoNetworks(t)
	for _, space := range []string{"hall", "attic"} {
		startInNetwork(t, w.Child(space, "TestNetworkChild", space))
	}
	runInNetwork(t, w.Child("master", "TestNetworkChild", "searches"))
}

// TestGuestsOfTwoNetworksUseTheNameServer lets guests on two networks look up
// the names of a game, register a server and list it, and checks that a
// stranger gets no answer.
func TestGuestsOfTwoNetworksUseTheNameServer(t *testing.T) {
	w := twoNetworks(t)
	w.Address("hall", "eth", stranger+"/24")
	w.In("master", "ip", "route", "add", stranger, "dev", "card0")
	startInNetwork(t, w.Child("master", "TestNetworkChild", "serves"))
	for i, space := range []string{"hall", "attic"} {
		runInNetwork(t, w.Child(space, "TestNetworkChild", fmt.Sprintf("guest of 10.77.%d.1", i)))
	}
}

// stranger is an address of a guest that is on no private network.
const stranger = "198.51.100.10"

// twoNetworks returns a machine "master" with two cards, and one behind each.
func twoNetworks(t *testing.T) *nettest.World {
	t.Helper()
	w := nettest.NewWorld(t)
	w.Add("master")
	for i, space := range []string{"hall", "attic"} {
		w.Add(space)
		card := fmt.Sprint("card", i)
		w.Link("master", card, space, "eth")
		w.Address("master", card, fmt.Sprintf("10.77.%d.1/24", i))
		w.Address(space, "eth", fmt.Sprintf("10.77.%d.%d/24", i, 10+i))
		w.In(space, "ip", "route", "add", "default", "dev", "eth") // for broadcasts
	}
	return w
}

// runInNetwork runs a copy of the test program, which must succeed.
func runInNetwork(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// startInNetwork starts a copy of the test program, which runs until the test ends,
// and waits for its line ready.
func startInNetwork(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var said []string
	for lines.Text() != "ready" {
		if !lines.Scan() {
			t.Fatalf("it ended before it was ready: %q", said)
		}
		said = append(said, lines.Text())
	}
	t.Cleanup(func() {
		_ = in.Close()
		for lines.Scan() {
			said = append(said, lines.Text())
		}
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("%v: %q", err, said)
		}
	})
}

// TestNetworkChild runs in a copy of the test program inside its own network namespace.
func TestNetworkChild(t *testing.T) {
	switch role := os.Getenv(nettest.WorldRole); role {
	case "":
		t.Skip("it is part of the tests with networks")
	case "searches":
		searchNetworks(t)
	case "serves":
		serveNetworks(t)
	case "hall":
		ownServers(t, map[uint16]string{6500: "binary hall", 7779: "text hall", 10666: "zandronum hall"})
	case "attic":
		ownServers(t, map[uint16]string{6501: "binary attic", 6502: "challenge attic", 27016: "a2s attic", 7778: "panzer attic", 10667: "doom attic"})
	default:
		master, _ := strings.CutPrefix(role, "guest of ")
		beGuest(t, netip.MustParseAddr(master))
	}
}

// searchNetworks is the daemon's side.
func searchNetworks(t *testing.T) {
	d := rig.Start(t, t.TempDir(), rig.Variable("qr2.listen", "0.0.0.0:0"), rig.Variable("lan.discover", "true"), rig.Variable("lan.every", "5s"))
	want := map[string]string{
		"10.77.0.10:6500": "binary hall", "10.77.0.10:7779": "text hall", "10.77.1.11:6501": "binary attic",
		"10.77.1.11:27016": "a2s attic",
		"10.77.0.10:10666": "zandronum hall", "10.77.1.11:6502": "challenge attic", "10.77.1.11:7778": "panzer attic",
		"10.77.1.11:10667": "doom attic",
	}
	for a := range want {
		d.WaitFor("the discovery of "+a, 0, rig.VerdictOn(netip.MustParseAddrPort(a), "listed"))
	}
	var page struct {
		Servers []struct{ Address, Name, Origin string }
	}
	if _, body := rig.Get(t, d, "web", http.MethodGet, "/api/v1/servers", ""); json.Unmarshal([]byte(body), &page) != nil {
		t.Fatalf("servers: %s", body)
	}
	got := make(map[string]string)
	for _, s := range page.Servers {
		got[s.Address] = s.Name
		if s.Origin != "lan" {
			t.Errorf("%s has the origin %s, want lan", s.Address, s.Origin)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	d.Stop()
}

// serveNetworks runs a daemon on the usual ports until standard input ends.
func serveNetworks(t *testing.T) {
	var ports []string
	for _, s := range services.All() {
		if s.Name != "web" && s.Name != "admin" {
			ports = append(ports, rig.Variable(s.Key, fmt.Sprintf("0.0.0.0:%d", s.Port)))
		}
	}
	d := rig.StartWithout(t, append(rig.TestEnv(t.TempDir()), ports...))
	_, _ = fmt.Fprintln(os.Stdout, "ready")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	d.Stop()
}

// beGuest is a game server and a player whose name server is the master.
func beGuest(t *testing.T, master netip.Addr) {
	names := netip.AddrPortFrom(master, 53)
	asked := askAsStranger(t, names)
	for _, name := range []string{rig.TestGame + ".master.gamespy.com", rig.TestGame + ".ms8.gamespy.com", "gpcm.gamespy.com", "master.zandronum.com"} {
		for _, network := range []string{"udp4", "tcp4"} {
			if got := rig.LookUp(t, names, network, name); got != master.String() {
				t.Errorf("%s over %s: %s, want %v", name, network, got, master)
			}
		}
	}
	if got := rig.LookUp(t, names, "udp4", "example.org"); got != "REFUSED" {
		t.Errorf("example.org: %s, want REFUSED", got)
	}
	asked()

	name := "of a guest of " + master.String()
	h := rig.NewHostAt(t, netip.AddrPortFrom(netip.IPv4Unspecified(), 0), netip.AddrPortFrom(master, 27900), "hostname", name)
	h.MustRegister()
	d := &rig.Running{Address: map[string]netip.AddrPort{"serverbrowse": netip.AddrPortFrom(master, 28910)}}
	found := false
	for _, row := range rig.List(t, d, "", `\hostname`) {
		found = found || row["hostname"] == name
	}
	if !found {
		t.Error("the server of a guest is not in the list that the guest gets")
	}
}

// askAsStranger asks a name server from an address that is on no private network,
// if this guest has one. The function that it returns fails if there was an
// answer; by then later questions must have been answered.
func askAsStranger(t *testing.T, names netip.AddrPort) (check func()) {
	t.Helper()
	conn, err := net.DialUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(stranger+":0")), net.UDPAddrFromAddrPort(names))
	if err != nil {
		return func() {}
	}
	t.Cleanup(func() { _ = conn.Close() })
	question, err := new(dns.Msg).SetQuestion("gpcm.gamespy.com.", dns.TypeA).Pack()
	if err == nil {
		_, err = conn.Write(question)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		if n, err := conn.Read(make([]byte, 512)); err == nil {
			t.Errorf("a stranger was answered with %d bytes", n)
		}
	}
}

// ownServers runs game servers by port until standard input ends. The first
// word of a name is their protocol. Those of Zandronum announce themselves;
// those called doom to an address that no client receives.
func ownServers(t *testing.T, servers map[uint16]string) {
	var serving sync.WaitGroup
	var conns []net.PacketConn
	for port, name := range servers {
		conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp4", fmt.Sprintf("0.0.0.0:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		serving.Go(func() { ownServer(conn, name) })
		switch {
		case strings.HasPrefix(name, "zandronum"):
			serving.Go(func() { announce(conn, net.IPv4bcast) })
		case strings.HasPrefix(name, "doom"):
			serving.Go(func() { announce(conn, net.IPv4(10, 255, 255, 255)) }) // of the class, not of the network
		}
	}
	_, _ = fmt.Fprintln(os.Stdout, "ready")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	for _, c := range conns {
		_ = c.Close()
	}
	serving.Wait()
}

// ownServer answers queries until its socket is closed.
func ownServer(conn net.PacketConn, name string) {
	buf := make([]byte, 2048)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var answer []byte
		kind, _, _ := strings.Cut(name, " ")
		switch {
		case kind == "a2s":
			game := probetest.Game{Name: name, Game: "cstrike", Map: "de_dust"}
			if packets := game.Speaks(kind)(buf[:n]); len(packets) > 0 {
				answer = packets[0]
			}
		case kind == "zandronum" || kind == "doom":
			game := probetest.Arena(zandronum.Game)
			game.Name = name
			if packets := game.Speaks("zandronum")(buf[:n]); len(packets) > 0 {
				answer = packets[0]
			}
		case kind == "panzer" && strings.HasPrefix(string(buf[:n]), `\status\`):
			answer = fmt.Appendf(nil, `gamename\%s\hostname\%s\numplayers\0\final\\queryid\1.1`, rig.TestGame, name)
		case kind == "challenge" && n >= 7 && string(buf[:3]) == "\xFE\xFD\x09":
			answer = append(append([]byte{9}, buf[3:7]...), "12345\x00"...)
		case kind == "challenge" && n > 10 && string(buf[:3]) == "\xFE\xFD\x00" && string(buf[7:11]) == "\x00\x00\x30\x39",
			kind == "binary" && n > 6 && string(buf[:3]) == "\xFE\xFD\x00":
			answer = append([]byte{0}, buf[3:7]...)
			for _, pair := range [][2]string{{"gamename", rig.TestGame}, {"hostname", name}} {
				answer = gamespy.AppendPair(answer, pair[0], pair[1])
			}
			answer = append(gamespy.AppendEnd(answer), 0, 0, 0, 0, 0, 0)
		case kind == "text" && strings.HasPrefix(string(buf[:n]), `\status\`):
			answer = fmt.Appendf(nil, `\gamename\%s\hostname\%s\numplayers\0\final\\queryid\1.1`, rig.TestGame, name)
		}
		if answer == nil {
			continue
		}
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = conn.WriteTo(answer, from)
	}
}

// announce broadcasts announcements of a server, once a second until its socket
// is closed.
func announce(conn net.PacketConn, everybody net.IP) {
	to := &net.UDPAddr{IP: everybody, Port: lan.ZandronumPort}
	for {
		if _, err := conn.WriteTo([]byte("announcement"), to); errors.Is(err, net.ErrClosed) {
			return
		}
		time.Sleep(time.Second)
	}
}
