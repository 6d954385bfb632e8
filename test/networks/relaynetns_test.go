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

// relayHome is the network of a player.
type relayHome struct{ router, space, local string }

// TestRelayNetworks runs the daemon on a machine with one address that players reach, each behind
// a router of another kind: the kernel's address translation. They negotiate as the original
// client of 2012 does. All pairs meet at the first attempt, and those that need the relay
// exchange data through it. A new daemon for each pair knows no router.
func TestRelayNetworks(t *testing.T) {
	w := nettest.NewWorld(t, "nft", "sysctl")
	w.Add("master")
	w.In("master", "ip", "address", "add", relayMaster+"/32", "dev", "lo")
	w.In("master", "sysctl", "-qw", "net.ipv4.ip_forward=1")
	var homes [2][]relayHome // of clients and hosts
	for i := range homes {
		for k, r := range []struct{ name, rules string }{
			{"open", ""},
			{"full cone", nettest.FullConeRouter},
			{"restricted", nettest.RestrictedRouter},
			{"port restricted", nettest.PortRestrictedRouter},
			{"symmetric", nettest.SymmetricRouter},
		} {
			h := relayHome{router: r.name, local: nettest.HomeAddr}
			if number := 5*i + k; r.rules == "" {
				h.space, h.local = w.OpenHome("master", number)
			} else {
				h.space = w.Household("master", number, r.rules)
			}
			homes[i] = append(homes[i], h)
		}
	}
	joined, pairs := 0, 0
	for _, client := range homes[0] {
		for _, host := range homes[1] {
			pairs++
			strict := func(h relayHome) bool { return h.router == "port restricted" || h.router == "symmetric" }
			if meetInNetwork(t, w, [2]relayHome{client, host}, strict(client) && strict(host)) {
				joined++
			}
		}
	}
	t.Logf("pairs joined: %d of %d", joined, pairs)
}

// meetInNetwork starts a daemon and has two players negotiate once. It returns whether they met.
func meetInNetwork(t *testing.T, w *nettest.World, homes [2]relayHome, relayed bool) (met bool) {
	t.Run(homes[0].router+", "+homes[1].router, func(t *testing.T) {
		startInNetwork(t, w.Child("master", "TestRelayChild", fmt.Sprint("serves ", map[bool]int{true: 1}[relayed])))
		met = playInNetwork(t, w, homes, 0, relayed)
	})
	return met
}

// playInNetwork has two players negotiate, and returns whether they met as they should.
func playInNetwork(t *testing.T, w *nettest.World, homes [2]relayHome, attempt int, relayed bool) (met bool) {
	t.Helper()
	dir := t.TempDir()
	var results [2]natnegtest.Result
	var wg sync.WaitGroup
	for i, h := range homes {
		wg.Go(func() {
			file := filepath.Join(dir, fmt.Sprint(i))
			runInNetwork(t, w.Child(h.space, "TestRelayChild", fmt.Sprintf("plays %s %d %d %s", h.local, attempt, i, file)))
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
	met = true
	for i, r := range results {
		byRelay := r.Remote.IsValid() && r.Remote.Addr().String() == relayMaster && r.Remote.Port() >= 40000 && r.Remote.Port() <= 40999
		if r.End != natnegtest.Connected || !r.Confirmed || r.Heard != fmt.Sprint("I am player ", 1-i) || byRelay != relayed {
			t.Errorf("attempt %d, player %d: %v, report confirmed %v, heard %q from %v; want connected, the other player, through the relay: %v",
				attempt, i, r.End, r.Confirmed, r.Heard, r.Remote, relayed)
			met = false
		}
	}
	return met
}

// TestRelayNetworksAgain has pairs of equal routers meet twice. The relay shows whether they can
// connect: routers without a wall cannot, which take another port for a partner whose packet came
// too early.
func TestRelayNetworksAgain(t *testing.T) {
	for i, tc := range []struct {
		router, rules string
		again         bool // relayed the second time
	}{{"port restricted", nettest.PortRestrictedRouter, false}, {"without a wall", nettest.WallessRouter, true}} {
		t.Run(tc.router, func(t *testing.T) {
			w := nettest.NewWorld(t, "nft", "sysctl")
			w.Add("master")
			w.In("master", "ip", "address", "add", relayMaster+"/32", "dev", "lo")
			w.In("master", "sysctl", "-qw", "net.ipv4.ip_forward=1")
			var homes [2]relayHome
			for k := range homes {
				homes[k] = relayHome{tc.router, w.Household("master", k, tc.rules), nettest.HomeAddr}
			}
			startInNetwork(t, w.Child("master", "TestRelayChild", fmt.Sprint("serves ", 1+i)))
			playInNetwork(t, w, homes, 0, true)
			playInNetwork(t, w, homes, 1, tc.again)
		})
	}
}

// TestRelayChild runs in a copy of the test program inside its own network namespace.
func TestRelayChild(t *testing.T) {
	switch role, what, _ := strings.Cut(os.Getenv(nettest.WorldRole), " "); role {
	case "":
		t.Skip("it is part of the tests with networks")
	case "serves":
		serveRelay(t, what)
	default:
		playRelayed(t, what)
	}
}

// serveRelay runs a daemon until standard input ends. At the end it must have relayed as
// many pairs, and show them to its operator.
func serveRelay(t *testing.T, want string) {
	d := rig.Start(t, t.TempDir(), rig.Variable("natneg.listen", "0.0.0.0:27901"))
	_, _ = fmt.Fprintln(os.Stdout, "ready")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	if shown := strings.Contains(d.Cli("relay"), "gmtest"); shown != (want != "0") {
		t.Errorf("respawnd relay shows a pair: %v, want %s", shown, want)
	}
	if got := rig.Metric(t, d, "respawnd_relay_opened_total"); got != want {
		t.Errorf("%s pairs were relayed, want %s", got, want)
	}
}

// playRelayed is a player; its argument has the local address, the attempt, the index and the
// file for the result.
func playRelayed(t *testing.T, what string) {
	var local, file string
	var attempt, index int
	if _, err := fmt.Sscan(what, &local, &attempt, &index, &file); err != nil {
		t.Fatal(err)
	}
	home, master := netip.MustParseAddr(local), netip.AddrPortFrom(netip.MustParseAddr(relayMaster), 27901)
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
