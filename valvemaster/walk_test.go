package valvemaster

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
)

func TestWalkSeesEveryServerOnce(t *testing.T) {
	for _, n := range []int{0, 1, 4, 12, 13, 30, 230, 231, 232, 300, 2000} {
		v := newValve(t, nil)
		want := populate(t, v.list, n)
		got, pages := v.walk("203.0.113.1:1", AnyRegion, "")
		if !slices.Equal(got, want) {
			t.Errorf("walk over %d servers: got %d", n, len(got))
		}
		for i, p := range pages {
			switch size := len(p.Servers); {
			case i < proofEchoes && size > mostSmall, size > MaxEntries-1:
				t.Errorf("page %d of %d servers has %d", i, n, size)
			case !p.Last && size < leastSmall, !p.Last && i >= proofEchoes && size < leastFull:
				t.Errorf("page %d of %d servers has only %d and is not the last", i, n, size)
			}
		}
		if most := proofEchoes + 1 + n/leastFull; len(pages) > most {
			t.Errorf("walk over %d servers took %d pages, want at most %d", n, len(pages), most)
		}
	}
}

func TestPageEndsAreUnpredictable(t *testing.T) {
	racetest.Skip(t, "lists many servers")
	v := newValve(t, func(o *Options) { o.PagesPerAddr, o.PagesPerNet = 0, 0 })
	populate(t, v.list, 1000)
	small, full := make(map[int]bool), make(map[int]bool)
	for range 2000 {
		a := netip.MustParseAddrPort("203.0.113.1:1")
		r := ListRequest{Region: AnyRegion, Seed: Start}
		v.walks = newWalks(maxWalks) // nothing is repeated
		for i := range proofEchoes + 1 {
			l := v.ask(a, r)
			if i < proofEchoes {
				small[len(l.Servers)] = true
			} else {
				full[len(l.Servers)] = true
			}
			r.Seed = l.Servers[len(l.Servers)-1]
		}
	}
	if len(small) != mostSmall-leastSmall+1 || len(full) != mostFull-leastFull+1 {
		t.Errorf("sizes of pages: %d small, %d full, want each of them at times", len(small), len(full))
	}
}

func TestGuessedSeedProvesNothing(t *testing.T) {
	v := newValve(t, nil)
	populate(t, v.list, 1000)
	entries := v.lister.current(0).entries
	port := uint16(0)
	// begin asks for two pages from a port of its own, and returns it and the second
	// page. Sizes of small pages are random; this one has three servers or more.
	begin := func() (a netip.AddrPort, l List) {
		for len(l.Servers) < 3 {
			port++
			a = netip.AddrPortFrom(netip.MustParseAddr("203.0.113.1"), port)
			first := v.ask(a, ListRequest{Region: AnyRegion, Seed: Start})
			l = v.ask(a, ListRequest{Region: AnyRegion, Seed: first.Servers[len(first.Servers)-1]})
		}
		return a, l
	}
	for name, seed := range map[string]func(l List) netip.AddrPort{
		"a server of the page, not its last": func(l List) netip.AddrPort { return l.Servers[1] },
		"the one behind it": func(l List) netip.AddrPort {
			last := slices.IndexFunc(entries, func(e *entry) bool { return e.addr == l.Servers[len(l.Servers)-1] })
			return entries[last+1].addr
		},
		"a far one":           func(List) netip.AddrPort { return netip.MustParseAddrPort("100.64.3.0:27015") },
		"none that is listed": func(List) netip.AddrPort { return netip.MustParseAddrPort("1.2.3.4:5") },
	} {
		a, page := begin()
		if l := v.ask(a, ListRequest{Region: AnyRegion, Seed: seed(page)}); len(l.Servers) > mostSmall {
			t.Errorf("page for %s: %d servers", name, len(l.Servers))
		}
		// Earlier proofs are lost.
		last := page.Servers[len(page.Servers)-1]
		if l := v.ask(a, ListRequest{Region: AnyRegion, Seed: last}); len(l.Servers) > mostSmall {
			t.Errorf("page for the right seed after %s: %d servers", name, len(l.Servers))
		}
	}
	// The proof is of an address and port.
	a, page := begin()
	other := netip.AddrPortFrom(a.Addr(), a.Port()+1)
	if l := v.ask(other, ListRequest{Region: AnyRegion, Seed: page.Servers[len(page.Servers)-1]}); len(l.Servers) > mostSmall {
		t.Errorf("page for another port with the seed: %d servers", len(l.Servers))
	}
}

// TestLostPageIsSentAgain: a browser that asks again has lost the answer, but a forger
// may do so too, so it has a bound.
func TestLostPageIsSentAgain(t *testing.T) {
	v := newValve(t, nil)
	populate(t, v.list, 1000)
	a := netip.MustParseAddrPort("203.0.113.1:1")
	r := ListRequest{Region: AnyRegion, Seed: Start}
	for range proofEchoes {
		l := v.ask(a, r)
		r.Seed = l.Servers[len(l.Servers)-1]
	}
	full := v.ask(a, r)
	for i := range maxRepeats {
		if again := v.ask(a, r); !slices.Equal(again.Servers, full.Servers) {
			t.Errorf("repeated page %d: %d servers, want the %d of before", i, len(again.Servers), len(full.Servers))
		}
	}
	if l := v.ask(a, r); len(l.Servers) > mostSmall {
		t.Errorf("page repeated too often: %d servers", len(l.Servers))
	}
}

func TestProofIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newValve(t, nil)
		populate(t, v.list, 1000)
		a := netip.MustParseAddrPort("203.0.113.1:1")
		r := ListRequest{Region: AnyRegion, Seed: Start}
		for range proofEchoes + 1 {
			l := v.ask(a, r)
			r.Seed = l.Servers[len(l.Servers)-1]
		}
		time.Sleep(walkLife)
		if l := v.ask(a, r); len(l.Servers) > mostSmall {
			t.Errorf("page after %v: %d servers", walkLife, len(l.Servers))
		}
		time.Sleep(walkLife)
		v.tick(time.Now())
		if v.walks.len() != 0 {
			t.Errorf("%d walks are remembered after %v", v.walks.len(), walkLife)
		}
	})
}

// TestWalkThatIsForgottenStillEnds: without memory the pages are small, and the
// walk sees every server once all the same.
func TestWalkThatIsForgottenStillEnds(t *testing.T) {
	v := newValve(t, nil)
	want := populate(t, v.list, 500)
	a := netip.MustParseAddrPort("203.0.113.1:1")
	r := ListRequest{Region: AnyRegion, Seed: Start}
	var got []string
	for pages := 0; ; pages++ {
		v.walks = newWalks(maxWalks)
		l := v.ask(a, r)
		for _, s := range l.Servers {
			got = append(got, s.String())
		}
		if l.Last {
			break
		}
		if pages > len(want)/leastSmall {
			t.Fatal("no end")
		}
		r.Seed = l.Servers[len(l.Servers)-1]
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %d servers, want %d", len(got), len(want))
	}
}

func TestFloodKeepsProvedClients(t *testing.T) {
	v := newValve(t, nil)
	v.walks = newWalks(4)
	populate(t, v.list, 1000)
	a := netip.MustParseAddrPort("203.0.113.1:1")
	r := ListRequest{Region: AnyRegion, Seed: Start}
	for range proofEchoes + 1 {
		l := v.ask(a, r)
		r.Seed = l.Servers[len(l.Servers)-1]
	}
	for i := range 100 {
		v.ask(netip.AddrPortFrom(netip.AddrFrom4([4]byte{11, 0, 0, byte(i)}), 1), ListRequest{Region: AnyRegion, Seed: Start})
	}
	if l := v.ask(a, r); len(l.Servers) < leastFull || v.walks.len() > 5 {
		t.Errorf("page after a flood: %d servers, %d walks remembered", len(l.Servers), v.walks.len())
	}
}

func TestSeedThatLeftTheList(t *testing.T) {
	v := newValve(t, nil)
	want := populate(t, v.list, 300)
	a := netip.MustParseAddrPort("203.0.113.1:1")
	r := ListRequest{Region: AnyRegion, Seed: Start}
	var got []string
	for pages := 0; ; pages++ {
		l := v.ask(a, r)
		for _, s := range l.Servers {
			got = append(got, s.String())
		}
		if l.Last {
			break
		}
		r.Seed = l.Servers[len(l.Servers)-1]
		v.list.Remove(master.Key{Source: r.Seed})
		v.lister.now.Store(nil) // do not wait for the next view
		if pages > len(want) {
			t.Fatal("no end")
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %d servers, want %d", len(got), len(want))
	}
}

func TestTrustedAreSentFullPages(t *testing.T) {
	v := newValve(t, func(o *Options) {
		o.PagesPerAddr, o.PagesPerNet = 1, 1
		o.UnprovedRate, o.UnprovedBurst = 1, 1
		o.Trusted = func(netip.Addr) bool { return true }
	})
	populate(t, v.list, 1000)
	_, pages := v.walk("203.0.113.1:1", AnyRegion, "")
	if len(pages[0].Servers) != mostFull || v.walks.len() != 0 {
		t.Errorf("first page: %d servers, %d walks remembered", len(pages[0].Servers), v.walks.len())
	}
}

func TestBudgets(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Options)
		more   string // another address, with the result for it in want
		want   uplink.Drop
	}{
		"of an address":          {func(o *Options) { o.PagesPerAddr = 3 }, "203.0.113.2:1", uplink.NotDropped},
		"of a network":           {func(o *Options) { o.PagesPerNet = 3 }, "203.0.113.2:1", uplink.NoBudget},
		"of a network, not ours": {func(o *Options) { o.PagesPerNet = 3 }, "203.0.114.1:1", uplink.NotDropped},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newValve(t, tc.change)
				populate(t, v.list, 3)
				request := ListRequest{Region: AnyRegion, Seed: Start}.AppendTo(nil)
				a := netip.MustParseAddrPort("203.0.113.1:1")
				for i := range 4 {
					want := map[bool]uplink.Drop{true: uplink.NoBudget}[i == 3]
					if got := v.send(a, request); got != want {
						t.Errorf("page %d: dropped %q, want %q", i, got, want)
					}
				}
				if got := v.send(netip.MustParseAddrPort(tc.more), request); got != tc.want {
					t.Errorf("page for %s: dropped %q, want %q", tc.more, got, tc.want)
				}
				time.Sleep(uplink.BudgetWindow)
				for i := range 3 {
					if got := v.send(a, request); got != uplink.NotDropped {
						t.Errorf("page %d after %v: dropped %q", i, uplink.BudgetWindow, got)
					}
				}
			})
		})
	}
	v := newValve(t, func(o *Options) { o.PagesPerAddr, o.PagesPerNet = 0, 0 })
	for range 3000 {
		if got := v.send(netip.MustParseAddrPort("203.0.113.1:1"), ListRequest{Region: AnyRegion, Seed: Start}.AppendTo(nil)); got != uplink.NotDropped {
			t.Fatalf("page without budgets: dropped %q", got)
		}
	}
}

// TestForgedAddressesCannotBuyAllOurTime: filters cost time, and forged
// addresses have no other bound.
func TestForgedAddressesCannotBuyAllOurTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newValve(t, nil)
		v.work = newAllowance(10_000)
		populate(t, v.list, 1000)
		request := ListRequest{AnyRegion, Start, []byte(`\name_match\*unknown*\map\*`)}.AppendTo(nil)
		send := func(i int) uplink.Drop {
			return v.send(netip.AddrPortFrom(netip.AddrFrom4([4]byte{11, 0, byte(i >> 8), byte(i)}), 1), request)
		}
		served := 0
		for i := range 100 {
			if send(i) == uplink.NotDropped {
				served++
			}
		}
		if served != 2 { // 5,000 each: two conditions and two stars
			t.Errorf("%d of 100 requests were served at once, want 2", served)
		}
		time.Sleep(time.Second)
		if got := send(1000); got != uplink.NotDropped {
			t.Errorf("a second later: dropped %q", got)
		}
	})
}

// FuzzForger plays a client that forges the address of a victim and sees no
// answer. Whatever he sends, the victim gets no more than the small pages and
// challenges that doc.go allows for each of his packets, but for lucky guesses,
// which are played here too and have their own bound.
func FuzzForger(f *testing.F) {
	f.Add([]byte("q"))
	f.Add([]byte("1\xff0.0.0.0:0\x00\x00\xfe1\xff100.64.0.11:27015\x00\x00"))
	f.Add([]byte("1\xff0.0.0.0:0\x00\\nor\\1\\map\\x\x00\xfe1\xff100.64.0.5:27015r\x00\xfe1\xff100.64.0.12:27015\x00\x00"))
	f.Add([]byte("0\n\\challenge\\1\xfeb\n"))
	v := newValve(f, func(o *Options) { o.Verdicts = nil; o.PagesPerAddr, o.PagesPerNet = 0, 0 })
	v.work = newAllowance(1 << 40)
	populate(f, v.list, 500)
	victim := netip.MustParseAddrPort("203.0.113.1:1")
	f.Fuzz(func(t *testing.T, script []byte) {
		v.walks = newWalks(16)
		out := 0
		for packet := range splitScript(script) {
			v.send(victim, packet)
			for _, p := range v.w.Take() {
				out = max(out, len(p.data))
				limit := 6 + (mostSmall+1)*entrySize
				if kind := Kind(p.data[4]); kind == KindChallenge {
					limit = maxChallenge
				}
				w := v.walks.bySource[victim]
				if lucky := w != nil && w.echoes >= proofEchoes; lucky {
					limit = maxList
				}
				if p.to != victim || len(p.data) > limit {
					t.Fatalf("packet %q: %d bytes to %v, at most %d to the sender", packet, len(p.data), p.to, limit)
				}
			}
		}
	})
}

// splitScript yields the packets of a script, parted by FE.
func splitScript(script []byte) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for i, n := 0, 0; i <= len(script) && n < 64; i++ {
			end := i
			for end < len(script) && script[end] != 0xFE {
				end++
			}
			if !yield(script[i:end]) {
				return
			}
			i, n = end, n+1
		}
	}
}

// TestForgerGainsNothing plays the best strategy of a forger that knows the whole list:
// it guesses where pages end, the likeliest seeds first, and counts the victim's
// packets for its own.
func TestForgerGainsNothing(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	v := newValve(t, func(o *Options) { o.Verdicts = nil; o.PagesPerAddr, o.PagesPerNet = 0, 0 })
	v.work = newAllowance(1 << 40)
	populate(t, v.list, 2000)
	entries := v.lister.current(0).entries
	victim := netip.MustParseAddrPort("203.0.113.1:1")
	in, out := 0, 0
	send := func(seed netip.AddrPort) {
		p := ListRequest{Region: AnyRegion, Seed: seed}.AppendTo(nil)
		in += len(p)
		v.send(victim, p)
		for _, s := range v.w.Take() {
			out += len(s.data)
		}
	}
	for range 5000 {
		send(Start)
		send(entries[8].addr)  // as if the first page had 9 servers
		send(entries[16].addr) // and the second one 8
		send(entries[16+215].addr)
	}
	small := 6 + mostSmall*entrySize
	perPacket := float64(out) / 20_000
	t.Logf("%d bytes for %d, %.1f for each packet; a small page has %d at most", out, in, perPacket, small)
	if perPacket > float64(small) {
		t.Errorf("a forger who guesses gets %.1f bytes for each packet, more than a small page's %d", perPacket, small)
	}
}

// TestCostlyFilterTakesMoreOfTheBudget: a page that took the work of several
// counts as several.
func TestCostlyFilterTakesMoreOfTheBudget(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	synctest.Test(t, func(t *testing.T) {
		v := newValve(t, func(o *Options) { o.PagesPerAddr = 10 })
		populate(t, v.list, 5000) // times 31 conditions: four pages
		a := netip.MustParseAddrPort("203.0.113.1:1")
		served := 0
		for range 10 {
			if v.send(a, ListRequest{AnyRegion, Start, []byte(strings.Repeat(`\nor\1\map\x`, 15) + `\map\nowhere`)}.AppendTo(nil)) == uplink.NotDropped {
				served++
			}
		}
		if served != 3 {
			t.Errorf("%d requests were served, want 3", served)
		}
	})
}
