package netserve

import (
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"
)

// Two Forwardings that send to each other drop each other's datagrams, so that nothing
// loops between them. Datagrams of players are forwarded, whatever time to live their
// systems begin with.
func TestForwardingsDoNotFeedEachOther(t *testing.T) {
	reg := prometheus.NewRegistry()
	f, stopF := startForwarding(t, NewMetrics(reg, "test", ForwardReasons()...))
	other := prometheus.NewRegistry()
	g, stopG := startForwarding(t, NewMetrics(other, "test", ForwardReasons()...))
	fIn, fOut := twoPorts(t, f)
	gIn, gOut := twoPorts(t, g)
	to := func(a netip.AddrPort) routeFunc {
		return func(Packet) (netip.AddrPort, bool) { return a, true }
	}
	connect(t, fIn, fOut, to(gIn.LocalAddr()))
	connect(t, gIn, gOut, to(fIn.LocalAddr()))
	player, witness := dial(t, fIn.LocalAddr().String()), dial(t, gIn.LocalAddr().String())
	ttls := []int{32, 64, 128, 255, 1, 20, forwardTTL - maxHops - 1, forwardTTL + 1}
	for _, ttl := range ttls {
		raw, err := player.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if err := controlFD(raw, func(fd uintptr) error {
			return unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TTL, ttl)
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := player.Write([]byte("round and round")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := witness.Write([]byte("from a player")); err != nil { // comes after the others
		t.Fatal(err)
	}
	for _, r := range []*prometheus.Registry{reg, other} {
		for value(t, r, "respawnd_packets_received_total", "test", "") < float64(len(ttls)+1) {
			time.Sleep(time.Millisecond)
		}
	}
	_, _ = stopF(), stopG()
	wantValue(t, reg, "respawnd_packets_sent_total", "", float64(len(ttls)))
	wantValue(t, other, "respawnd_dropped_total", dropForwarded, float64(len(ttls)))
	wantValue(t, other, "respawnd_packets_sent_total", "", 1)
	wantValue(t, reg, "respawnd_dropped_total", dropForwarded, 1)
}
