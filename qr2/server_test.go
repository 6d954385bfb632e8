package qr2

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/valvemaster"
	"github.com/respawnd/respawnd/zanmaster"
)

func TestPacketsThatAreDropped(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	tests := map[string]struct {
		data []byte
		from string
		want uplink.Drop
	}{
		"nothing":                {nil, "192.0.2.1:1", uplink.Empty},
		"too long":               {make([]byte, MaxPacket+1), "192.0.2.1:1", uplink.Oversized},
		"text without game":      {[]byte(`\heartbeat\6500\`), "192.0.2.1:1", uplink.Malformed},
		"text without fields":    {[]byte(`\\\`), "192.0.2.1:1", uplink.Malformed},
		"unasked text":           {[]byte(`\hostname\x\final\\queryid\1.1`), "192.0.2.1:1", uplink.Unexpected},
		"CD key text":            {[]byte(";auth"), "192.0.2.1:1", uplink.CDKey},
		"a packet of ours":       {h.reply(KindKeepalive), "192.0.2.1:1", uplink.Ours},
		"Quake":                  {[]byte("\xff\xff\xff\xffinfo"), "192.0.2.1:1", uplink.Foreign},
		"unknown kind":           {[]byte{11, 1, 2, 3, 4}, "192.0.2.1:1", uplink.Foreign},
		"half a header":          {[]byte{8, 1, 2, 3}, "192.0.2.1:1", uplink.Short},
		"IPv6":                   {h.heartbeat(), "[2001:db8::1]:1", uplink.Foreign},
		"port 0":                 {h.heartbeat(), "192.0.2.1:0", uplink.Foreign},
		"unknown keepalive":      {h.packet(KindKeepalive), "192.0.2.1:1", uplink.Unlisted},
		"unknown response":       {h.packet(KindChallenge, "abc\x00"), "192.0.2.1:1", uplink.Unexpected},
		"unknown receipt":        {h.packet(KindReceipt, "\x00\x00\x00\x01"), "192.0.2.1:1", uplink.Unexpected},
		"short receipt":          {h.packet(KindReceipt, "\x00\x00\x00"), "192.0.2.1:1", uplink.Short},
		"query reply":            {h.packet(KindQuery), "192.0.2.1:1", uplink.Unexpected},
		"echo":                   {h.packet(KindEcho), "192.0.2.1:1", uplink.Unexpected},
		"heartbeat without game": {h.packet(KindHeartbeat, "\x00"), "192.0.2.1:1", uplink.Malformed},
		"check without game":     {[]byte{9, 0, 0, 0, 0, 0}, "192.0.2.1:1", uplink.Malformed},
		"check without end":      {[]byte("\x09\x00\x00\x00\x00gmtest"), "192.0.2.1:1", uplink.Malformed},
		"farewell of a stranger": {h.heartbeat("statechanged", "2"), "192.0.2.1:1", uplink.Unlisted},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := netserve.Packet{Data: tt.data, From: netip.MustParseAddrPort(tt.from), To: masterAddr}
			if got := in.handle(in.w, p); got != tt.want {
				t.Errorf("handle(%.20q): got %q, want %q", tt.data, got, tt.want)
			}
			if got := in.w.Take(); len(got) != 0 {
				t.Errorf("handle(%.20q): answered with %+v", tt.data, got)
			}
		})
	}
	if in.list.Len() != 0 || in.pending.Len() != 0 {
		t.Errorf("dropped packets left %d servers and %d pending", in.list.Len(), in.pending.Len())
	}
}

func TestPacketsAreCounted(t *testing.T) {
	reg := prometheus.NewRegistry()
	in := newIntake(t, func(o *Options) {
		o.Registerer = reg
		o.Metrics = netserve.NewMetrics(reg, "qr2", dropNames()...)
	})
	h := in.host("192.0.2.1:6500")
	h.register()
	in.ServePacket(in.w, netserve.Packet{Data: h.packet(KindKeepalive), From: h.addr})
	in.ServePacket(in.w, netserve.Packet{Data: nil, From: h.addr})
	for _, c := range [][]string{
		{"respawnd_dropped_total", uplink.Empty.Error()},
		{"respawnd_qr2_received_total", "heartbeat"},
		{"respawnd_qr2_received_total", "keepalive"},
		{"respawnd_qr2_challenges_total"},
		{"respawnd_qr2_registrations_total"},
	} {
		if got := metrictest.Value(t, reg, c[0], c[1:]...); got != 1 {
			t.Errorf("%s: got %v, want 1", c, got)
		}
	}
}

func TestFirstHeartbeatFields(t *testing.T) {
	in := newIntake(t, func(o *Options) {
		o.Locate = func(netip.Addr) (string, string) { return "DE", "2" }
	})
	h := in.host("192.0.2.1:6500")
	b := table(table(h.heartbeat("statechanged", "3", "hostname", "Test", "country", "XX"), 1, []string{"player_"}, "Joe"), 1, []string{"team_t"}, "Red")
	if dropped := h.send(h.answer(h.challenged(b))); dropped != uplink.NotDropped {
		t.Fatalf("response: dropped: %s", dropped)
	}
	srv, ok := in.list.Get(h.key())
	if !ok {
		t.Fatal("not listed")
	}
	if h.rule("hostname") != "Test" || srv.Players.Rows() != 1 || srv.Teams.Value(0, 0) != "Red" || !srv.NATNeg {
		t.Errorf("record: %+v", srv)
	}
	if len(srv.Local) != 1 || srv.Local[0].String() != "192.168.1.5:6500" || srv.Public != h.addr || srv.Via != masterAddr {
		t.Errorf("addresses: local %v, public %v, via %v", srv.Local, srv.Public, srv.Via)
	}
	if got, _ := srv.Field("country"); got != "DE" || srv.Region != "2" {
		t.Errorf("country %q, region %q; want ours", got, srv.Region)
	}
	if got := in.verdict(h.addr); got != "listed" {
		t.Errorf("verdict: got %q, want listed", got)
	}
}

func TestKeepaliveOfAListedServerIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.host("192.0.2.1:6500")
		h.register()
		time.Sleep(20 * time.Second)
		if dropped := h.send(h.packet(KindKeepalive)); dropped != uplink.NotDropped {
			t.Errorf("keepalive: dropped: %s", dropped)
		}
		h.want(sent{h.reply(KindKeepalive), masterAddr, h.addr})
		if last := in.list.All()[0].LastSeen; !last.Equal(time.Now()) {
			t.Errorf("last seen: %v ago, want now", time.Since(last))
		}
	})
}

// Only the holder of the instance key at the address speaks for a server.
func TestStrangersCannotTouchAListedServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.host("192.0.2.1:6500")
		h.register("hostname", "mine")
		listedAt := time.Now()
		otherPort, otherKey := in.host("192.0.2.1:6501"), h.restarted(9)
		time.Sleep(time.Second)
		for name, s := range map[string]*host{"another port": otherPort, "another instance": otherKey} {
			for what, packet := range map[string][]byte{
				"keepalive": s.packet(KindKeepalive),
				"heartbeat": s.heartbeat("hostname", "stolen"),
				"farewell":  s.heartbeat("statechanged", "2"),
				"response":  s.packet(KindChallenge, "AAAAAAAAAAAAAAAAAAAAAAAAAAAA\x00"),
			} {
				_ = s.send(packet)
				if !h.listed() || h.rule("hostname") != "mine" {
					t.Errorf("%s from %s changed the list", what, name)
				}
			}
			for _, p := range in.w.Take() {
				if p.kind() != KindChallenge {
					t.Errorf("%s: answered with %x", name, p.data)
				}
			}
		}
		if last := in.list.All()[0].LastSeen; !last.Equal(listedAt) {
			t.Error("strangers kept the server alive")
		}
	})
}

// The instance keys of other intakes are no secret, so they are worth nothing
// here: one forged packet would do.
func TestServersOfOtherOriginsAreNotSpokenFor(t *testing.T) {
	for _, restored := range []bool{false, true} {
		for _, origin := range []*master.Origin{OldOrigin, zanmaster.Origin, valvemaster.Origin, master.Found, master.Static} {
			synctest.Test(t, func(t *testing.T) {
				in := newIntake(t, nil)
				h := in.host("192.0.2.1:6500")
				var report master.Report
				report.SetRules(in.list.Names([]string{"hostname"}))
				report.Rule([]byte("mine"))
				srv := master.Server{Key: h.key(), Game: h.game, Origin: origin, Public: h.addr, Seen: time.Now(), Restored: restored}
				if err := report.Into(&srv); err != nil {
					t.Fatal(err)
				}
				if err := in.list.Put(srv); err != nil {
					t.Fatal(err)
				}
				listedAt := in.list.All()[0].LastSeen
				time.Sleep(time.Second)
				for what, packet := range map[string][]byte{
					"keepalive":     h.packet(KindKeepalive),
					"heartbeat":     h.heartbeat("hostname", "stolen"),
					"cut heartbeat": h.packet(KindHeartbeat, "gamename"),
					"first":         h.heartbeat("hostname", "stolen", "statechanged", "3"),
					"farewell":      h.heartbeat("statechanged", "2"),
					"response":      h.packet(KindChallenge, "AAAAAAAAAAAAAAAAAAAAAAAAAAAA\x00"),
				} {
					_ = h.send(packet)
					if !h.listed() || h.rule("hostname") != "mine" {
						t.Fatalf("%s changed a server of origin %v, restored %v", what, origin, restored)
					}
				}
				for _, p := range in.w.Take() {
					if k := p.kind(); k == KindKeepalive || k == KindRegistered {
						t.Errorf("origin %v: answered as a listed host with %x", origin, p.data)
					}
				}
				if last := in.list.All()[0].LastSeen; !last.Equal(listedAt) {
					t.Errorf("a forged packet kept a server of origin %v alive", origin)
				}
			})
		}
	}
}

// A server that proves its address is listed by this protocol and replaces any
// other record there.
func TestProofReplacesAServerOfAnotherOrigin(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	old := master.Server{Key: h.key(), Game: h.game, Origin: master.Static, Public: h.addr, Seen: time.Now()}
	if err := in.list.Put(old); err != nil {
		t.Fatal(err)
	}
	if srv := h.register("hostname", "mine"); srv.Origin != Origin || h.rule("hostname") != "mine" {
		t.Errorf("listed as %v with hostname %q", srv.Origin, h.rule("hostname"))
	}
}

func TestHeartbeatsOfListedServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.host("192.0.2.1:6500")
		first := h.register("hostname", "a")
		for _, state := range []string{"", "1"} {
			time.Sleep(10 * time.Second)
			if dropped := h.send(h.heartbeat("hostname", "b"+state, "statechanged", state)); dropped != uplink.NotDropped {
				t.Fatalf("heartbeat with state %q: dropped: %s", state, dropped)
			}
			h.want()
			if got := h.rule("hostname"); got != "b"+state {
				t.Errorf("rule: got %q, want %q", got, "b"+state)
			}
		}
		got, _ := in.list.Get(h.key())
		if !got.First.Equal(first.First) || !got.Seen.Equal(time.Now()) {
			t.Errorf("First %v, Seen %v; want the registration and now", got.First, got.Seen)
		}
	})
}

func TestHeartbeatWithoutNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.host("192.0.2.1:6500")
		before := h.register("hostname", "a")
		time.Sleep(time.Minute)
		if dropped := h.send(h.heartbeat("hostname", "a")); dropped != uplink.NotDropped {
			t.Fatalf("heartbeat: dropped: %s", dropped)
		}
		if got, _ := in.list.Get(h.key()); got != before {
			t.Error("a heartbeat that says nothing new made a new record")
		}
		if last := in.list.All()[0].LastSeen; !last.Equal(time.Now()) {
			t.Error("it is no sign of life")
		}
	})
}

func TestEveryNewsMakesANewRecord(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	b := h.packet(KindHeartbeat, "gamename\x00gmtest\x00localip0\x0010.0.0.1\x00localport\x001\x00natneg\x000\x00a\x00b\x00\x00")
	if dropped := h.send(h.answer(h.challenged(b))); dropped != uplink.NotDropped {
		t.Fatalf("response: dropped: %s", dropped)
	}
	for what, change := range map[string][2]string{
		"natneg":        {"natneg\x000", "natneg\x001"},
		"local address": {"10.0.0.1", "10.0.0.2"},
		"local port":    {"localport\x001", "localport\x002"},
		"value":         {"a\x00b", "a\x00c"},
		"name":          {"a\x00b", "z\x00b"},
	} {
		before, _ := in.list.Get(h.key())
		if dropped := h.send(bytes.Replace(b, []byte(change[0]), []byte(change[1]), 1)); dropped != uplink.NotDropped {
			t.Fatalf("change of %s: dropped: %s", what, dropped)
		}
		if got, _ := in.list.Get(h.key()); got == before {
			t.Errorf("a change of the %s makes no new record", what)
		}
	}
	before, _ := in.list.Get(h.key())
	in.handle(in.w, netserve.Packet{Data: b, From: h.addr, To: netip.MustParseAddr("198.51.100.2")})
	if got, _ := in.list.Get(h.key()); got == before || got.Via.String() != "198.51.100.2" {
		t.Errorf("a heartbeat to another address of ours: via %v", got.Via)
	}
}

func TestMalformedHeartbeatKeepsTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t, nil)
		h := in.host("192.0.2.1:6500")
		h.register("hostname", "a")
		time.Sleep(time.Second)
		if got := h.send(h.packet(KindHeartbeat, "hostname\x00b\x00\x00")); got != uplink.Malformed {
			t.Errorf("heartbeat without game: got %q, want %q", got, uplink.Malformed)
		}
		if h.rule("hostname") != "a" || !in.list.All()[0].LastSeen.Equal(time.Now()) {
			t.Error("the record changed or the server is not alive")
		}
		if got := in.verdict(h.addr); got != "malformed heartbeat" {
			t.Errorf("verdict: got %q", got)
		}
	})
}

func TestFarewellTakesTheServerOffTheList(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	h.register()
	if dropped := h.send(h.heartbeat("statechanged", "2")); dropped != uplink.NotDropped {
		t.Fatalf("farewell: dropped: %s", dropped)
	}
	h.want()
	if h.listed() || in.pending.Len() != 0 {
		t.Error("still listed or challenged")
	}
	if got := in.verdict(h.addr); got != "left" {
		t.Errorf("verdict: got %q, want left", got)
	}
}

func TestFarewellEndsAVerification(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	c := h.challenged(h.heartbeat())
	if dropped := h.send(h.heartbeat("statechanged", "2")); dropped != uplink.NotDropped {
		t.Fatalf("farewell: dropped: %s", dropped)
	}
	if got := h.send(h.answer(c)); got != uplink.Unexpected || h.listed() {
		t.Errorf("response behind the farewell: got %q, listed %v", got, h.listed())
	}
}

// A host that has lost its state says 3: it is challenged, and stays listed.
func TestRestartingServerIsChallenged(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	h.register("hostname", "a")
	c := h.challenged(h.heartbeat("statechanged", "3", "hostname", "b"))
	if !h.listed() || h.rule("hostname") != "b" {
		t.Errorf("hostname: got %q, want the news at once", h.rule("hostname"))
	}
	// Values that come before the answer are newer than those of the challenged
	// heartbeat.
	if dropped := h.send(h.heartbeat("hostname", "c")); dropped != uplink.NotDropped {
		t.Fatalf("heartbeat: dropped: %s", dropped)
	}
	if dropped := h.send(h.answer(c)); dropped != uplink.NotDropped {
		t.Fatalf("response: dropped: %s", dropped)
	}
	h.want(sent{h.reply(KindRegistered), masterAddr, h.addr})
	if got := h.rule("hostname"); got != "c" {
		t.Errorf("hostname after the answer: got %q, want c", got)
	}
}

func TestNewInstanceReplacesAfterProof(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	h.register("hostname", "old")
	next := h.restarted(77)
	c := next.challenged(next.heartbeat("hostname", "new"))
	if !h.listed() || next.listed() {
		t.Fatal("replaced before the proof")
	}
	if dropped := next.send(next.answer(c)); dropped != uplink.NotDropped {
		t.Fatalf("response: dropped: %s", dropped)
	}
	if h.listed() || next.rule("hostname") != "new" || in.list.Len() != 1 {
		t.Errorf("after the proof: old listed %v, new %q, %d servers", h.listed(), next.rule("hostname"), in.list.Len())
	}
	var words []string
	for _, e := range in.book.Of(h.addr.Addr()) {
		words = append(words, e.Verdict.String())
	}
	if !slices.Contains(words, "restarted") {
		t.Errorf("verdicts: %q, want restarted among them", words)
	}
}

func TestChangeOfGameNeedsAProof(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	h.register()
	h.game, h.secret = "other", longSecret
	c := h.challenged(h.heartbeat("statechanged", "1"))
	if srv, _ := in.list.Get(h.key()); srv == nil || srv.Game != "gmtest" {
		t.Fatal("the game changed before the proof")
	}
	if dropped := h.send(h.answer(c)); dropped != uplink.NotDropped {
		t.Fatalf("response: dropped: %s", dropped)
	}
	if got := in.list.Counts(); got["other"] != 1 || got["gmtest"] != 0 {
		t.Errorf("counts: got %v, want one server of other", got)
	}
}

func TestGameIsKnownInAnyCase(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	h.game = "GmTest"
	if srv := h.register("hostname", "a"); srv.Game != "gmtest" {
		t.Errorf("game: got %q, want gmtest", srv.Game)
	}
	h.taken(t, h.heartbeat("hostname", "b"))
	if h.rule("hostname") != "b" {
		t.Error("the next heartbeat was not taken")
	}
}

// taken sends a packet that must be taken without an answer.
func (h *host) taken(t *testing.T, data []byte) {
	t.Helper()
	if dropped := h.send(data); dropped != uplink.NotDropped {
		t.Errorf("packet of %v: dropped: %s", h.addr, dropped)
	}
	h.want()
}

func TestEverySecretOfAGameProves(t *testing.T) {
	in := newIntake(t, nil)
	for i, key := range []string{"oldkey", longSecret} {
		h := in.host("192.0.2.1:6500").restarted(uint32(i))
		h.game, h.secret = "other", key
		h.register()
	}
}

func TestUnprovedRateExemptsListedServers(t *testing.T) { synctest.Test(t, testRateOfStrangers) }

func testRateOfStrangers(t *testing.T) {
	in := newIntake(t, func(o *Options) {
		o.UnprovedRate, o.UnprovedBurst = 1, 2
	})
	h := in.host("192.0.2.1:6500")
	h.register("n", "0") // takes none: its heartbeat is longer than the challenge
	short := h.packet(KindHeartbeat, "gamename\x00gmtest\x00")
	for _, port := range []string{"6501", "6503"} {
		if got := in.host("192.0.2.1:" + port).send(short); got != uplink.NotDropped {
			t.Fatalf("short heartbeat of port %s: dropped: %s", port, got)
		}
	}
	if got := in.host("192.0.2.1:6502").send(short); got != uplink.Limited {
		t.Fatalf("third short heartbeat: got %q, want %q", got, uplink.Limited)
	}
	if got := in.host("192.0.2.1:6502").send([]byte("\x09\x00\x00\x00\x00gmtest\x00")); got != uplink.Limited {
		t.Errorf("availability check of a limited address: got %q, want %q", got, uplink.Limited)
	}
	if got := in.verdict(netip.MustParseAddrPort("192.0.2.1:6502")); got != "limited" {
		t.Errorf("verdict: got %q, want limited", got)
	}
	in.w.Take()
	for i := range 100 {
		if dropped := h.send(h.heartbeat("n", string(rune('a'+i%26)))); dropped != uplink.NotDropped {
			t.Fatalf("heartbeat %d of the listed server: dropped: %s", i, dropped)
		}
		if dropped := h.send(h.packet(KindKeepalive)); dropped != uplink.NotDropped {
			t.Fatalf("keepalive %d of the listed server: dropped: %s", i, dropped)
		}
	}
	h.challenged(h.heartbeat("statechanged", "3"))
}

func TestAvailability(t *testing.T) {
	tests := map[string]struct {
		game                string
		strict, maintenance bool
		want                byte
	}{
		"known":                           {"gmtest", false, false, 0},
		"in any case":                     {"GMTest", true, false, 0},
		"gone":                            {"gone", false, false, 1},
		"down":                            {"down", false, false, 2},
		"both":                            {"both", false, false, 3},
		"alias":                           {"gmdemo", true, false, 0},
		"alias of a game that is off":     {"closedde", false, false, 2},
		"alias without a record":          {"ClosedJP", false, false, 2},
		"unknown":                         {"unknown", false, false, 0},
		"unknown, strict":                 {"unknown", true, false, 1},
		"without secret":                  {"nosecret", false, false, 0},
		"without secret, strict":          {"nosecret", true, false, 1},
		"maintenance":                     {"gmtest", false, true, 2},
		"maintenance of an unknown game":  {"unknown", false, true, 2},
		"what is gone stays gone":         {"gone", false, true, 1},
		"a name longer than any game has": {strings.Repeat("x", 4000), false, false, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := newIntake(t, func(o *Options) { o.StrictAvailability, o.Maintenance = tt.strict, tt.maintenance })
			h := in.host("192.0.2.1:6500")
			// The four bytes behind the kind are not always zero.
			if dropped := h.send([]byte("\x09\x01\x02\x03\xff" + tt.game + "\x00")); dropped != uplink.NotDropped {
				t.Fatalf("dropped: %s", dropped)
			}
			h.want(sent{[]byte{0xFE, 0xFD, 9, 0, 0, 0, tt.want}, masterAddr, h.addr})
		})
	}
}

func TestRestoredServer(t *testing.T) {
	restore := func(t *testing.T) *host {
		in := newIntake(t, nil)
		h := in.host("192.0.2.1:6500")
		srv := h.register("hostname", "saved")
		saved := *srv
		in.list.Remove(h.key())
		saved.Restored, saved.Lifetime = true, 3*time.Minute
		saved.Findings.Reached = master.ReachedDirect
		if err := in.list.Put(saved); err != nil {
			t.Fatal(err)
		}
		return h
	}
	check := func(t *testing.T, h *host, hostname string) {
		t.Helper()
		srv, ok := h.in.list.Get(h.key())
		if !ok {
			t.Fatal("not listed")
		}
		if srv.Restored || srv.Lifetime != 0 || srv.Findings.Reached != master.ReachedDirect || !srv.First.Before(srv.Seen) {
			t.Errorf("record: restored %v, lifetime %v, reached %v, first %v, seen %v", srv.Restored, srv.Lifetime, srv.Findings.Reached, srv.First, srv.Seen)
		}
		if got := h.rule("hostname"); got != hostname {
			t.Errorf("hostname: got %q, want %q", got, hostname)
		}
		if dropped := h.send(h.packet(KindKeepalive)); dropped != uplink.NotDropped {
			t.Errorf("next keepalive: dropped: %s", dropped)
		}
	}
	tests := map[string]struct {
		first    func(*host) []byte
		hostname string
	}{
		"keepalive": {func(h *host) []byte { return h.packet(KindKeepalive) }, "saved"},
		"heartbeat": {func(h *host) []byte { return h.heartbeat("hostname", "new") }, "new"},
	}
	for name, tt := range tests {
		t.Run("is challenged on its first "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := restore(t)
				time.Sleep(time.Second)
				c := h.challenged(tt.first(h))
				if srv, _ := h.in.list.Get(h.key()); !srv.Restored || h.rule("hostname") != "saved" {
					t.Error("changed before its proof")
				}
				if dropped := h.send(h.answer(c)); dropped != uplink.NotDropped {
					t.Fatalf("response: dropped: %s", dropped)
				}
				check(t, h, tt.hostname)
			})
		})
	}
	t.Run("is gone after its lifetime", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := restore(t)
			go func() { _ = h.in.list.Run(t.Context(), h.in.Expired) }()
			time.Sleep(time.Minute)
			h.challenged(h.packet(KindKeepalive)) // is never answered
			time.Sleep(3 * time.Minute)
			if h.listed() {
				t.Error("still listed")
			}
			if got := h.in.verdict(h.addr); got != "expired" {
				t.Errorf("verdict: got %q, want expired", got)
			}
			if got := h.send(h.packet(KindKeepalive)); got != uplink.Unlisted {
				t.Errorf("keepalive: got %q, want %q", got, uplink.Unlisted)
			}
		})
	})
	t.Run("is gone before its answer", func(t *testing.T) {
		h := restore(t)
		h.in.reload(func(c *Config) { c.AddError = true })
		c := h.challenged(h.packet(KindKeepalive))
		h.in.list.Remove(h.key())
		if got := h.send(h.answer(c)); got != uplink.Unlisted || h.listed() {
			t.Errorf("response: got %q, listed %v; want %q and not listed", got, h.listed(), uplink.Unlisted)
		}
		h.want() // no refusal: its next heartbeat is welcome
	})
	t.Run("leaves at its own wish", func(t *testing.T) {
		h := restore(t)
		if dropped := h.send(h.heartbeat("statechanged", "2")); dropped != uplink.NotDropped || h.listed() {
			t.Errorf("farewell: dropped %q, listed %v", dropped, h.listed())
		}
	})
	t.Run("of a game that is no longer known", func(t *testing.T) {
		h := restore(t)
		if err := h.in.games.Replace(nil); err != nil {
			t.Fatal(err)
		}
		if got := h.send(h.packet(KindKeepalive)); got != uplink.UnknownGame {
			t.Errorf("keepalive: got %q, want %q", got, uplink.UnknownGame)
		}
	})
}

func TestServerThatIsRemovedStaysRemoved(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	old := h.register("hostname", "a")
	// The list loses the server between the look at the record and the update.
	in.list.Remove(h.key())
	p := netserve.Packet{Data: h.heartbeat("hostname", "b"), From: h.addr, To: masterAddr}
	f, err := peek(p.Data)
	if err != nil {
		t.Fatal(err)
	}
	in.update(&f, p, old, time.Now())
	if h.listed() {
		t.Error("an update brought a removed server back")
	}
}

func TestResponseCheckUsesTheWholeSecret(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	h.game, h.secret = "other", longSecret[:6]
	c := h.challenged(h.heartbeat())
	if got := h.send(h.answer(c)); got != uplink.Wrong {
		t.Errorf("answer with a cut secret: got %q, want %q", got, uplink.Wrong)
	}
	text := string(c[replyHeader : len(c)-1])
	long := h.packet(KindChallenge, gamespy.Response(longSecret, text)+"more\x00")
	if dropped := h.send(long); dropped != uplink.NotDropped {
		t.Errorf("right answer with more behind it: dropped: %s", dropped)
	}
}
