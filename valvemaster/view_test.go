package valvemaster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

// fresh returns the list as it is now.
func (v *valve) fresh() []string {
	old := v.lister.now.Load()
	at := time.Duration(0)
	if old != nil {
		at = old.made + viewEvery
	}
	var out []string
	for _, e := range v.lister.current(at).entries {
		out = append(out, e.addr.String())
	}
	return out
}

// TestViewFollowsTheList compares the view with one that is made again, after
// every kind of change.
func TestViewFollowsTheList(t *testing.T) {
	v := newValve(t, nil)
	random := rand.New(rand.NewPCG(1, 2))
	address := func() netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(random.IntN(20))}), uint16(1+random.IntN(3)))
	}
	origins := []*master.Origin{Origin, Origin, master.Static, qr2.Origin}
	for round := range 1000 {
		for range random.IntN(4) {
			a := address()
			switch random.IntN(7) {
			case 0:
				v.list.Remove(master.Key{Source: a})
			case 5:
				v.list.Hide(a)
			case 6:
				v.list.Unhide(a)
			case 1: // under another public address, which may be taken
				srv := master.Server{Key: master.Key{Source: a}, Public: address(), Game: "tf", Origin: Origin, Seen: time.Now()}
				_ = v.list.Put(srv)
			default:
				_ = put(v.list, a, origins[random.IntN(len(origins))], map[string]string{"gamename": "tf", "numplayers": "1"})
			}
		}
		got := v.fresh()
		want := newLister(v.list, v.regionOf).current(0)
		var all []string
		for _, e := range want.entries {
			all = append(all, e.addr.String())
		}
		if !slices.Equal(got, all) {
			t.Fatalf("round %d: got %v, want %v", round, got, all)
		}
		if n := v.lister.rows.Len(); n != len(all) {
			t.Fatalf("round %d: %d servers are remembered, want %d", round, n, len(all))
		}
	}
}

// A server may say where it is after it was listed: the first heartbeat after our
// restart comes minutes after the first answer.
func TestRegionOfALaterHeartbeatCounts(t *testing.T) {
	v := newValve(t, nil)
	a := v.register("10.0.0.1:27015", map[string]string{"hostname": "x", "country": "DE", "region": "65536"})
	shown := func(region byte) bool {
		v.lister.now.Load().made = -viewEvery
		all, _ := v.walk("203.0.113.1:1", region, "")
		return len(all) == 1
	}
	delete(v.asker.answers, a) // from now on its record stays as it is
	v.lister.current(0)
	if !shown(RegionEurope) || shown(RegionAsia) {
		t.Fatal("a server that says nothing is not where its address is")
	}
	for _, region := range []byte{RegionAsia, RegionAfrica, AnyRegion} {
		if dropped := v.send(a, beat(t, Heartbeat{Challenge: v.challengeFor(a), Region: region})); dropped != uplink.NotDropped {
			t.Fatalf("heartbeat: dropped: %s", dropped)
		}
		if got, want := shown(RegionEurope), region == AnyRegion; got != want || (!want && !shown(region)) {
			t.Errorf("after a heartbeat from region %d it is in Europe: %v, want %v; in the region: %v", region, got, want, shown(region))
		}
	}
}

func TestManyServersMayMoveAtOnce(t *testing.T) {
	v := newValve(t, nil)
	v.lister.current(0)
	for i := range manyMoved + 2 {
		a := v.register(fmt.Sprintf("10.0.%d.%d:27015", i/250, i%250), map[string]string{"hostname": "x", "country": "DE", "region": "65536"})
		if i == 0 {
			v.fresh()
		}
		delete(v.asker.answers, a)
		if dropped := v.send(a, beat(t, Heartbeat{Challenge: v.challengeFor(a), Region: RegionAsia})); dropped != uplink.NotDropped {
			t.Fatalf("heartbeat of %v: dropped: %s", a, dropped)
		}
	}
	if n := len(v.lister.moved); n > manyMoved {
		t.Errorf("%d moves are remembered, want at most %d", n, manyMoved)
	}
	v.fresh()
	for _, e := range v.lister.now.Load().entries {
		if e.regions != 1<<RegionAsia {
			t.Fatalf("%v is in regions %08b, want Asia", e.addr, e.regions)
		}
	}
}

func TestViewSurvivesALogThatIsTooShort(t *testing.T) {
	registry := master.NewRegistry(master.Limits{Changes: 8, PerNet: 1 << 16})
	v := newValve(t, func(o *Options) { o.Registry, o.Targets = registry, newAsker(registry) })
	v.fresh()
	want := populate(t, registry, 100)
	if got := v.fresh(); !slices.Equal(got, want) {
		t.Errorf("got %d servers, want %d", len(got), len(want))
	}
}

func TestViewIsNotMadeForEveryRequest(t *testing.T) {
	v := newValve(t, nil)
	populate(t, v.list, 3)
	first := v.lister.current(0)
	populate(t, v.list, 5)
	if v.lister.current(viewEvery-1) != first {
		t.Errorf("a view was made again before %v", viewEvery)
	}
	if got := v.lister.current(viewEvery); len(got.entries) != 5 {
		t.Errorf("after %v the view has %d servers, want 5", viewEvery, len(got.entries))
	}
	if len(first.entries) != 3 {
		t.Error("a view changed")
	}
}

// TestRace: servers, browsers, changes and the ticker at once.
func TestRace(t *testing.T) {
	v := newValve(t, func(o *Options) { o.PagesPerAddr, o.PagesPerNet = -1, -1 })
	populate(t, v.list, 300)
	var g sync.WaitGroup
	run := func(work func(i int)) {
		g.Go(func() {
			for i := range 300 {
				work(i)
			}
		})
	}
	for n := range 2 {
		run(func(i int) {
			a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(n), byte(i)}), 27015)
			w := &wire{}
			_ = v.handle(w, netserve.Packet{Data: []byte("q"), From: a})
			if sent := w.Take(); len(sent) == 1 {
				c, _ := ParseChallenge(sent[0].data)
				b, _ := Heartbeat{Challenge: c.Challenge}.AppendTo(nil)
				_ = v.handle(w, netserve.Packet{Data: b, From: a})
			}
		})
		run(func(i int) {
			a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 2, byte(n), byte(i)}), 1)
			w := &wire{}
			seed := Start
			for range 5 {
				_ = v.handle(w, netserve.Packet{Data: ListRequest{AnyRegion, seed, []byte(`\empty\1`)}.AppendTo(nil), From: a})
				for _, p := range w.Take() {
					l, _ := ParseList(p.data)
					if seed = l.continuation(); !seed.IsValid() {
						seed = Start
					}
				}
			}
		})
	}
	run(func(i int) {
		_ = put(v.list, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 3, 0, byte(i)}), 1), Origin, someRules)
		v.list.Remove(master.Key{Source: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 3, 0, byte(i + 100)}), 1)})
	})
	run(func(int) { v.tick(time.Now()); v.Reload(&v.opt.Config) })
	g.Wait()
}

func TestServeOverASocket(t *testing.T) {
	v := newValve(t, nil)
	a := netip.MustParseAddrPort("192.0.2.1:27015")
	if err := put(v.list, a, Origin, someRules); err != nil {
		t.Fatal(err)
	}
	conn, err := netserve.ListenPackets(t.Context(), "udp4", "127.0.0.1:0", netserve.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	client, err := netserve.ListenPackets(t.Context(), "udp4", "127.0.0.1:0", netserve.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- v.Serve(ctx, conn) }()
	got := make(chan List, 1)
	go func() {
		ended <- netserve.ServePackets(ctx, client, take(func(p []byte) {
			if l, err := ParseList(p); err == nil {
				got <- l
			}
		}), netserve.PacketOptions{})
	}()
	if err := client.WritePacket(ListRequest{AnyRegion, Start, nil}.AppendTo(nil), netip.Addr{}, conn.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	if l := <-got; !l.Last || len(l.Servers) != 1 || l.Servers[0] != a {
		t.Errorf("list over a socket: %+v", l)
	}
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// take calls itself with each packet.
type take func([]byte)

func (f take) ServePacket(_ netserve.PacketWriter, p netserve.Packet) { f(p.Data) }
