//go:build linux && netns

package main

// With real networks, in network namespaces. It needs root and the program ip:
//
//	go test -tags netns -run Networks ./cmd/respawnd

import (
	"bufio"
	"encoding/json"
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

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netnstest"
)

// TestServersOnTheNetworksAreFoundByBroadcast has a machine with two cards run
// the daemon, and game servers that know no master behind each card.
func TestServersOnTheNetworksAreFoundByBroadcast(t *testing.T) {
	w := netnstest.New(t)
	w.Add("master")
	for i, space := range []string{"hall", "attic"} {
		w.Add(space)
		card := fmt.Sprint("card", i)
		w.Link("master", card, space, "eth")
		w.Address("master", card, fmt.Sprintf("10.77.%d.1/24", i))
		w.Address(space, "eth", fmt.Sprintf("10.77.%d.%d/24", i, 10+i))
		startInNetwork(t, w.Child(space, "TestNetworkChild", space))
	}
	if out, err := w.Child("master", "TestNetworkChild", "master").CombinedOutput(); err != nil {
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

// TestNetworkChild is what a copy of the test program does in its namespace.
func TestNetworkChild(t *testing.T) {
	switch role := os.Getenv(netnstest.Role); role {
	case "":
		t.Skip("it is part of the tests with networks")
	case "master":
		searchNetworks(t)
	case "hall":
		ownServers(t, map[uint16]string{6500: "binary hall", 7779: "text hall"})
	case "attic":
		ownServers(t, map[uint16]string{6501: "binary attic"})
	}
}

// searchNetworks is the daemon's side.
func searchNetworks(t *testing.T) {
	d := start(t, t.TempDir(), variable("qr2.listen", "0.0.0.0:0"), variable("lan.discover", "true"), variable("lan.every", "5s"))
	want := map[string]string{
		"10.77.0.10:6500": "binary hall", "10.77.0.10:7779": "text hall", "10.77.1.11:6501": "binary attic",
	}
	for a := range want {
		d.waitFor("the discovery of "+a, 0, verdictOn(netip.MustParseAddrPort(a), "listed"))
	}
	var page struct {
		Servers []struct{ Address, Name, Origin string }
	}
	if _, body := get(t, d, "web", http.MethodGet, "/api/v1/servers", ""); json.Unmarshal([]byte(body), &page) != nil {
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
	d.stop()
}

// ownServers runs game servers by port until standard input ends. Those whose
// name begins with text speak the older protocol.
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
		text := strings.HasPrefix(name, "text")
		switch {
		case text && strings.HasPrefix(string(buf[:n]), `\status\`):
			answer = fmt.Appendf(nil, `\gamename\%s\hostname\%s\numplayers\0\final\\queryid\1.1`, testGame, name)
		case !text && n > 6 && string(buf[:3]) == "\xFE\xFD\x00":
			answer = append([]byte{0}, buf[3:7]...)
			for _, pair := range [][2]string{{"gamename", testGame}, {"hostname", name}} {
				answer = gamespy.AppendPair(answer, pair[0], pair[1])
			}
			answer = append(gamespy.AppendEnd(answer), 0, 0, 0, 0, 0, 0)
		default:
			continue
		}
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = conn.WriteTo(answer, from)
	}
}
