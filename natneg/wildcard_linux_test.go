package natneg_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/natneg"
	"github.com/respawnd/respawnd/natneg/natnegtest"
)

// On Linux all of 127.0.0.0/8 are addresses of this machine.
func TestWildcardSocketAnswersNATTest2(t *testing.T) {
	open := func() *netserve.PacketConn {
		c, err := netserve.ListenPackets(t.Context(), "udp4", "0.0.0.0:0", netserve.ListenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	one, other := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")
	opt := natneg.DefaultOptions()
	opt.Addresses = func() []netip.Addr { return []netip.Addr{one, other} }
	server := natneg.New(opt)
	sockets := natneg.Sockets{Main: open(), Second: open()}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, sockets) }()

	came := make(chan netip.AddrPort, 1)
	sock, err := natnegtest.System{}.Open(netip.AddrPortFrom(one, 0), func(data []byte, from netip.AddrPort) {
		if h, body, err := natneg.ParseHeader(data); err == nil && h.Type == natneg.TypeTest && body[0] == byte(natneg.PortNN2) {
			came <- from
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sock.Close()
	check := natneg.Check{Test: natneg.Test{PortType: natneg.PortNN2}}
	port := sockets.Main.LocalAddr().Port()
	sock.Send(check.AppendTo(natneg.Header{Version: 4, Type: natneg.TypeNATTest, Cookie: 777}.AppendTo(nil)), netip.AddrPortFrom(one, port))
	natneg2 := natneg.Check{Test: natneg.Test{PortType: natneg.PortNN3}}
	sock.Send(natneg2.AppendTo(natneg.Header{Version: 4, Type: natneg.TypeNATTest, Cookie: 777}.AppendTo(nil)), netip.AddrPortFrom(one, port))
	if got, want := <-came, netip.AddrPortFrom(other, port); got != want {
		t.Errorf("answered from %v, want %v", got, want)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}
