package natneg_test

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/natneg"
	"github.com/respawnd/respawnd/natneg/natnegtest"
)

// city is a server and the players around it on a network in memory.
type city struct {
	t      *testing.T
	net    *natnegtest.Memory
	server *natneg.Server
	at     [3]netip.AddrPort

	meetings meeting.Recorder
	relay    *cityRelay
}

// memoryWriter is a socket of the server.
type memoryWriter struct{ natnegtest.Socket }

func (w memoryWriter) WritePacket(data []byte, _ netip.Addr, to netip.AddrPort) error {
	w.Send(data, to)
	return nil
}

// newCity starts a server with 1 to 3 addresses. It needs synctest; the server
// stops when ctx ends.
func newCity(t *testing.T, ctx context.Context, addresses int) *city {
	t.Helper()
	c := &city{t: t, net: &natnegtest.Memory{Delay: 20 * time.Millisecond}}
	opt := natneg.DefaultOptions()
	c.relay = &cityRelay{net: c.net, first: service.FirstUnknown}
	opt.Meetings, opt.Relay = &c.meetings, c.relay
	c.server = natneg.New(opt)
	go c.server.OpenRelays(ctx)
	var writers []netserve.PacketWriter
	for i := range addresses {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i + 1)}), 27901)
		var w memoryWriter
		ready := make(chan struct{})
		sock, err := c.net.Open(at, func(data []byte, from netip.AddrPort) {
			<-ready
			c.server.Deliver(uint16(i), w, netserve.Packet{Data: data, From: from, To: at.Addr()})
		})
		if err != nil {
			t.Fatal(err)
		}
		w = memoryWriter{sock}
		close(ready)
		writers = append(writers, w)
		for k := i; k < len(c.at); k++ {
			c.at[k] = at
		}
	}
	if addresses == 2 {
		c.at[2] = c.at[0] // natneg3 is natneg1
	}
	var secondWriter memoryWriter
	second, err := c.net.Open(netip.MustParseAddrPort("198.51.100.1:40000"), func(data []byte, from netip.AddrPort) {
		c.server.DeliverSecond(secondWriter, netserve.Packet{Data: data, From: from, To: c.at[0].Addr()})
	})
	if err != nil {
		t.Fatal(err)
	}
	secondWriter = memoryWriter{second}
	c.server.Attach(writers, c.at[:addresses], memoryWriter{second}, second.Addr())
	go func() {
		tick := time.NewTicker(natneg.WheelStep)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				c.server.Tick()
			}
		}
	}()
	return c
}

// nat returns a NAT with the public address 203.0.113.n.
func (c *city) nat(n byte, kind natnegtest.Kind) *natnegtest.NAT {
	return &natnegtest.NAT{Kind: kind, Outside: c.net, Public: netip.AddrFrom4([4]byte{203, 0, 113, n})}
}

// player returns a player on a network. game reports whether the game has a socket of its own.
func (c *city) player(n natnegtest.Net, local string, index byte, game bool) *natnegtest.Player {
	a := netip.MustParseAddr(local)
	p := &natnegtest.Player{
		Net: n, Local: netip.AddrPortFrom(a, 5000+uint16(index)), Servers: c.at, Cookie: 0x12345678,
		Index: index, Name: "gmtest", Linger: 3 * time.Second,
	}
	if game {
		p.Game = netip.AddrPortFrom(a, 6500)
	}
	return p
}

// meet has players negotiate; the second one starts after the pause.
func (c *city) meet(ctx context.Context, pause time.Duration, players ...*natnegtest.Player) []natnegtest.Result {
	c.t.Helper()
	results := make([]natnegtest.Result, len(players))
	var wg sync.WaitGroup
	for i, p := range players {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * pause)
			r, err := p.Run(ctx)
			if err != nil {
				c.t.Errorf("player %d: %v", i, err)
			}
			results[i] = r
		})
	}
	wg.Wait()
	return results
}

func TestPlayersBehindNATsMeet(t *testing.T) {
	const (
		full = natnegtest.FullCone
		addr = natnegtest.Restricted
		port = natnegtest.PortRestricted
		symm = natnegtest.Symmetric
	)
	tests := map[string]struct {
		client, host natnegtest.Kind
		addresses    int
		step         int // of the symmetric NATs; 0: ports without order
		want         natnegtest.End
	}{
		"full cone, full cone":                                      {full, full, 1, 0, natnegtest.Connected},
		"restricted, port restricted":                               {addr, port, 1, 0, natnegtest.Connected},
		"port restricted, port restricted":                          {port, port, 1, 0, natnegtest.Connected},
		"symmetric, full cone":                                      {symm, full, 1, 0, natnegtest.Connected},
		"full cone, symmetric":                                      {full, symm, 1, 0, natnegtest.Connected},
		"symmetric, restricted":                                     {symm, addr, 1, 0, natnegtest.Connected},
		"restricted, symmetric":                                     {addr, symm, 1, 0, natnegtest.Connected},
		"port restricted, symmetric without order":                  {port, symm, 3, 0, natnegtest.PingTimeout},
		"port restricted, symmetric in steps, three addresses":      {port, symm, 3, 1, natnegtest.Connected},
		"port restricted, symmetric in steps of 2, three addresses": {port, symm, 3, 2, natnegtest.Connected},
		"port restricted, symmetric in steps, two addresses":        {port, symm, 2, 1, natnegtest.Connected},
		"symmetric, symmetric":                                      {symm, symm, 1, 0, natnegtest.PingTimeout},
	}
	for name, tc := range tests {
		for _, game := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, stop := context.WithCancel(t.Context())
					defer stop()
					c := newCity(t, ctx, tc.addresses)
					c.relay.off = true
					nats := []*natnegtest.NAT{c.nat(10, tc.client), c.nat(20, tc.host)}
					for _, n := range nats {
						n.Port = natnegtest.Scattered()
						if tc.step != 0 {
							n.Port = natnegtest.Steps(30000, tc.step)
						}
					}
					got := c.meet(ctx, 300*time.Millisecond,
						c.player(nats[0], "192.168.1.5", 0, game), c.player(nats[1], "10.0.0.7", 1, game))
					for i, r := range got {
						if r.End != tc.want || !r.Confirmed {
							t.Errorf("player %d, game socket %v: got %v, confirmed %v; want %v", i, game, r.End, r.Confirmed, tc.want)
						}
					}
					way := meeting.Negotiated
					if tc.want == natnegtest.PingTimeout {
						way = meeting.Failed
					}
					if counts := c.meetings.Counts(); len(counts) != 1 || counts[0].Way != way || counts[0].Number != 1 {
						t.Errorf("counted %+v, want one pair that is %v", counts, way)
					}
					stop()
					synctest.Wait()
				})
			})
		}
	}
}

// inCity runs a test with a server and time that passes by itself.
func inCity(t *testing.T, addresses int, f func(t *testing.T, ctx context.Context, c *city)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		f(t, ctx, newCity(t, ctx, addresses))
		stop()
		synctest.Wait()
	})
}

// A player's packets to natneg1, natneg2 and natneg3, and those of its game, come
// from two addresses of its carrier.
func TestPlayerBehindCarrierNAT(t *testing.T) {
	inCity(t, 3, func(t *testing.T, ctx context.Context, c *city) {
		carrier := c.nat(10, natnegtest.Symmetric)
		carrier.Pool = []netip.Addr{netip.MustParseAddr("203.0.113.11")}
		got := c.meet(ctx, 0,
			c.player(carrier, "192.168.1.5", 0, true),
			c.player(c.nat(20, natnegtest.FullCone), "10.0.0.7", 1, true))
		for i, r := range got {
			if r.End != natnegtest.Connected {
				t.Errorf("player %d: got %v, want connected", i, r.End)
			}
		}
	})
}

func TestPlayersOnOneNetwork(t *testing.T) {
	tests := map[string]struct {
		host         string
		wantC, wantH string // addresses that client and host receive
	}{
		"same part":  {"192.168.1.9", "192.168.1.9:6500", "192.168.1.5:6500"},
		"other part": {"192.168.2.9", "192.168.2.9:6500", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inCity(t, 1, func(t *testing.T, ctx context.Context, c *city) {
				n := c.nat(10, natnegtest.PortRestricted)
				n.NoHairpin = true
				got := c.meet(ctx, 0, c.player(n, "192.168.1.5", 0, true), c.player(n, tc.host, 1, true))
				for i, want := range []string{tc.wantC, tc.wantH} {
					if got[i].End != natnegtest.Connected || (want != "" && got[i].Told.String() != want) {
						t.Errorf("player %d: got %v, told %v; want connected, told %v", i, got[i].End, got[i].Told, want)
					}
				}
			})
		})
	}
}

func TestOldVersionsMeet(t *testing.T) {
	for version := byte(1); version <= 4; version++ {
		inCity(t, 1, func(t *testing.T, ctx context.Context, c *city) {
			a := c.player(c.nat(10, natnegtest.PortRestricted), "192.168.1.5", 0, true)
			b := c.player(c.nat(20, natnegtest.PortRestricted), "192.168.1.5", 1, true)
			a.Version, b.Version = version, version
			for i, r := range c.meet(ctx, 0, a, b) {
				if r.End != natnegtest.Connected || r.Confirmed != (version >= 3) {
					t.Errorf("version %d, player %d: got %v, report confirmed: %v", version, i, r.End, r.Confirmed)
				}
			}
		})
	}
}

func TestPlayersMeetDespiteLoss(t *testing.T) {
	inCity(t, 1, func(t *testing.T, ctx context.Context, c *city) {
		type flow struct {
			from, to netip.AddrPort
			typ      natneg.Type
		}
		came := make(map[flow]int)
		c.net.Lost = func(from, to netip.AddrPort, data []byte) bool { // the first of three of each flow
			h, _, _ := natneg.ParseHeader(data)
			f := flow{from, to, h.Type}
			came[f]++
			return came[f]%3 == 1
		}
		got := c.meet(ctx, time.Second,
			c.player(c.nat(10, natnegtest.PortRestricted), "192.168.1.5", 0, true),
			c.player(c.nat(20, natnegtest.PortRestricted), "192.168.1.5", 1, true))
		for i, r := range got {
			if r.End != natnegtest.Connected {
				t.Errorf("player %d: got %v, want connected", i, r.End)
			}
		}
	})
}

// Receipts that are slower than the next init come twice.
func TestSlowReceipts(t *testing.T) {
	inCity(t, 1, func(t *testing.T, ctx context.Context, c *city) {
		c.net.Delay = 300 * time.Millisecond
		got := c.meet(ctx, 5*time.Second,
			c.player(c.nat(10, natnegtest.PortRestricted), "192.168.1.5", 0, true),
			c.player(c.nat(20, natnegtest.PortRestricted), "192.168.1.5", 1, true))
		for i, r := range got {
			if r.End != natnegtest.Connected || !r.Confirmed {
				t.Errorf("player %d: got %v, report confirmed: %v", i, r.End, r.Confirmed)
			}
		}
	})
}

func TestLostConnectsAreRepeatedInTime(t *testing.T) {
	inCity(t, 1, func(t *testing.T, ctx context.Context, c *city) {
		start := time.Now()
		c.net.Lost = func(from, _ netip.AddrPort, data []byte) bool { // the first three seconds of connects
			h, _, err := natneg.ParseHeader(data)
			return err == nil && h.Type == natneg.TypeConnect && time.Since(start) < 3*time.Second
		}
		got := c.meet(ctx, 0,
			c.player(c.nat(10, natnegtest.PortRestricted), "192.168.1.5", 0, true),
			c.player(c.nat(20, natnegtest.PortRestricted), "192.168.1.5", 1, true))
		for i, r := range got {
			if r.End != natnegtest.Connected || r.Connects != 1 {
				t.Errorf("player %d: got %v after %d connects, want connected after 1", i, r.End, r.Connects)
			}
		}
	})
}

func TestWaitingPlayerWithoutPartner(t *testing.T) {
	for _, version := range []byte{1, 2, 3, 4} {
		inCity(t, 1, func(t *testing.T, ctx context.Context, c *city) {
			p := c.player(c.nat(10, natnegtest.PortRestricted), "192.168.1.5", 0, true)
			p.Version = version
			start := time.Now()
			got := c.meet(ctx, 0, p)[0]
			if took := time.Since(start); got.End != natnegtest.NoPartner || got.Connects != 1 || took < 20*time.Second || took > 30*time.Second {
				t.Errorf("version %d: got %v after %v and %d connects, want no partner after 20 to 30 s and 1 connect", version, got.End, took, got.Connects)
			}
			time.Sleep(3 * time.Second)
			if n := c.server.Open(); n != 0 {
				t.Errorf("version %d: %d cookies are open after the end", version, n)
			}
		})
	}
}

func TestLatePartnerIsIntroduced(t *testing.T) {
	inCity(t, 1, func(t *testing.T, ctx context.Context, c *city) {
		got := c.meet(ctx, 20*time.Second,
			c.player(c.nat(10, natnegtest.PortRestricted), "192.168.1.5", 0, false),
			c.player(c.nat(20, natnegtest.PortRestricted), "192.168.1.5", 1, true))
		for i, r := range got {
			if r.End != natnegtest.Connected {
				t.Errorf("player %d: got %v, want connected", i, r.End)
			}
		}
	})
}

func TestPartnerOfIncompleteClient(t *testing.T) {
	inCity(t, 1, func(t *testing.T, ctx context.Context, c *city) {
		client := c.player(c.nat(10, natnegtest.PortRestricted), "192.168.1.5", 0, true)
		host := c.player(c.nat(20, natnegtest.PortRestricted), "192.168.1.5", 1, true)
		c.net.Lost = func(_, _ netip.AddrPort, data []byte) bool { // the inits of the host's game socket
			h, body, err := natneg.ParseHeader(data)
			if err != nil || h.Type != natneg.TypeInit {
				return false
			}
			i, ok := natneg.ParseInit(h.Version, body)
			return ok && i.Index == 1 && i.PortType == natneg.PortGame
		}
		start := time.Now()
		got := c.meet(ctx, 0, client, host)
		took := time.Since(start)
		if got[0].End != natnegtest.NoPartner || got[1].End != natnegtest.InitTimeout || took > 17*time.Second {
			t.Errorf("got %v and %v after %v, want no partner and init timeout within 17 s", got[0].End, got[1].End, took)
		}
	})
}

func TestBothStartAgainWithTheSameCookie(t *testing.T) {
	inCity(t, 1, func(t *testing.T, ctx context.Context, c *city) {
		nats := []*natnegtest.NAT{c.nat(10, natnegtest.PortRestricted), c.nat(20, natnegtest.PortRestricted)}
		for round := range uint16(3) {
			players := []*natnegtest.Player{
				c.player(nats[0], "192.168.1.5", 0, false),
				c.player(nats[1], "192.168.1.5", 1, true),
			}
			for _, p := range players {
				p.Local = netip.AddrPortFrom(p.Local.Addr(), p.Local.Port()+10*round)
				p.Version = 2 // no report ends the negotiation
			}
			for i, r := range c.meet(ctx, 400*time.Millisecond, players...) {
				if r.End != natnegtest.Connected {
					t.Errorf("round %d, player %d: got %v, want connected", round, i, r.End)
				}
			}
		}
	})
}

func TestPlayersMeetOverLoopback(t *testing.T) {
	loop := netip.MustParseAddr("127.0.0.1")
	tests := map[string][2]natnegtest.Kind{
		"port restricted, port restricted": {natnegtest.PortRestricted, natnegtest.PortRestricted},
		"symmetric, full cone":             {natnegtest.Symmetric, natnegtest.FullCone},
	}
	for name, kinds := range tests {
		t.Run(name, func(t *testing.T) {
			at := serve(t, natneg.DefaultOptions())
			results := make([]natnegtest.Result, 2)
			var wg sync.WaitGroup
			for i := range results {
				n := &natnegtest.NAT{Kind: kinds[i], Outside: natnegtest.System{}, Public: loop}
				t.Cleanup(n.Close)
				local := netip.AddrFrom4([4]byte{10, 0, byte(i), 5})
				p := &natnegtest.Player{
					Net: n, Local: netip.AddrPortFrom(local, 5000), Game: netip.AddrPortFrom(local, 6500),
					Servers: [3]netip.AddrPort{at, at, at}, Cookie: 77, Index: byte(i), Name: "gmtest",
				}
				wg.Go(func() {
					r, err := p.Run(t.Context())
					if err != nil {
						t.Error(err)
					}
					results[i] = r
				})
			}
			wg.Wait()
			for i, r := range results {
				if r.End != natnegtest.Connected || !r.Confirmed {
					t.Errorf("player %d: got %v, report confirmed: %v", i, r.End, r.Confirmed)
				}
			}
		})
	}
}

// serve runs a server on loopback until the test ends.
func serve(t testing.TB, opt natneg.Options) netip.AddrPort {
	t.Helper()
	open := func() *netserve.PacketConn {
		c, err := netserve.ListenPackets(t.Context(), "udp4", "127.0.0.1:0", netserve.ListenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	sockets := natneg.Sockets{Main: open(), Second: open()}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- natneg.New(opt).Serve(ctx, sockets) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return sockets.Main.LocalAddr()
}

func TestNATTest3IsAnsweredFromAnotherPort(t *testing.T) {
	at := serve(t, natneg.DefaultOptions())
	came := make(chan netip.AddrPort, 4)
	sock, err := natnegtest.System{}.Open(netip.MustParseAddrPort("127.0.0.1:0"), func(data []byte, from netip.AddrPort) {
		if h, _, err := natneg.ParseHeader(data); err == nil && h.Type == natneg.TypeTest {
			came <- from
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sock.Close()
	for _, port := range []natneg.PortType{natneg.PortNN1, natneg.PortNN3} {
		c := natneg.Check{Test: natneg.Test{PortType: port}}
		sock.Send(c.AppendTo(natneg.Header{Version: 4, Type: natneg.TypeNATTest, Cookie: 777}.AppendTo(nil)), at)
		from := <-came
		if from.Addr() != at.Addr() || (from == at) != (port == natneg.PortNN1) {
			t.Errorf("NAT test %d was answered from %v, the server is at %v", port, from, at)
		}
	}
}

func TestServeTooManySockets(t *testing.T) {
	extra := make([]*netserve.PacketConn, natneg.MaxExtra+1)
	err := natneg.New(natneg.DefaultOptions()).Serve(t.Context(), natneg.Sockets{Extra: extra})
	if !errors.Is(err, natneg.ErrTooManySockets) {
		t.Errorf("Serve with %d extra sockets: got %v, want %v", len(extra), err, natneg.ErrTooManySockets)
	}
}

func TestExtraSocketsAreServed(t *testing.T) {
	open := func() *netserve.PacketConn {
		c, err := netserve.ListenPackets(t.Context(), "udp4", "127.0.0.1:0", netserve.ListenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	sockets := natneg.Sockets{Main: open(), Extra: []*netserve.PacketConn{open(), open()}}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- natneg.New(natneg.DefaultOptions()).Serve(ctx, sockets) }()

	players := make([]*natnegtest.Player, 2)
	results := make(chan natnegtest.Result, len(players))
	for i := range players {
		p := &natnegtest.Player{
			Net: natnegtest.System{}, Local: netip.MustParseAddrPort("127.0.0.1:0"), Cookie: 78, Index: byte(i), Name: "gmtest",
			Servers: [3]netip.AddrPort{sockets.Main.LocalAddr(), sockets.Extra[0].LocalAddr(), sockets.Extra[1].LocalAddr()},
		}
		go func() {
			r, err := p.Run(ctx)
			if err != nil {
				t.Error(err)
			}
			results <- r
		}()
	}
	for range players {
		if r := <-results; r.End != natnegtest.Connected {
			t.Errorf("a player ended with %v, want connected", r.End)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}
