//go:build linux && netns

package main

import (
	"bufio"
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

	"github.com/respawnd/respawnd/internal/netnstest"
	"github.com/respawnd/respawnd/internal/services"
	"github.com/respawnd/respawnd/master/serverbrowse"
)

// localPort is where the game server on the daemon's machine is.
const localPort = 6500

// TestPlayersReachAServerOnTheMastersMachineNetworks has a machine run the daemon
// and a game server that reports over loopback, a player on its private network and
// one elsewhere. Each is given another address and sends a packet there.
func TestPlayersReachAServerOnTheMastersMachineNetworks(t *testing.T) {
	w := netnstest.New(t)
	for _, space := range []string{"master", "hall", "outside"} {
		w.Add(space)
	}
	w.Link("master", "card0", "hall", "eth")
	w.Address("master", "card0", "10.77.0.1/24")
	w.Address("hall", "eth", "10.77.0.10/24")
	w.Link("master", "card1", "outside", "eth")
	w.Address("master", "card1", adverted+"/32") // as if a router forwarded the port
	w.Address("outside", "eth", stranger+"/24")
	w.In("outside", "ip", "route", "add", "default", "dev", "eth")
	w.In("master", "ip", "route", "add", stranger, "dev", "card1")

	startInNetwork(t, w.Child("master", "TestAddressChild", "serves"))
	runInNetwork(t, w.Child("hall", "TestAddressChild", "asks 10.77.0.1"))
	runInNetwork(t, w.Child("outside", "TestAddressChild", "asks "+adverted))
	runInNetwork(t, w.Child("master", "TestAddressChild", "asks 127.0.0.1"))
}

// TestAddressChild is what a copy of the test program does in its namespace.
func TestAddressChild(t *testing.T) {
	switch role := os.Getenv(netnstest.Role); role {
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
			ports = append(ports, variable(s.Key, fmt.Sprintf("0.0.0.0:%d", s.Port)))
		}
	}
	d := startWithout(t, append(append(testEnv(t.TempDir()), ports...), variable("net.advertise_as", adverted)))
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{Port: localPort})
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(hang))
	h := &host{t: t, conn: conn, master: netip.MustParseAddrPort("127.0.0.1:27900"), rules: []string{"hostname", "Local"}, key: 0xA1}
	h.register()
	_ = conn.SetDeadline(time.Time{})
	var answering sync.WaitGroup
	answering.Go(func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			if string(buf[:n]) == "hello" {
				_, _ = conn.WriteToUDPAddrPort([]byte("here"), from)
			}
		}
	})
	_, _ = fmt.Fprintln(os.Stdout, "ready")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	_ = conn.Close()
	answering.Wait()
	d.stop()
}

// askForLocal asks the daemon at an address for its game server, which must be at
// the same address, and talks to it.
func askForLocal(t *testing.T, master netip.Addr) {
	d := &running{t: t, address: map[string]netip.AddrPort{
		"serverbrowse": netip.AddrPortFrom(master, 28910), "web": netip.AddrPortFrom(master, 8080),
	}}
	want := netip.AddrPortFrom(master, localPort)
	b := browse(t, d)
	wantOnly(t, "the player", b.ask(0, "", `\hostname`), want)
	b.write(serverbrowse.AppendInfoRequest(nil, want))
	if p := b.nextOf(serverbrowse.PushServer); p.Entry.Public != want || len(p.Entry.Rules) == 0 {
		t.Errorf("details of %v: %+v, want those of the server", want, p.Entry)
	}
	var page struct {
		Servers []struct{ Address, ID string }
	}
	if _, body := get(t, d, "web", http.MethodGet, "/api/v1/servers", ""); json.Unmarshal([]byte(body), &page) != nil {
		t.Fatalf("servers: %s", body)
	}
	if len(page.Servers) != 1 || page.Servers[0].Address != want.String() || page.Servers[0].ID != "qr2-127.0.0.1-6500" {
		t.Errorf("JSON: %+v, want one server at %v with the id that all are given", page.Servers, want)
	}

	conn, err := new(net.Dialer).DialContext(t.Context(), "udp4", want.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(hang))
	buf := make([]byte, 16)
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(buf); err != nil || string(buf[:n]) != "here" {
		t.Errorf("the server at %v said %q, %v", want, buf[:n], err)
	}
}
