package dnsserver

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/netserve"
)

// hang ends a wait for something that never comes.
const hang = 30 * time.Second

func card(prefix string) hostnet.Address {
	return hostnet.Address{Interface: "card", Prefix: netip.MustParsePrefix(prefix)}
}

func isGame(name string) bool {
	return name == "gamespy.com" || strings.HasSuffix(name, ".gamespy.com")
}

// options are those of a machine with two cards.
func options() Options {
	var c Config
	configs.Defaults(&c)
	c.Rate = 0 // no bound
	return Options{
		Config: c, Names: isGame, None: func(name string) bool { return name == "ads.example.com" },
		Addresses: func() ([]hostnet.Address, error) {
			return []hostnet.Address{card("127.0.0.1/8"), card("192.168.1.5/24"), card("10.0.0.1/16")}, nil
		},
		Route: func() netip.Addr { return netip.MustParseAddr("203.0.113.9") },
		Self:  part.Self{Log: zerolog.Nop(), Registerer: prometheus.NewRegistry()},
		Conn:  netserve.ConnOptions{Rate: -1, MaxPerAddr: -1},
	}
}

// fixture is a Server and its metrics.
type fixture struct {
	*Server
	metrics *prometheus.Registry
	wire
}

// wire records the packets of a server.
type wire struct {
	nettest.Recorder[netserve.Packet] // From is the destination, To the source
}

func (w *wire) WritePacket(data []byte, from netip.Addr, to netip.AddrPort) error {
	w.Keep(netserve.Packet{Data: slices.Clone(data), From: to, To: from})
	return nil
}

// newServer returns a server without sockets.
func newServer(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	opt := options()
	f := &fixture{metrics: prometheus.NewRegistry()}
	opt.Metrics = netserve.NewMetrics(f.metrics, "dns", reasons...)
	if change != nil {
		change(&opt)
	}
	f.Server = New(opt)
	f.conn = &f.wire
	f.refresh()
	return f
}

// packet passes a message to the server as if it came from an address, and
// returns the answer, nil if there is none.
func (f *fixture) packet(t testing.TB, from string, message []byte) []byte {
	t.Helper()
	at := netip.MustParseAddrPort(from)
	f.ServePacket(&f.wire, netserve.Packet{Data: message, From: at, To: netip.MustParseAddr("192.168.1.5")})
	out := f.Take()
	switch {
	case len(out) == 0:
		return nil
	case len(out) > 1 || out[0].From != at || out[0].To != netip.MustParseAddr("192.168.1.5"):
		t.Fatalf("answered with %+v, want one packet to %v", out, at)
	}
	return out[0].Data
}

// ask asks one question and returns the answer, which must be there.
func (f *fixture) ask(t testing.TB, from string, m *dns.Msg) *dns.Msg {
	t.Helper()
	return unpack(t, f.packet(t, from, pack(t, m)))
}

func pack(t testing.TB, m *dns.Msg) []byte {
	t.Helper()
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func unpack(t testing.TB, b []byte) *dns.Msg {
	t.Helper()
	m := new(dns.Msg)
	if err := m.Unpack(b); err != nil {
		t.Fatalf("answer %x: %v", b, err)
	}
	return m
}

func about(name string, kind uint16) *dns.Msg {
	m := new(dns.Msg)
	return m.SetQuestion(dns.Fqdn(name), kind)
}

// addressIn returns the address in an answer, "" if there is none.
func addressIn(m *dns.Msg) string {
	if len(m.Answer) != 1 {
		return ""
	}
	a, ok := m.Answer[0].(*dns.A)
	if !ok {
		return ""
	}
	return a.A.String()
}

// value returns a counter or gauge of the server.
func (f *fixture) value(t testing.TB, reg prometheus.Gatherer, family, label string) int {
	t.Helper()
	return int(metrictest.Value(t, reg, family, label))
}

func (f *fixture) dropped(t testing.TB, reason drop) int {
	t.Helper()
	return f.value(t, f.metrics, "respawnd_dropped_total", reason.Error())
}

// counted returns one of the package's own counters.
func (f *fixture) counted(t testing.TB, family, label string) int {
	t.Helper()
	return f.value(t, f.opt.Registerer.(*prometheus.Registry), family, label)
}

// listen opens a port of the loopback address for UDP and TCP.
func listen(t testing.TB) (conn *netserve.PacketConn, ln net.Listener) {
	t.Helper()
	for range 20 { // one that is free for TCP may be taken for UDP
		ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		conn, err := netserve.ListenPackets(t.Context(), "udp4", ln.Addr().String(), netserve.ListenOptions{})
		if err == nil {
			return conn, ln
		}
		_ = ln.Close()
	}
	t.Fatal("no port is free for UDP and TCP")
	return nil, nil
}

// running is a server on loopback sockets.
type running struct {
	*fixture
	at netip.AddrPort // of both
}

func start(t testing.TB, change func(*Options)) *running {
	t.Helper()
	r := &running{fixture: newServer(t, change)}
	conn, ln := listen(t)
	r.at = conn.LocalAddr()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Serve(ctx, conn, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		_ = conn.Close()
	})
	return r
}

// overUDP asks over a socket.
func (r *running) overUDP(t testing.TB, m *dns.Msg) *dns.Msg {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "udp4", r.at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(hang))
	if _, err := conn.Write(pack(t, m)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 64<<10)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	return unpack(t, buf[:n])
}

// connect opens a connection.
func (r *running) connect(t testing.TB) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp4", r.at.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(hang))
	return conn
}

func framed(b []byte) []byte { return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...) }

// next reads an answer from a connection.
func next(t testing.TB, conn net.Conn) *dns.Msg {
	t.Helper()
	n, err := readLength(conn)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(conn, b); err != nil {
		t.Fatal(err)
	}
	return unpack(t, b)
}

// upstream is a DNS server of the test, over UDP and TCP. answer gets a question
// and returns the packets to send; it may be called concurrently.
func upstream(t testing.TB, answer func(network string, m *dns.Msg) [][]byte) netip.AddrPort {
	t.Helper()
	udp, ln := listen(t)
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		_ = netserve.ServePackets(ctx, udp, answers(func(p []byte) [][]byte {
			m := new(dns.Msg)
			if m.Unpack(p) != nil {
				return nil
			}
			return answer("udp", m)
		}), netserve.PacketOptions{})
	})
	serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if n, err := readLength(c); err == nil {
				b := make([]byte, n)
				m := new(dns.Msg)
				if _, err := io.ReadFull(c, b); err == nil && m.Unpack(b) == nil {
					for _, p := range answer("tcp", m) {
						_, _ = c.Write(framed(p))
					}
				}
			}
			_ = c.Close()
		}
	})
	t.Cleanup(func() { cancel(); _ = ln.Close(); serving.Wait(); _ = udp.Close() })
	return netip.MustParseAddrPort(ln.Addr().String())
}

// answers answers packets.
type answers func([]byte) [][]byte

func (f answers) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	for _, a := range f(p.Data) {
		_ = w.WritePacket(a, p.To, p.From)
	}
}

// says returns an answer with an address.
func says(t testing.TB, m *dns.Msg, ip string) *dns.Msg {
	t.Helper()
	a := new(dns.Msg).SetReply(m)
	a.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: m.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 5}, A: net.ParseIP(ip)}}
	return a
}
