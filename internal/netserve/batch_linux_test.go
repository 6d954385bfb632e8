package netserve

import (
	"bytes"
	"net"
	"net/netip"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestAnswersKeepTheirOrder(t *testing.T) {
	long := bytes.Repeat([]byte{'l'}, batchReply+1)
	var answers [][]byte // more than a batch, with some in it that do not wait for its end
	for i := range 2*batchPackets + 3 {
		answers = append(answers, []byte{byte(i)})
	}
	answers[5], answers[2*batchPackets] = long, long
	answers[6], answers[7] = long[:batchReply], nil
	for network, address := range map[string]string{"udp4": "127.0.0.1:0", "udp": "0.0.0.0:0"} {
		t.Run(network, func(t *testing.T) {
			reg := prometheus.NewRegistry()
			pc := listen(t, network, address, ListenOptions{})
			stop := servePackets(t, pc, packetFunc(func(w PacketWriter, p Packet) {
				for _, a := range answers {
					if err := w.WritePacket(a, p.To, p.From); err != nil {
						t.Errorf("WritePacket of %d bytes: %v", len(a), err)
					}
				}
			}), PacketOptions{Metrics: NewMetrics(reg, "test")})
			c := dial(t, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), pc.LocalAddr().Port()).String())
			if _, err := c.Write([]byte("?")); err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 1500)
			size := 0
			for i, want := range answers {
				n, err := c.Read(buf)
				if err != nil || !bytes.Equal(buf[:n], want) {
					t.Fatalf("answer %d: got %x, %v, want %x", i, buf[:n], err, want)
				}
				size += n
			}
			_ = stop()
			wantValue(t, reg, "respawnd_packets_sent_total", "", float64(len(answers)))
			wantValue(t, reg, "respawnd_bytes_sent_total", "", float64(size))
		})
	}
}

func TestBatchAfterRefusedAnswer(t *testing.T) {
	reg := prometheus.NewRegistry()
	pc := listen(t, "udp4", "127.0.0.1:0", ListenOptions{})
	nowhere := netip.MustParseAddrPort("127.0.0.1:0")
	stop := servePackets(t, pc, packetFunc(func(w PacketWriter, p Packet) {
		_ = w.WritePacket([]byte("lost"), p.To, nowhere)
		_ = w.WritePacket([]byte("first"), p.To, p.From)
		_ = w.WritePacket([]byte("lost"), p.To, nowhere)
		_ = w.WritePacket([]byte("lost"), p.To, nowhere)
		_ = w.WritePacket([]byte("second"), p.To, p.From)
	}), PacketOptions{Metrics: NewMetrics(reg, "test")})
	c := dial(t, pc.LocalAddr().String())
	if got := exchange(t, c, []byte("?")); got != "first" {
		t.Errorf("answer: got %q, want first", got)
	}
	buf := make([]byte, 16)
	if n, err := c.Read(buf); err != nil || string(buf[:n]) != "second" {
		t.Errorf("answer: got %q, %v, want second", buf[:n], err)
	}
	_ = stop()
	wantValue(t, reg, "respawnd_dropped_total", dropWriteError, 3)
	wantValue(t, reg, "respawnd_packets_sent_total", "", 2)
}

func TestUnsendableAnswer(t *testing.T) {
	pc := listen(t, "udp4", "127.0.0.1:0", ListenOptions{})
	errs := make(chan error, 2)
	servePackets(t, pc, packetFunc(func(w PacketWriter, p Packet) {
		errs <- w.WritePacket([]byte("x"), p.To, netip.MustParseAddrPort("[2001:db8::1]:1"))
		errs <- w.WritePacket([]byte("x"), p.To, netip.AddrPort{})
		answer(w, p)
	}), PacketOptions{})
	if got := exchange(t, dial(t, pc.LocalAddr().String()), []byte("?")); got != "answer!" {
		t.Errorf("answer: got %q", got)
	}
	for _, to := range []string{"IPv6 on an IPv4 socket", "no address"} {
		if <-errs == nil {
			t.Errorf("WritePacket, %s: no error", to)
		}
	}
}

// More datagrams than one batch takes, from two clients in turn.
func TestDatagramsOfABatchAreKeptApart(t *testing.T) {
	pc := listen(t, "udp4", "127.0.0.1:0", ListenOptions{})
	clients := []*net.UDPConn{dial(t, pc.LocalAddr().String()), dial(t, pc.LocalAddr().String())}
	const each = 2 * batchPackets
	for i := range each {
		for n, c := range clients { // no client reads yet
			if _, err := c.Write(bytes.Repeat([]byte{byte(n), byte(i)}, 1+i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	servePackets(t, pc, packetFunc(func(w PacketWriter, p Packet) { _ = w.WritePacket(p.Data, p.To, p.From) }), PacketOptions{})
	buf := make([]byte, 1500)
	for n, c := range clients {
		for i := range each {
			k, err := c.Read(buf)
			if want := bytes.Repeat([]byte{byte(n), byte(i)}, 1+i); err != nil || !bytes.Equal(buf[:k], want) {
				t.Fatalf("client %d, answer %d: got %x, %v, want %x", n, i, buf[:k], err, want)
			}
		}
	}
}

// A socket with little traffic keeps a small buffer, one with much reads batches.
func TestBatchGrows(t *testing.T) {
	pc := listen(t, "udp4", "127.0.0.1:0", ListenOptions{})
	b, err := newBatch(pc.sockets[0])
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, pc.LocalAddr().String())
	next, sent := 0, 0
	send := func(n int) {
		t.Helper()
		for range n {
			sent++
			if _, err := c.Write(bytes.Repeat([]byte{byte(sent)}, sent)); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill := func(want, slots int) {
		t.Helper()
		n, err := b.fill()
		if n != want || err != nil || b.slots != slots {
			t.Fatalf("fill = %d, %v into %d buffers, want %d into %d", n, err, b.slots, want, slots)
		}
		for i := range n {
			next++
			if got, want := b.packet(i).Data, bytes.Repeat([]byte{byte(next)}, next); !bytes.Equal(got, want) {
				t.Fatalf("datagram %d: got %x, want %x", next, got, want)
			}
		}
	}
	for range 3 {
		send(1)
		fill(1, min(2, next+1))
	}
	send(2)
	fill(2, 2)
	send(1)
	fill(1, 4) // the last one had no room for more
	send(4 + 8 + 2*batchPackets)
	fill(4, 4)
	fill(8, 8)
	fill(batchPackets, batchPackets)
	fill(batchPackets, batchPackets)
	send(1)
	fill(1, batchPackets)
}

func TestReadingAndAnsweringAllocateNothing(t *testing.T) {
	pc := listen(t, "udp4", "0.0.0.0:0", ListenOptions{})
	b, err := newBatch(pc.sockets[0])
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), pc.LocalAddr().Port()).String())
	data, buf := []byte("datagram"), make([]byte, 16)
	if got := testing.AllocsPerRun(100, func() {
		if _, err := c.Write(data); err != nil {
			t.Fatal(err)
		}
		n, err := b.fill()
		if n != 1 || err != nil {
			t.Fatalf("fill: got %d, %v, want 1", n, err)
		}
		p := b.packet(0)
		_ = b.WritePacket(p.Data[:1], p.To, p.From)
		b.flush()
		if _, err := c.Read(buf); err != nil {
			t.Fatal(err)
		}
	}); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

func TestSockaddrIsReadAsWritten(t *testing.T) {
	for name, tc := range map[string]struct {
		ipv6 bool
		addr string
	}{
		"IPv4":                   {false, "192.0.2.7:28910"},
		"IPv4 on an IPv6 socket": {true, "192.0.2.7:28910"},
		"IPv6":                   {true, "[2001:db8::7]:65535"},
	} {
		var a sockaddr
		want := netip.MustParseAddrPort(tc.addr)
		a.set(netip.MustParseAddrPort("[ffff::ffff]:1"), true)
		a.set(want, tc.ipv6)
		if got := a.addrPort(); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	var link sockaddr
	link.set(netip.MustParseAddrPort("[fe80::1]:5"), true)
	link[24] = 1 // on either byte order the scope is not zero
	if a := link.addrPort().Addr(); a.Zone() == "" || a.WithZone("") != netip.MustParseAddr("fe80::1") {
		t.Errorf("link-local: got %v, want fe80::1 with a zone", a)
	}
}
