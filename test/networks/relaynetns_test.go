//go:build linux && netns

package networks

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/natneg/natnegtest"
	"github.com/respawnd/respawnd/test/rig"
)

// relayMaster is the address of the machine that the daemon runs on.
const relayMaster = "198.51.100.1"

// TestRelayNetworks runs the daemon on a machine that two players reach, each behind a
// symmetric NAT of the kernel. They negotiate as the original client does: they fail,
// try again, are relayed, and their games exchange data in both directions.
func TestRelayNetworks(t *testing.T) {
	w := nettest.NewWorld(t, "nft", "sysctl")
	w.Add("master")
	w.In("master", "ip", "address", "add", relayMaster+"/32", "dev", "lo")
	w.In("master", "sysctl", "-qw", "net.ipv4.ip_forward=1")
	var homes []string
	for i := range 2 {
		homes = append(homes, w.Household("master", i, nettest.SymmetricRouter))
	}
	dir := t.TempDir()
	startInNetwork(t, w.Child("master", "TestRelayChild", "serves"))
	for attempt, want := range []natnegtest.End{natnegtest.PingTimeout, natnegtest.Connected} {
		results := make([]natnegtest.Result, len(homes))
		var wg sync.WaitGroup
		for i, home := range homes {
			wg.Go(func() {
				file := filepath.Join(dir, fmt.Sprint(attempt, "-", i))
				runInNetwork(t, w.Child(home, "TestRelayChild", fmt.Sprintf("plays %d %d %s", attempt, i, file)))
				data, err := os.ReadFile(file)
				if err == nil {
					err = json.Unmarshal(data, &results[i])
				}
				if err != nil {
					t.Errorf("player %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		for i, r := range results {
			if r.End != want || !r.Confirmed {
				t.Errorf("attempt %d, player %d: %v, report confirmed %v; want %v", attempt, i, r.End, r.Confirmed, want)
			}
			if want != natnegtest.Connected {
				continue
			}
			if r.Remote.Addr().String() != relayMaster || r.Remote.Port() < 40000 || r.Remote.Port() > 40999 || r.Heard != fmt.Sprint("I am player ", 1-i) {
				t.Errorf("player %d heard %q from %v, want the other player from a port of the relay", i, r.Heard, r.Remote)
			}
		}
	}
}

// TestRelayChild runs in a copy of the test program inside its own network namespace.
func TestRelayChild(t *testing.T) {
	switch role, what, _ := strings.Cut(os.Getenv(nettest.WorldRole), " "); role {
	case "":
		t.Skip("it is part of the tests with networks")
	case "serves":
		serveRelay(t)
	default:
		playRelayed(t, what)
	}
}

// serveRelay runs a daemon until standard input ends. At the end it must relay the pair,
// and show it to its operator.
func serveRelay(t *testing.T) {
	d := rig.Start(t, t.TempDir(), rig.Variable("natneg.listen", "0.0.0.0:27901"))
	_, _ = fmt.Fprintln(os.Stdout, "ready")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	line := rig.LineWith(d.Cli("relay"), "gmtest")
	for _, want := range []string{"203.0.113.2:", "203.0.113.6:"} {
		if !strings.Contains(line, want) {
			t.Errorf("respawnd relay: %q, want a pair with %s", line, want)
		}
	}
	if got := rig.Metric(t, d, "respawnd_relay_opened_total"); got != "1" {
		t.Errorf("%s pairs were relayed, want 1", got)
	}
}

// playRelayed is a player; its argument has the attempt, the index and the file for the
// result.
func playRelayed(t *testing.T, what string) {
	var attempt, index int
	var file string
	if _, err := fmt.Sscan(what, &attempt, &index, &file); err != nil {
		t.Fatal(err)
	}
	home, master := netip.MustParseAddr(nettest.HomeAddr), netip.AddrPortFrom(netip.MustParseAddr(relayMaster), 27901)
	p := &natnegtest.Player{
		Net: natnegtest.System{}, Local: netip.AddrPortFrom(home, 5000), Game: netip.AddrPortFrom(home, 6500),
		Servers: [3]netip.AddrPort{master, master, master}, Cookie: 0x12345678 + uint32(attempt), Index: byte(index),
		Name: "gmtest", Linger: time.Second, Says: fmt.Sprint("I am player ", index),
	}
	r, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
