package zanmaster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

func TestLauncherWaitsForItsNextList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newZan(t, nil)
		ask := func(want zandronum.Answer) {
			t.Helper()
			if got, _ := z.ask("203.0.113.1:5000"); got != want {
				t.Errorf("answer: got %d, want %d", got, want)
			}
		}
		ask(zandronum.AnswerList)
		time.Sleep(9750 * time.Millisecond)
		ask(zandronum.AnswerTooSoon)
		time.Sleep(3 * time.Second)
		ask(noAnswer) // asking too soon means silence
		time.Sleep(250 * time.Millisecond)
		ask(zandronum.AnswerList) // the ten seconds were not prolonged
		time.Sleep(10 * time.Second)
		ask(zandronum.AnswerList)
	})
}

func TestWindowIsPerAddress(t *testing.T) {
	z := newZan(t, nil)
	z.wantList("203.0.113.1:5000")
	if got, _ := z.ask("203.0.113.1:5001"); got != zandronum.AnswerTooSoon {
		t.Errorf("another launcher of the address: answer %d, want %d", got, zandronum.AnswerTooSoon)
	}
	z.wantList("203.0.113.2:5000")
}

func TestWrongVersionDoesNotWait(t *testing.T) {
	z := newZan(t, nil)
	for _, version := range []uint16{1, 3, 0} {
		if got, _ := z.askWith("203.0.113.1:1", zandronum.AppendListRequest(nil, version)); got != zandronum.AnswerWrongVersion {
			t.Errorf("version %d: answer %d, want %d", version, got, zandronum.AnswerWrongVersion)
		}
	}
	missing := zandronum.AppendListRequest(nil, 0)[:4]
	if got, _ := z.askWith("203.0.113.1:1", missing); got != zandronum.AnswerWrongVersion {
		t.Errorf("no version: answer %d, want %d", got, zandronum.AnswerWrongVersion)
	}
	z.wantList("203.0.113.1:1")
	if got, _ := z.askWith("203.0.113.1:1", zandronum.AppendListRequest(nil, 1)); got != zandronum.AnswerTooSoon {
		t.Errorf("other version after a list: answer %d, want %d", got, zandronum.AnswerTooSoon)
	}
}

func TestLaunchersDoNotMuteServers(t *testing.T) {
	z := newZan(t, nil)
	for range 5 {
		z.ask("192.0.2.1:5000")
		z.send(netip.MustParseAddrPort("192.0.2.1:10666"), []byte{1, 2, 3, 4})
	}
	g := z.server("192.0.2.1:10666")
	g.register()
	z.wantList("203.0.113.1:1", "192.0.2.1:10666")
}

func TestGarbageOfAListedServer(t *testing.T) {
	z := newZan(t, nil)
	g := z.server("192.0.2.1:10666")
	g.register()
	for _, b := range [][]byte{{1, 2, 3, 4}, {0}, {0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, make([]byte, 900)} {
		if got := z.send(g.addr, b); got != uplink.UnknownKind {
			t.Errorf("garbage %x: dropped %q, want %q", b, got, uplink.UnknownKind)
		}
	}
	if dropped := g.announce(); dropped != uplink.NotDropped {
		t.Errorf("heartbeat after garbage: dropped: %s", dropped)
	}
	z.wantList("192.0.2.1:5000", "192.0.2.1:10666") // a launcher on the same machine
}

func TestGarbageSilencesItsSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newZan(t, nil)
		z.send(netip.MustParseAddrPort("203.0.113.1:1"), []byte{0x76, 0x5d, 0x56, 0})
		time.Sleep(9750 * time.Millisecond)
		if got, _ := z.ask("203.0.113.1:1"); got != noAnswer {
			t.Errorf("9.75 s after garbage: answer %d, want none", got)
		}
		time.Sleep(250 * time.Millisecond)
		z.wantList("203.0.113.1:1")
	})
}

func TestNothingIsNoGarbage(t *testing.T) {
	z := newZan(t, nil)
	from := netip.MustParseAddrPort("203.0.113.1:1")
	for name, b := range map[string][]byte{"no bytes": {}, "undecodable": {0x55}, "clear text": {0xC7, 0, 0, 0}, "larger than a packet": make([]byte, maxPacket+1)} {
		if got := z.handle(z.w, netserve.Packet{Data: b, From: from, To: masterAddr}); got != uplink.Empty && got != uplink.Oversized {
			t.Errorf("%s: dropped %q, want %q or %q", name, got, uplink.Empty, uplink.Oversized)
		}
	}
	z.wantList("203.0.113.1:1")
}

func TestOldList(t *testing.T) {
	z := newZan(t, nil)
	z.server("192.0.2.1:10666").register()
	request := []byte{199, 0, 0, 0}
	if answer, got := z.askWith("203.0.113.1:1", request); answer != zandronum.AnswerOldList || len(got) != 1 {
		t.Errorf("old list: answer %d, %q", answer, got)
	}
	if answer, _ := z.ask("203.0.113.1:1"); answer != zandronum.AnswerTooSoon {
		t.Errorf("new list after the old one: answer %d, want %d", answer, zandronum.AnswerTooSoon)
	}
	z.server("192.0.2.2:10666").register()
	if _, got := z.askWith("203.0.113.2:1", request); len(got) != 2 {
		t.Errorf("old list of two: got %q", got)
	}
	z.reload(func(c *Config) { c.OldList = false })
	if answer, _ := z.askWith("203.0.113.3:1", request); answer != noAnswer {
		t.Errorf("old list switched off: answer %d", answer)
	}
	z.wantList("203.0.113.3:1", "192.0.2.1:10666", "192.0.2.2:10666")
}

func TestOrderOfTheList(t *testing.T) {
	z := newZan(t, nil)
	for _, a := range []string{"127.100.0.2:10666", "127.100.0.10:10666", "10.0.0.1:9", "10.0.0.1:10666", "10.0.0.11:1", "127.100.0.2:10665"} {
		z.server(a).register()
	}
	z.wantList("203.0.113.1:1", "10.0.0.11:1", "10.0.0.1:10666", "10.0.0.1:9", "127.100.0.10:10666", "127.100.0.2:10665", "127.100.0.2:10666")
}

func TestListIsCodedOncePerChange(t *testing.T) {
	z := newZan(t, nil)
	g := z.server("192.0.2.1:10666")
	g.register()
	first := z.lists()
	if again := z.lists(); again != first {
		t.Error("list is made again although nothing changed")
	}
	// A change of a field that launchers do not see.
	srv, _ := z.opt.Registry.At(g.addr)
	next := *srv
	next.Country = "FI"
	z.opt.Registry.Update(&next)
	if again := z.lists(); &again.packets[0][0] != &first.packets[0][0] {
		t.Error("list is coded again although it says the same")
	}
	z.server("192.0.2.2:10666").register()
	if again := z.lists(); &again.packets[0][0] == &first.packets[0][0] || again.servers != 2 {
		t.Errorf("list after a change: %d servers", again.servers)
	}
}

// The list that was kept up to date must be the one that is read again.
func TestListFollowsManyChanges(t *testing.T) {
	racetest.Skip(t, "lists many servers")
	for _, batch := range []int{1, 10, manyChanges, 500} {
		z := newZan(t, func(o *Options) {
			o.ServersPerAddress = 0
			o.Registry = master.NewRegistry(master.Limits{Changes: 200, PerAddr: 1000})
		})
		n := 0
		for round := range 12 {
			for range batch {
				n++
				source := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(n % 7), byte(n / 50), byte(n)}), uint16(n%13+1))
				if n%3 == 0 {
					z.opt.Registry.Remove(master.Key{Source: source})
				} else if err := z.opt.Registry.Put(master.Server{Key: master.Key{Source: source}, Public: source, Game: zandronum.Game, Origin: Origin}); err != nil {
					t.Fatal(err)
				}
			}
			_, got := z.ask(fmt.Sprintf("203.0.%d.%d:1", batch%256, round))
			fresh := newLister(z.opt.Registry)
			list, _ := fresh.current()
			var want []string
			for _, b := range list.blocks {
				for _, p := range b.Ports {
					want = append(want, netip.AddrPortFrom(b.Addr, p).String())
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("batches of %d, round %d: got %d servers, want %d", batch, round, len(got), len(want))
			}
		}
	}
}

func TestOtherGamesAndOriginsAreNotListed(t *testing.T) {
	z := newZan(t, nil)
	put := func(addr, game string, origin *master.Origin) {
		a := netip.MustParseAddrPort(addr)
		if err := z.opt.Registry.Put(master.Server{Key: master.Key{Source: a}, Public: a, Game: game, Origin: origin}); err != nil {
			t.Fatal(err)
		}
	}
	put("192.0.2.1:1", "gmtest", qr2.Origin)
	put("192.0.2.2:1", zandronum.Game, qr2.Origin) // impossible, unless it is forged
	put("192.0.2.3:1", zandronum.Game, master.Static)
	put("[2001:db8::1]:1", zandronum.Game, master.Static)
	z.wantList("203.0.113.1:1", "192.0.2.3:1")
}

func TestBudgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newZan(t, func(o *Options) { o.ListsPerNet, o.ListWindow = 3, 0 })
		answers := func(n int, from string) (lists int) {
			for range n {
				if a, _ := z.ask(from); a == zandronum.AnswerList {
					lists++
				} else if a != zandronum.AnswerTooSoon {
					t.Errorf("answer over the budget: %d, want %d", a, zandronum.AnswerTooSoon)
				}
			}
			return lists
		}
		if got := answers(5, "203.0.113.1:1"); got != 3 {
			t.Errorf("lists for a /24 with 3 allowed: %d", got)
		}
		if got := answers(1, "203.0.113.200:1"); got != 0 {
			t.Errorf("lists for another address of the /24: %d, want 0", got)
		}
		if got := answers(1, "203.0.114.1:1"); got != 1 {
			t.Errorf("lists for another /24: %d, want 1", got)
		}
		time.Sleep(budgetWindow)
		if got := answers(1, "203.0.113.1:1"); got != 1 {
			t.Errorf("lists ten seconds later: %d, want 1", got)
		}
		z.reload(func(c *Config) { c.ListsPerNet, c.ListWindow, c.ListsTotal = 0, 0, 4 })
		time.Sleep(budgetWindow)
		got := 0
		for i := range 10 {
			got += answers(1, fmt.Sprintf("198.51.%d.1:1", i))
		}
		if got != 4 {
			t.Errorf("lists for ten networks with 4 in all: %d", got)
		}
	})
}

// One /24 gets no more than its share, whichever addresses are forged.
func TestListsPerNetByDefault(t *testing.T) {
	z := newZan(t, nil)
	lists := 0
	for round := range 3 {
		for i := range 256 {
			if a, _ := z.ask(fmt.Sprintf("203.0.113.%d:%d", i, 1+round)); a == zandronum.AnswerList {
				lists++
			}
		}
	}
	if lists != z.opt.ListsPerNet {
		t.Errorf("lists for a /24: %d, want %d", lists, z.opt.ListsPerNet)
	}
}

// Whatever addresses are forged, they get no more lists than the total; a client
// that has proved its address still gets one.
func TestListsInAllByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trusted := netip.MustParseAddr("203.0.113.1")
		z := newZan(t, func(o *Options) { o.Trusted = func(a netip.Addr) bool { return a == trusted } })
		z.server("192.0.2.1:10666").register()
		lists := func(from string) int {
			if a, _ := z.ask(from); a == zandronum.AnswerList {
				return 1
			}
			return 0
		}
		flood := func(first byte) (got int) {
			for i := range z.opt.ListsTotal + 100 {
				got += lists(fmt.Sprintf("%d.%d.%d.1:1", first, i>>8, i&0xFF))
			}
			return got
		}
		if got := flood(20); got != z.opt.ListsTotal {
			t.Errorf("lists for addresses that proved nothing: %d, want %d", got, z.opt.ListsTotal)
		}
		for name, from := range map[string]string{"of a listed server": "192.0.2.1:5", "that is trusted": "203.0.113.1:5"} {
			if lists(from) != 1 {
				t.Errorf("address %s: no list", name)
			}
		}
		if lists("203.0.114.1:1") != 0 {
			t.Error("another address that proved nothing: a list")
		}
		time.Sleep(budgetWindow)
		if got := flood(30); got != z.opt.ListsTotal {
			t.Errorf("lists ten seconds later: %d, want %d", got, z.opt.ListsTotal)
		}
	})
}

func TestTrustedLaunchersDoNotWait(t *testing.T) {
	z := newZan(t, func(o *Options) { o.Trusted = func(netip.Addr) bool { return true } })
	for range 300 {
		if a, _ := z.ask("203.0.113.1:1"); a != zandronum.AnswerList {
			t.Fatalf("answer to a trusted launcher: %d", a)
		}
	}
}

// The bytes that one victim receives when its address is forged as often as one likes.
func TestListAmplificationPerVictim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newZan(t, nil)
		for i := range 200 {
			z.server(fmt.Sprintf("10.0.%d.1:10666", i)).register()
		}
		z.w.Take()
		start := time.Now()
		victim := netip.MustParseAddrPort("203.0.113.1:53")
		request := zandronum.AppendListRequest(nil, zandronum.ListVersion)
		for time.Since(start) < 60*time.Second {
			z.send(victim, request)
			time.Sleep(50 * time.Millisecond)
		}
		lists, others := 0, 0
		for _, p := range z.w.Take() {
			if got, _ := zandronum.ParseListPacket(p.message); got.Answer == zandronum.AnswerList && got.Last {
				lists++
			} else if got.Answer != zandronum.AnswerList {
				others += p.size
			}
		}
		if lists > 7 || others > 7*4*4 {
			t.Errorf("in a minute a victim got %d lists and %d other bytes", lists, others)
		}
	})
}

func TestRecent(t *testing.T) {
	r := newRecent[int](10, 3)
	r.add(1, 0)
	r.add(2, 1)
	r.add(1, 5) // keeps its time
	r.add(3, 6)
	if !r.has(1, 9) || r.has(1, 10) || r.has(4, 0) {
		t.Errorf("has(1) at 9 and 10, has(4): got %t %t %t", r.has(1, 9), r.has(1, 10), r.has(4, 0))
	}
	r.add(4, 7) // no room: 1 goes
	if r.has(1, 7) || !r.has(2, 7) || !r.has(4, 7) {
		t.Error("the one that was added first did not make room")
	}
	r.add(5, 16) // 2 and 3 are over
	if len(r.keys) != 2 || len(r.queue)-r.first != 2 || !r.has(4, 16) || !r.has(5, 16) {
		t.Errorf("remembered: got %v, %d queued, want 4 and 5", r.keys, len(r.queue)-r.first)
	}
}

func TestListTooLongIsCapped(t *testing.T) {
	reg, log := prometheus.NewRegistry(), bytes.Buffer{}
	z := newZan(t, func(o *Options) { o.ServersPerAddress, o.Log, o.Registerer = 0, zerolog.New(&log), reg })
	for i := range 145*zandronum.MaxListPackets + 5 {
		a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 10666)
		if err := z.opt.Registry.Put(master.Server{Key: master.Key{Source: a}, Public: a, Game: zandronum.Game, Origin: Origin}); err != nil {
			t.Fatal(err)
		}
	}
	z.w.Take()
	z.send(netip.MustParseAddrPort("203.0.113.1:1"), zandronum.AppendListRequest(nil, zandronum.ListVersion))
	packets := z.w.Take()
	if len(packets) != zandronum.MaxListPackets {
		t.Fatalf("%d packets, want %d", len(packets), zandronum.MaxListPackets)
	}
	for i, p := range packets {
		got, err := zandronum.ParseListPacket(p.message)
		if err != nil || int(got.Number) != i || got.Last != (i == len(packets)-1) || p.size > 1027 {
			t.Errorf("packet %d: number %d, last %t, %d bytes, %v", i, got.Number, got.Last, p.size, err)
		}
	}
	if got := metrictest.Value(t, reg, "respawnd_zanmaster_capped_lists_total"); got != 1 || !strings.Contains(log.String(), `"left_out":5`) {
		t.Errorf("counted %v capped lists, want 1; log: %s", got, &log)
	}
}

func TestOldListTooLongIsCapped(t *testing.T) {
	const room = (8192 - 4 - 1) / 7 // servers of one packet
	synctest.Test(t, func(t *testing.T) {
		reg, log := prometheus.NewRegistry(), bytes.Buffer{}
		z := newZan(t, func(o *Options) { o.ListWindow, o.Log, o.Registerer = 0, zerolog.New(&log), reg })
		populate(t, z.opt.Registry, room, 1)
		ask := func(wantServers int, wantCapped float64, wantLines int) {
			t.Helper()
			_, servers := z.askWith("203.0.113.1:1", []byte{199, 0, 0, 0})
			lines := strings.Count(log.String(), "too long")
			if got := metrictest.Value(t, reg, "respawnd_zanmaster_capped_lists_total"); len(servers) != wantServers || got != wantCapped || lines != wantLines {
				t.Errorf("%d servers, %v capped lists counted, %d lines; want %d, %v, %d", len(servers), got, lines, wantServers, wantCapped, wantLines)
			}
		}
		ask(room, 0, 0)
		for i := range 3 {
			populate(t, z.opt.Registry, room+1+i, 1)
			ask(room, float64(i+1), 1)
			ask(room, float64(i+1), 1) // the same list
		}
		time.Sleep(cappedEvery)
		populate(t, z.opt.Registry, room+4, 1)
		ask(room, 4, 2)
	})
}

// On a wildcard socket the answer leaves from the address that was asked, or
// launchers do not take it.
func TestAnswerLeavesFromAskedAddress(t *testing.T) {
	z := newZan(t, nil)
	conn, err := netserve.ListenPackets(t.Context(), "udp4", ":0", netserve.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- z.Serve(ctx, conn) }()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	asked := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), conn.LocalAddr().Port())
	if runtime.GOOS == "linux" {
		asked = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.5"), asked.Port())
	}
	if _, err := c.WriteToUDPAddrPort(zandronum.Encode(nil, zandronum.AppendListRequest(nil, zandronum.ListVersion)), asked); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, from, err := c.ReadFromUDPAddrPort(make([]byte, 100)); err != nil || from != asked {
		t.Errorf("answer to a request to %v: from %v, %v", asked, from, err)
	}
	cancel()
	if err := errors.Join(<-ended, conn.Close(), c.Close()); err != nil {
		t.Error(err)
	}
}

// Whatever is sent, nothing panics, no server is listed without verification, and
// nothing longer than the request is answered but lists.
func FuzzPackets(f *testing.F) {
	r := recordings(f)
	for _, s := range r.Scenarios {
		for _, p := range s.Packets[:min(len(s.Packets), 20)] {
			if !p.fromMaster() && p.Wire != "" {
				f.Add(nettest.Unhex(f, p.Wire), nettest.Unhex(f, p.Wire))
			}
		}
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		z := newZan(t, func(o *Options) { o.Verdicts = nil })
		from := netip.MustParseAddrPort("192.0.2.1:10666")
		for _, b := range [][]byte{first, second} {
			z.handle(z.w, netserve.Packet{Data: b, From: from, To: masterAddr})
			for _, p := range z.w.Take() {
				if list, err := zandronum.ParseListPacket(p.message); err == nil && list.Last {
					continue
				}
				if p.size > len(b)+slackBytes {
					t.Fatalf("%d bytes answered to %x", p.size, b)
				}
			}
		}
		if z.opt.Registry.Len() != 0 {
			t.Fatalf("listed after %x and %x", first, second)
		}
	})
}
