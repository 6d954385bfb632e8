package zanmaster

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/uplink"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/unproved"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
)

func TestServerIsListedOnceItVerified(t *testing.T) {
	z := newZan(t, nil)
	g := z.server("192.0.2.1:10666")
	number := g.challenged()
	z.wantList("203.0.113.1:1")
	if g.listed() || z.verdict(g.addr) != "challenge sent" {
		t.Errorf("after the challenge: listed %t, verdict %q", g.listed(), z.verdict(g.addr))
	}
	if dropped := g.verify(number); dropped != uplink.NotDropped {
		t.Fatalf("verification: dropped: %s", dropped)
	}
	packets := z.w.Take()
	if len(packets) != 1 || hex.EncodeToString(packets[0].message) != "cf"+hex.EncodeToString([]byte(hexString))+"000003" {
		t.Errorf("after the verification: got %+v, want one empty ban list", packets)
	}
	z.wantList("203.0.113.2:1", "192.0.2.1:10666")
	srv, ok := z.opt.Registry.At(g.addr)
	if !ok || srv.Game != zandronum.Game || srv.Origin != Origin || srv.Public != g.addr || srv.Via != masterAddr {
		t.Errorf("record: got %+v", srv)
	}
	if dropped := g.announce(); dropped != uplink.NotDropped || len(z.w.Take()) != 0 {
		t.Errorf("heartbeat: dropped %q, or answered", dropped)
	}
	if z.verdict(g.addr) != "listed" {
		t.Errorf("verdict: got %q, want listed", z.verdict(g.addr))
	}
}

func TestLostVerificationRequestIsRepeated(t *testing.T) {
	z := newZan(t, nil)
	g := z.server("192.0.2.1:10666")
	first := g.challenged()
	if second := g.challenged(); second != first {
		t.Errorf("second request: number %d, want %d as in the first", second, first)
	}
	if dropped := g.verify(first); dropped != uplink.NotDropped {
		t.Errorf("verification: dropped: %s", dropped)
	}
}

func TestVerificationMustBeRight(t *testing.T) {
	tests := map[string]struct {
		change func(g *server, number *uint32)
		want   uplink.Drop
	}{
		"number":       {func(_ *server, n *uint32) { *n++ }, uplink.Wrong},
		"string":       {func(g *server, _ *uint32) { g.verification = "nope" }, uplink.Unexpected},
		"empty string": {func(g *server, _ *uint32) { g.verification = "" }, uplink.Unexpected},
		"port":         {func(g *server, _ *uint32) { g.addr = netip.AddrPortFrom(g.addr.Addr(), 10667) }, uplink.Unexpected},
		"address":      {func(g *server, _ *uint32) { g.addr = netip.MustParseAddrPort("192.0.2.2:10666") }, uplink.Unexpected},
		"case only":    {func(g *server, _ *uint32) { g.verification = "0123456789abcdef0123456789ABCDEF" }, uplink.NotDropped},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			z := newZan(t, nil)
			g := z.server("192.0.2.1:10666")
			number := g.challenged()
			tc.change(g, &number)
			if got := g.verify(number); got != tc.want {
				t.Errorf("verification with another %s: dropped %q, want %q", name, got, tc.want)
			}
			if want := tc.want == uplink.NotDropped; (z.opt.Registry.Len() == 1) != want {
				t.Errorf("verification with another %s: %d servers listed", name, z.opt.Registry.Len())
			}
		})
	}
}

func TestVerificationIsUsedOnce(t *testing.T) {
	z := newZan(t, nil)
	g := z.server("192.0.2.1:10666")
	number := g.challenged()
	g.verify(number)
	if got := g.verify(number); got != uplink.Unexpected {
		t.Errorf("second verification: dropped %q, want %q", got, uplink.Unexpected)
	}
}

func TestGuessingEndsAVerification(t *testing.T) {
	z := newZan(t, nil)
	g := z.server("192.0.2.1:10666")
	number := g.challenged()
	for i := range uint32(maxWrong) {
		if got := g.verify(number + 1 + i); got != uplink.Wrong {
			t.Fatalf("guess %d: dropped %q, want %q", i, got, uplink.Wrong)
		}
	}
	if got := g.verify(number); got != uplink.Unexpected {
		t.Errorf("right number after %d guesses: dropped %q, want %q", maxWrong, got, uplink.Unexpected)
	}
	if again := g.challenged(); again == number {
		t.Errorf("number after guesses: got %d again", again)
	}
}

func TestNumbersCannotBeForeseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in a bubble the clock stands still
		z := newZan(t, func(o *Options) { o.ServersPerAddress = 0 })
		seen := make(map[uint32]bool)
		for i := range 200 {
			seen[z.server(fmt.Sprintf("192.0.2.%d:10666", i)).challenged()] = true
		}
		if len(seen) < 199 {
			t.Errorf("%d different numbers for 200 servers of one instant", len(seen))
		}
	})
}

func TestRestartedServerStaysListed(t *testing.T) {
	z := newZan(t, nil)
	old := z.server("192.0.2.1:10666")
	old.register()
	old.acknowledge()
	next := z.server("192.0.2.1:10666")
	next.verification = another
	number := next.challenged()
	z.wantList("203.0.113.1:1", "192.0.2.1:10666")
	if dropped := old.announce(); dropped != uplink.NotDropped {
		t.Errorf("heartbeat of the old process: dropped: %s", dropped)
	}
	if dropped := next.verify(number); dropped != uplink.NotDropped {
		t.Fatalf("verification of the new process: dropped: %s", dropped)
	}
	if parts := banLists(t, z.w.Take(), next.addr); len(parts) != 1 || string(parts[0].Verification) != another {
		t.Errorf("ban list for the new process: got %+v", parts)
	}
	if dropped := next.announce(); dropped != uplink.NotDropped || len(z.w.Take()) != 0 {
		t.Errorf("heartbeat of the new process: dropped %q, or answered", dropped)
	}
	z.wantList("203.0.113.2:1", "192.0.2.1:10666")
}

func TestForgedRestartChangesNothing(t *testing.T) {
	z := newZan(t, nil)
	g := z.server("192.0.2.1:10666")
	g.register()
	forged := z.server("192.0.2.1:10666")
	forged.verification = "OTHER"
	for range 20 {
		forged.announce()
	}
	if dropped := g.announce(); dropped != uplink.NotDropped {
		t.Errorf("heartbeat after forged ones: dropped: %s", dropped)
	}
	z.wantList("203.0.113.1:1", "192.0.2.1:10666")
}

func TestSilentServerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newZan(t, nil)
		a, b := z.server("192.0.2.1:10666"), z.server("192.0.2.2:10666")
		a.register()
		b.register()
		// a heartbeat is lost every now and then
		z.pass(60 * time.Second)
		if dropped := a.announce(); dropped != uplink.NotDropped || !b.listed() {
			t.Errorf("after 60 s: heartbeat dropped %q, silent server listed %t", dropped, b.listed())
		}
		z.pass(12 * time.Second)
		if !a.listed() || b.listed() {
			t.Errorf("after 72 s: server with a heartbeat listed %t, silent one %t", a.listed(), b.listed())
		}
		if z.verdict(b.addr) != "expired" {
			t.Errorf("verdict on the silent one: got %q", z.verdict(b.addr))
		}
		z.wantList("203.0.113.1:1", "192.0.2.1:10666")
	})
}

func TestUnansweredVerificationIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newZan(t, nil)
		g := z.server("192.0.2.1:10666")
		number := g.challenged()
		z.pass(62 * time.Second)
		if got := g.verify(number); got != uplink.Unexpected {
			t.Errorf("verification after 62 s: dropped %q, want %q", got, uplink.Unexpected)
		}
		if z.verdict(g.addr) != "no answer" {
			t.Errorf("verdict: got %q", z.verdict(g.addr))
		}
	})
}

func TestServersPerAddress(t *testing.T) {
	// Those that are being verified do not count, and then no more than the bound
	// are listed.
	z := newZan(t, nil)
	var challenged []*server
	var numbers []uint32
	for i := range 13 {
		g := z.server(fmt.Sprintf("192.0.2.1:%d", 10666+i))
		challenged, numbers = append(challenged, g), append(numbers, g.challenged())
	}
	for i, g := range challenged {
		want := uplink.NotDropped
		if i >= 10 {
			want = uplink.TooMany
		}
		if got := g.verify(numbers[i]); got != want || g.listed() != (want == uplink.NotDropped) {
			t.Errorf("verification %d of one address: dropped %q, listed %t, want %q", i+1, got, g.listed(), want)
		}
	}
	if g := challenged[12]; z.verdict(g.addr) != "too many servers here" {
		t.Errorf("verdict on server 13: got %q", z.verdict(g.addr))
	}
	z = newZan(t, nil)
	for i := range 10 {
		z.server(fmt.Sprintf("192.0.2.1:%d", 10666+i)).register()
	}
	g := z.server("192.0.2.1:10700")
	if got := g.announce(); got != uplink.TooMany || z.verdict(g.addr) != "too many servers here" {
		t.Errorf("server 11: dropped %q, verdict %q", got, z.verdict(g.addr))
	}
	restarted := z.server("192.0.2.1:10666")
	restarted.verification = another
	restarted.register()
	if z.opt.Registry.Len() != 10 {
		t.Errorf("%d servers listed, want 10", z.opt.Registry.Len())
	}
}

func TestPolicyOfServersPerAddress(t *testing.T) {
	z := newZan(t, func(o *Options) {
		o.ServersPerAddress = 2
		o.Trusted = func(a netip.Addr) bool { return a == netip.MustParseAddr("192.0.2.9") }
	})
	for i := range 20 {
		z.server(fmt.Sprintf("192.0.2.9:%d", 10666+i)).register()
	}
	z.server("192.0.2.1:1").register()
	z.server("192.0.2.1:2").register()
	if got := z.server("192.0.2.1:3").announce(); got != uplink.TooMany {
		t.Errorf("third server: dropped %q, want %q", got, uplink.TooMany)
	}
}

func TestOldRevisions(t *testing.T) {
	text := hex.EncodeToString([]byte(hexString)) + "00"
	tests := map[string]struct {
		challenge string
		dropped   uplink.Drop
		banList   string // how the answer to the verification begins
	}{
		"last in one message": {"745d5600" + text + "01" + "5a0b0000", uplink.NotDropped, "cd" + text + "00000000"},
		"first in parts":      {"745d5600" + text + "01" + "5b0b0000", uplink.NotDropped, "cf" + text + "0003"},
		"short revision":      {"745d5600" + text + "01" + "f00a", uplink.NotDropped, "cd" + text + "00000000"},
		"no revision":         {"745d5600" + text + "01", uplink.NotDropped, "cd" + text + "00000000"},
		"no string":           {"745d5600" + "00" + "01" + "f00a0000", uplink.NotDropped, "cd0000000000000000"},
		"98d":                 {"745d5600" + text + "01" + "cd0b0000", uplink.Outdated, ""},
		"no enforce byte":     {"745d5600" + text, uplink.Outdated, ""},
		"the long alone":      {"745d5600", uplink.Outdated, ""},
		"string too long":     {"745d5600" + text[:2] + text[:64] + text + "01" + "f00a0000", uplink.Malformed, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			z := newZan(t, nil)
			from := netip.MustParseAddrPort("192.0.2.1:10666")
			message, err := hex.DecodeString(tc.challenge)
			if err != nil {
				t.Fatal(err)
			}
			if got := z.send(from, message); got != tc.dropped {
				t.Fatalf("challenge: dropped %q, want %q", got, tc.dropped)
			}
			packets := z.w.Take()
			if tc.dropped != uplink.NotDropped {
				if len(packets) != 0 {
					t.Errorf("challenge was answered: %+v", packets)
				}
				answer, _ := z.ask("192.0.2.1:5")
				if want := map[uplink.Drop]zandronum.Answer{uplink.Outdated: zandronum.AnswerTooSoon, uplink.Malformed: zandronum.AnswerList}[tc.dropped]; answer != want {
					t.Errorf("list request from there: answer %d, want %d", answer, want)
				}
				return
			}
			v, ok := zandronum.ParseVerificationRequest(packets[0].message)
			if !ok {
				t.Fatalf("answer to the challenge: %x", packets[0].message)
			}
			z.send(from, zandronum.AppendVerification(nil, v))
			got := z.w.Take()
			if len(got) != 1 || !bytesPrefix(got[0].message, tc.banList) {
				t.Errorf("ban list: got %x, want %s...", got[0].message, tc.banList)
			}
		})
	}
}

func bytesPrefix(b []byte, prefix string) bool {
	s := hex.EncodeToString(b)
	return len(s) >= len(prefix) && s[:len(prefix)] == prefix
}

func TestServersThatDoNotEnforce(t *testing.T) {
	tests := map[string]struct {
		list    []string
		warning bool
	}{
		hide: {[]string{"192.0.2.1:10666"}, false},
		show: {[]string{"192.0.2.1:10666", "192.0.2.2:10666"}, false},
		mark: {[]string{"192.0.2.1:10666", "192.0.2.2:10666"}, true},
	}
	check := func(t *testing.T, z *zan, launcher string, v string) {
		t.Helper()
		z.wantList(launcher, tests[v].list...)
		srv, ok := z.opt.Registry.At(netip.MustParseAddrPort("192.0.2.2:10666"))
		if ok != (v != hide) {
			t.Errorf("%v: record there: %t", v, ok)
		}
		if ok {
			if _, warned := srv.Rules.Get(zandronum.RuleWarning); warned != tests[v].warning {
				t.Errorf("%v: warning %t, want %t", v, warned, tests[v].warning)
			}
		}
	}
	for v := range tests {
		t.Run(v, func(t *testing.T) {
			z := newZan(t, func(o *Options) { o.NotEnforcing = v })
			z.server("192.0.2.1:10666").register()
			g := z.server("192.0.2.2:10666")
			g.enforces = false
			g.register()
			check(t, z, "203.0.113.1:1", v)
			if hosts := z.Hosts(); len(hosts) != 2 || hosts[1].Listed != (v != hide) {
				t.Errorf("Hosts: got %+v", hosts)
			}
			for i, other := range []string{show, hide, mark, show, mark, hide} {
				z.reload(func(c *Config) { c.NotEnforcing = other })
				check(t, z, fmt.Sprintf("203.0.113.%d:1", 10+i), other)
			}
			// The server changes its mind.
			g.enforces = true
			g.announce()
			z.wantList("203.0.113.2:1", tests[show].list...)
			g.enforces = false
			g.announce()
			z.wantList("203.0.113.3:1", tests[hide].list...)
		})
	}
}

func TestAdvertiseAs(t *testing.T) {
	z := newZan(t, func(o *Options) { o.AdvertiseAs = netip.MustParseAddr("203.0.113.80") })
	for _, a := range []string{"192.168.1.5:10666", "127.0.0.1:10667", "10.0.0.5:10668", "192.0.2.1:10666"} {
		z.server(a).register()
	}
	z.wantList("203.0.113.1:1", "192.0.2.1:10666", "203.0.113.80:10666", "203.0.113.80:10667", "203.0.113.80:10668")
	z.reload(func(c *Config) { c.AdvertiseAs = netip.Addr{} })
	z.wantList("203.0.113.2:1", "10.0.0.5:10668", "127.0.0.1:10667", "192.0.2.1:10666", "192.168.1.5:10666")
}

// launchers on different networks are given different addresses.
func TestLaunchersGetReachableAddress(t *testing.T) {
	z := newZan(t, func(o *Options) {
		o.Registry = master.NewRegistry(master.Limits{})
		o.Addresses = advertise.New(o.Registry)
		o.Addresses.SetRules([]advertise.Rule{{As: netip.MustParseAddr("203.0.113.80")}})
		o.Addresses.SetNetworks([]hostnet.Address{{Prefix: netip.MustParsePrefix("10.0.0.5/24")}})
	})
	z.server("192.0.2.1:10666").register()
	if all := z.lists(); z.listsFor(netip.MustParseAddr("10.0.0.9")) != all || z.listsFor(netip.MustParseAddr("203.0.113.1")) != all {
		t.Error("a list without private servers is not shared by all")
	}
	for _, a := range []string{"127.0.0.1:10667", "10.0.0.20:10668", "127.0.0.1:10669"} {
		z.server(a).register()
	}
	z.wantList("203.0.113.1:1", "192.0.2.1:10666", "203.0.113.80:10667", "203.0.113.80:10668", "203.0.113.80:10669")
	z.wantList("10.0.0.9:1", "10.0.0.20:10668", "10.0.0.5:10667", "10.0.0.5:10669", "192.0.2.1:10666")
	z.wantList("127.0.0.1:1", "10.0.0.20:10668", "127.0.0.1:10667", "127.0.0.1:10669", "192.0.2.1:10666")
	if outside := z.listsFor(netip.MustParseAddr("203.0.113.1")); z.listsFor(netip.MustParseAddr("172.16.1.1")) != outside {
		t.Error("launchers outside do not share a list")
	}
	// Two servers behind one address and port are one.
	z.server("10.0.0.21:10668").register()
	z.wantList("203.0.113.2:1", "192.0.2.1:10666", "203.0.113.80:10667", "203.0.113.80:10668", "203.0.113.80:10669")
}

func TestAllowLists(t *testing.T) {
	z := newZan(t, func(o *Options) {
		o.AllowServers = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		o.AllowLaunchers = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("198.51.100.7/32")}
	})
	z.server("192.0.2.1:10666").register()
	stranger := z.server("198.51.100.8:10666")
	if got := stranger.announce(); got != uplink.NotAllowed {
		t.Errorf("challenge of a server that is not allowed: dropped %q, want %q", got, uplink.NotAllowed)
	}
	z.wantList("203.0.113.1:1", "192.0.2.1:10666")
	if answer, _ := z.ask("198.51.100.9:1"); answer != zandronum.AnswerBanned {
		t.Errorf("launcher that is not allowed: answer %d, want %d", answer, zandronum.AnswerBanned)
	}
	z.reload(func(c *Config) { c.AllowServers = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")} })
	z.wantList("203.0.113.2:1")
	stranger.register()
	z.wantList("203.0.113.3:1", "198.51.100.8:10666")
}

func TestServerRemovedByOperator(t *testing.T) {
	z := newZan(t, nil)
	g := z.server("192.0.2.1:10666")
	g.register()
	z.opt.Registry.Remove(master.Key{Source: g.addr})
	z.wantList("203.0.113.1:1")
	g.register()
	z.wantList("203.0.113.2:1", "192.0.2.1:10666")
}

func TestRestoredServers(t *testing.T) {
	z := newZan(t, nil)
	g := z.server("192.0.2.1:10666")
	g.register()
	saved, _ := z.opt.Registry.At(g.addr)
	z = newZan(t, nil)
	srv := *saved
	srv.Restored = true
	if err := z.opt.Registry.Put(srv); err != nil {
		t.Fatal(err)
	}
	z.wantList("203.0.113.1:1", "192.0.2.1:10666")
	g.z = z
	g.register()
	if got, _ := z.opt.Registry.At(g.addr); got.Restored {
		t.Error("record is still restored after the registration")
	}
	z.wantList("203.0.113.2:1", "192.0.2.1:10666")
}

func TestFullRegistryRefuses(t *testing.T) {
	z := newZan(t, func(o *Options) { o.Registry = master.NewRegistry(master.Limits{Servers: 1}) })
	z.server("192.0.2.1:10666").register()
	g := z.server("192.0.2.2:10666")
	if got := g.verify(g.challenged()); got != uplink.Full || z.verdict(g.addr) != "list full" {
		t.Errorf("second server in a list of one: dropped %q, verdict %q", got, z.verdict(g.addr))
	}
}

// Unverified challenges from ten thousand sources cost nothing that stays.
func TestFloodOfChallenges(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	z := newZan(t, func(o *Options) { o.MaxPending = 1024 })
	z.server("192.0.2.1:10666").register()
	flood := func(from, to int) {
		g := z.server("10.0.0.0:10666")
		for i := from; i < to; i++ {
			g.addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 10666)
			z.handle(nettest.Discard{}, netserve.Packet{Data: zandronum.Encode(nil, g.announcement()), From: g.addr, To: masterAddr})
		}
	}
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	flood(0, 12_000)
	before := memory()
	flood(12_000, 24_000)
	if after := memory(); after > before+before/4+1<<19 {
		t.Errorf("memory: %d bytes after 12,000 challenges, %d after another 12,000", before, after)
	}
	if n := z.hosts.pending.Len(); n != z.opt.MaxPending {
		t.Errorf("%d servers are being verified, want %d", n, z.opt.MaxPending)
	}
	if n := z.hosts.known.Addresses(); n != 1 {
		t.Errorf("%d addresses are counted, want that of the known server alone", n)
	}
	z.wantList("203.0.113.1:1", "192.0.2.1:10666")
}

func TestVerificationThatMakesRoomIsCounted(t *testing.T) {
	reg := prometheus.NewRegistry()
	z := newZan(t, func(o *Options) {
		o.MaxPending, o.Metrics = 2, netserve.NewMetrics(reg, "zanmaster", dropNames()...)
	})
	for i := range 5 {
		if dropped := z.server(fmt.Sprintf("192.0.2.%d:10666", 1+i)).announce(); dropped != uplink.NotDropped {
			t.Fatalf("challenge %d: dropped: %s", i, dropped)
		}
	}
	if got := metrictest.Dropped(t, reg, uplink.TooManyPending.Error()); got != 3 {
		t.Errorf("%v verifications were counted that made room, want 3", got)
	}
}

// Only challenges that are shorter than their answer are bound: the others cannot
// be used to flood others.
func TestUnprovedBound(t *testing.T) {
	z := newZan(t, func(o *Options) {
		o.ServersPerAddress = 0
		o.UnprovedRate, o.UnprovedBurst = 1, 3
	})
	short := []byte("\x74\x5d\x56\x00\x00\x01") // no string, no revision
	size, longer, limited := len(zandronum.Encode(nil, short)), 0, 0
	for i := range 20 {
		z.server(fmt.Sprintf("192.0.2.1:%d", 1000+i)).challenged()
		if z.send(netip.MustParseAddrPort(fmt.Sprintf("192.0.2.1:%d", 2000+i)), short) == uplink.Limited {
			limited++
		}
		for _, p := range z.w.Take() { // some numbers are coded in few bits
			if p.size > size {
				longer++
			}
		}
	}
	if longer != 3 || limited == 0 {
		t.Errorf("twenty short challenges with three allowed: %d longer answers, %d dropped as limited", longer, limited)
	}
}

// A server that was pushed out of the table is sent the same number with its
// next challenge, so that its answer to the first one is as good.
func TestForgottenServerGetsTheSameNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newZan(t, func(o *Options) { o.MaxPending = 1 })
		g, other := z.server("192.0.2.1:10666"), z.server("192.0.2.2:10666")
		first := g.challenged()
		other.challenged()
		if got := g.verify(first); got != uplink.Unexpected {
			t.Fatalf("verification of a forgotten server: dropped %q, want %q", got, uplink.Unexpected)
		}
		if again := g.challenged(); again != first {
			t.Errorf("number after it was forgotten: got %d, want %d", again, first)
		}
		other.challenged()
		time.Sleep(unproved.Slot)
		if next := g.challenged(); next == first {
			t.Errorf("number a minute later: got %d again", next)
		}
		if dropped := g.verify(first); dropped != uplink.NotDropped || !g.listed() {
			t.Errorf("verification with the last number: dropped %q, listed %t", dropped, g.listed())
		}
		z.opt.Registry.Remove(master.Key{Source: g.addr})
		if again := g.challenged(); again == first {
			t.Errorf("number after the registration: got %d again", again)
		}
		if got := g.verify(first); got != uplink.Wrong || g.listed() {
			t.Errorf("replayed verification: dropped %q, listed %t, want %q", got, g.listed(), uplink.Wrong)
		}
	})
}

// A victim whose address is forged gets no more bytes than the forger sends.
func TestChallengesDoNotAmplify(t *testing.T) {
	z := newZan(t, nil)
	in, out := 0, 0
	for i := range 1000 {
		g := z.server(fmt.Sprintf("192.0.2.1:%d", 10666+i%40))
		switch i % 3 {
		case 1:
			g.verification = ""
		case 2:
			g.verification = "OTHER"
		}
		b := zandronum.Encode(nil, g.announcement())
		in += len(b)
		z.handle(z.w, netserve.Packet{Data: b, From: g.addr, To: masterAddr})
	}
	for _, p := range z.w.Take() {
		out += p.size
	}
	if out > in {
		t.Errorf("%d bytes in, %d out to an address that proved nothing", in, out)
	}
}

func TestRestoredServersNotEnforcing(t *testing.T) {
	shown := newZan(t, func(o *Options) { o.NotEnforcing = show })
	g := shown.server("192.0.2.1:10666")
	g.enforces = false
	g.register()
	saved, _ := shown.opt.Registry.At(g.addr)
	srv := *saved
	srv.Restored = true
	z := newZan(t, nil)
	if err := z.opt.Registry.Put(srv); err != nil {
		t.Fatal(err)
	}
	z.wantList("203.0.113.1:1")
	z.reload(func(c *Config) { c.NotEnforcing = show })
	z.wantList("203.0.113.2:1", "192.0.2.1:10666")
}

// The verdict names the reason for which a server was removed, a hidden one too.
func TestVerdictOnServersThatAreTakenOff(t *testing.T) {
	for name, tc := range map[string]struct {
		file string
		want verdicts.Verdict
	}{
		"banned":          {BanFile, verdicts.Banned},
		"blocked":         {BlockFile, verdicts.Blocked},
		"not on the list": {"", verdicts.NotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			z := newZan(t, func(o *Options) { o.Files = dir })
			listed, hidden := z.server("203.0.113.1:10666"), z.server("203.0.113.1:10667")
			hidden.enforces = false
			listed.register()
			hidden.register()
			if tc.file != "" {
				write(t, dir, tc.file, "203.0.113.1\n")
				if err := z.readFiles(); err != nil {
					t.Fatal(err)
				}
			} else {
				z.reload(func(c *Config) { c.AllowServers = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} })
			}
			for _, g := range []*server{listed, hidden} {
				if got := z.verdict(g.addr); got != tc.want.String() {
					t.Errorf("verdict on %v: got %q, want %q", g.addr, got, tc.want)
				}
			}
			if n := len(z.Hosts()); n > 0 {
				t.Errorf("%d servers are still known", n)
			}
		})
	}
}
