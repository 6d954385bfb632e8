package valvemaster

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

var someRules = map[string]string{"hostname": "Arena", "gamename": "tf", "mapname": "ctf_2fort", "maxplayers": "24", "numplayers": "5"}

func TestServerIsListedAfterItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newValve(t, nil)
		a := netip.MustParseAddrPort("192.0.2.1:27015")
		v.asker.answers[a] = someRules
		c := v.challengeFor(a)
		if len(v.asker.watched) != 0 || v.verdict(a) != "challenge sent" {
			t.Errorf("after the challenge: watched %v, verdict %q", v.asker.watched, v.verdict(a))
		}
		if dropped := v.send(a, beat(t, Heartbeat{Challenge: c})); dropped != uplink.NotDropped {
			t.Fatalf("heartbeat: dropped: %s", dropped)
		}
		if got := v.verdict(a); !strings.HasPrefix(got, "heartbeat taken") {
			t.Errorf("verdict after the heartbeat: %q", got)
		}
		v.tick(time.Now())
		if all, _ := v.walk("203.0.113.1:1", AnyRegion, ""); len(all) != 1 || all[0] != a.String() {
			t.Errorf("list: %v, want %v", all, a)
		}
	})
}

func TestServerThatDoesNotAnswerIsNotListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newValve(t, nil)
		a := v.register("192.0.2.1:27015", nil)
		v.tick(time.Now())
		if got := v.verdict(a); !strings.HasPrefix(got, "heartbeat taken") {
			t.Errorf("verdict at once: %q", got)
		}
		time.Sleep(answerTimeout)
		v.tick(time.Now())
		if got := v.verdict(a); got != "no answer to A2S queries" {
			t.Errorf("verdict after %v: %q", answerTimeout, got)
		}
		if all, _ := v.walk("203.0.113.1:1", AnyRegion, ""); len(all) != 0 {
			t.Errorf("list: %v, want none", all)
		}
		if w := v.Waiting(); len(w) != 1 || w[0].Addr != a || w[0].First.IsZero() || w[0].Seen.Before(w[0].First) {
			t.Errorf("waiting: %+v, want %v", w, a)
		}
		v.register(a.String(), someRules)
		v.tick(time.Now())
		if w := v.Waiting(); len(w) != 0 {
			t.Errorf("waiting once it answers: %+v", w)
		}
		v.note(a, verdicts.Listed) // as the prober does
		delete(v.asker.answers, a)
		v.list.Remove(master.Key{Source: a})
		v.tick(time.Now())
		if got := v.verdict(a); got != "no answer to A2S queries" {
			t.Errorf("verdict when it stopped to answer: %q", got)
		}
	})
}

func TestVerdictOfFullList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newValve(t, func(o *Options) { o.Registry = master.NewRegistry(master.Limits{Servers: 1}) })
		v.register("192.0.2.1:27015", someRules)
		late := v.register("192.0.2.2:27015", someRules)
		v.tick(time.Now())
		time.Sleep(answerTimeout)
		v.tick(time.Now())
		if got := v.verdict(late); !strings.HasPrefix(got, "heartbeat taken") {
			t.Errorf("verdict on a server that answers: %q", got)
		}
		if w := v.Waiting(); len(w) != 1 || w[0].Addr != late || !w[0].Answers {
			t.Errorf("waiting: %+v, want %v, which answers", w, late)
		}
	})
}

func TestHeartbeatNeedsItsOwnChallenge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newValve(t, nil)
		a, b := netip.MustParseAddrPort("192.0.2.1:27015"), netip.MustParseAddrPort("192.0.2.1:27016")
		c := v.challengeFor(a)
		wrong := map[string]struct {
			from netip.AddrPort
			c    uint32
		}{
			"another port": {b, c}, "another address": {netip.MustParseAddrPort("192.0.2.2:27015"), c}, "a guess": {a, c + 1},
		}
		for name, w := range wrong {
			if dropped := v.send(w.from, beat(t, Heartbeat{Challenge: w.c})); dropped != uplink.Wrong {
				t.Errorf("heartbeat with %s: dropped %q, want %q", name, dropped, uplink.Wrong)
			}
		}
		if got := v.verdict(a); got != "challenge out of date" {
			t.Errorf("verdict on a wrong challenge: %q", got)
		}
		x := verdicts.Entry{Service: serviceName, Verdict: verdicts.StaleChallenge}.Explain()
		if strings.Contains(x.Cause+x.Advice, "key") {
			t.Errorf("explanation %+v, want nothing about keys, which this protocol has not", x)
		}
		time.Sleep(slotLength) // it is good for another slot
		if dropped := v.send(a, beat(t, Heartbeat{Challenge: c})); dropped != uplink.NotDropped {
			t.Errorf("heartbeat after %v: dropped %q", slotLength, dropped)
		}
		if dropped := v.send(a, beat(t, Heartbeat{Challenge: c})); dropped != uplink.Wrong {
			t.Errorf("the challenge was good twice: %q", dropped)
		}
		if got := v.verdict(a); !strings.HasPrefix(got, "heartbeat taken") {
			t.Errorf("a wrong challenge covers up what is known: verdict %q", got)
		}
		c = v.challengeFor(a)
		time.Sleep(2 * slotLength)
		if dropped := v.send(a, beat(t, Heartbeat{Challenge: c})); dropped != uplink.Wrong {
			t.Errorf("heartbeat after %v: dropped %q, want %q", 2*slotLength, dropped, uplink.Wrong)
		}
	})
}

func TestServerWithoutHeartbeatsLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newValve(t, nil)
		a := v.register("192.0.2.1:27015", someRules)
		for range 3 {
			time.Sleep(v.opt.Timeout - time.Second)
			v.tick(time.Now())
			v.register(a.String(), someRules)
		}
		if v.asker.watched[a] != 4 {
			t.Errorf("watched %d times, want each of 4 heartbeats to renew it", v.asker.watched[a])
		}
		time.Sleep(v.opt.Timeout)
		v.tick(time.Now())
		if _, ok := v.asker.watched[a]; ok || v.verdict(a) != "expired" || v.countHosts() != 0 || v.hosts.Addresses() != 0 {
			t.Errorf("after the timeout: watched %v, verdict %q, %d hosts", v.asker.watched, v.verdict(a), v.countHosts())
		}
	})
}

func TestForgedGoodbye(t *testing.T) {
	v := newValve(t, nil)
	a := v.register("192.0.2.1:27015", someRules)
	for name, tc := range map[string]struct {
		from string
		g    Goodbye
		want uplink.Drop
	}{
		"without a challenge":       {a.String(), Goodbye{}, uplink.Goodbye},
		"with a guess":              {a.String(), Goodbye{1, true}, uplink.Wrong},
		"of another server":         {"192.0.2.2:27015", Goodbye{v.challengeFor(a), true}, uplink.Goodbye},
		"with another server's":     {a.String(), Goodbye{v.challengeFor(netip.MustParseAddrPort("192.0.2.2:27015")), true}, uplink.Wrong},
		"with the last heartbeat's": {a.String(), Goodbye{v.tokens.token(a, 0, 0), true}, uplink.Wrong},
	} {
		if got := v.send(netip.MustParseAddrPort(tc.from), tc.g.AppendTo(nil)); got != tc.want {
			t.Errorf("good-bye %s: dropped %q, want %q", name, got, tc.want)
		}
	}
	v.tick(time.Now())
	if all, _ := v.walk("203.0.113.1:1", AnyRegion, ""); len(all) != 1 || v.countHosts() != 1 {
		t.Errorf("list after a good-bye that may be forged: %v", all)
	}
}

func TestGoodbyeWithChallenge(t *testing.T) {
	v := newValve(t, nil)
	a := v.register("192.0.2.1:27015", someRules)
	if dropped := v.send(a, Goodbye{v.challengeFor(a), true}.AppendTo(nil)); dropped != uplink.NotDropped {
		t.Errorf("good-bye: dropped %q", dropped)
	}
	if all, _ := v.walk("203.0.113.1:1", AnyRegion, ""); len(all) != 0 || v.countHosts() != 0 || v.verdict(a) != "left" {
		t.Errorf("list %v, %d hosts, verdict %q", all, v.countHosts(), v.verdict(a))
	}
}

func TestServersPerAddress(t *testing.T) {
	trusted := netip.MustParseAddr("192.0.2.9")
	v := newValve(t, func(o *Options) {
		o.MaxPerAddr = 2
		o.Trusted = func(a netip.Addr) bool { return a == trusted }
	})
	for port := range uint16(4) {
		for _, host := range []netip.Addr{netip.MustParseAddr("192.0.2.1"), trusted} {
			a := netip.AddrPortFrom(host, 27015+port)
			want := uplink.NotDropped
			if port >= 2 && host != trusted {
				want = uplink.TooMany
			}
			if got := v.send(a, beat(t, Heartbeat{Challenge: v.challengeFor(a)})); got != want {
				t.Errorf("heartbeat of %v: dropped %q, want %q", a, got, want)
			}
		}
	}
	if got := v.verdict(netip.MustParseAddrPort("192.0.2.1:27017")); got != "too many servers here" {
		t.Errorf("verdict: %q", got)
	}
}

func TestServerThatIsNeverAsked(t *testing.T) {
	v := newValve(t, nil)
	a := netip.MustParseAddrPort("192.0.2.1:27015")
	v.asker.refuse[a] = true
	if got := v.send(a, beat(t, Heartbeat{Challenge: v.challengeFor(a)})); got != uplink.NeverAsked {
		t.Errorf("heartbeat: dropped %q, want %q", got, uplink.NeverAsked)
	}
	if v.countHosts() != 0 || !strings.HasPrefix(v.verdict(a), "not asked") {
		t.Errorf("%d hosts, verdict %q", v.countHosts(), v.verdict(a))
	}
	v.asker.refuse[a] = false
	v.register(a.String(), someRules)
	if v.countHosts() != 1 {
		t.Error("it is not taken once it may be asked")
	}
}

func TestBanned(t *testing.T) {
	bad := netip.MustParseAddr("192.0.2.1")
	banned := false
	v := newValve(t, func(o *Options) { o.Banned = func(a netip.Addr) bool { return banned && a == bad } })
	a := v.register("192.0.2.1:27015", someRules)
	c := v.challengeFor(a)
	banned = true
	for name, p := range map[string][]byte{
		"challenge request": ChallengeRequest{}.AppendTo(nil),
		"heartbeat":         beat(t, Heartbeat{Challenge: c}),
		"list request":      ListRequest{AnyRegion, Start, nil}.AppendTo(nil),
	} {
		if got := v.send(a, p); got != uplink.Banned {
			t.Errorf("%s: dropped %q, want %q", name, got, uplink.Banned)
		}
	}
	v.tick(time.Now())
	if v.countHosts() != 0 || len(v.asker.watched) != 0 || v.verdict(a) != "banned" {
		t.Errorf("%d hosts, watched %v, verdict %q", v.countHosts(), v.asker.watched, v.verdict(a))
	}
}

func TestServersFromBeforeStart(t *testing.T) {
	v := newValve(t, nil)
	a, b := netip.MustParseAddrPort("192.0.2.1:27015"), netip.MustParseAddrPort("192.0.2.2:27015")
	for addr, origin := range map[netip.AddrPort]*master.Origin{a: Origin, b: qr2.Origin} {
		srv := master.Server{Key: master.Key{Source: addr}, Public: addr, Game: "tf", Origin: origin, Restored: true}
		if err := v.list.Put(srv); err != nil {
			t.Fatal(err)
		}
	}
	v.adopt(time.Now())
	if v.asker.watched[a] != 1 || len(v.asker.watched) != 1 || v.countHosts() != 1 {
		t.Errorf("watched %v, want %v", v.asker.watched, a)
	}
}

func TestUnprovedPacketsAreRationed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newValve(t, func(o *Options) { o.UnprovedRate, o.UnprovedBurst = 2, 5 })
		populate(t, v.list, 20)
		a := netip.MustParseAddrPort("192.0.2.1:27015")
		packets := [][]byte{
			ChallengeRequest{}.AppendTo(nil),
			ListRequest{AnyRegion, Start, nil}.AppendTo(nil),
			beat(t, Heartbeat{Challenge: 1}),
		}
		for i := range 9 {
			want := map[bool]uplink.Drop{true: uplink.Limited}[i >= 5]
			if got := v.send(a, packets[i%3]); got != want && (want != uplink.NotDropped || got != uplink.Wrong) {
				t.Errorf("packet %d: dropped %q, want %q", i, got, want)
			}
		}
		if got := v.verdict(a); got != "limited" {
			t.Errorf("verdict: %q", got)
		}
	})
}

// TestFloodOfForgedQuestionsCostsNoMemory: only addresses that answer are remembered.
func TestFloodOfForgedQuestionsCostsNoMemory(t *testing.T) {
	const most = 100
	v := newValve(t, nil)
	v.walks = newWalks(most)
	populate(t, v.list, 20)
	for range 10 * most {
		a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{11, byte(rand.Uint32()), byte(rand.Uint32()), byte(rand.Uint32())}), 27015)
		v.send(a, ChallengeRequest{}.AppendTo(nil))
		v.send(a, beat(t, Heartbeat{Challenge: rand.Uint32()}))
		v.send(a, Goodbye{}.AppendTo(nil))
		v.send(a, ListRequest{AnyRegion, Start, nil}.AppendTo(nil))
		v.w.Take()
	}
	if v.countHosts() != 0 || v.walks.len() > most || v.walks.others.Len() != v.walks.len() {
		t.Errorf("%d hosts, %d walks, %d of them unproved, want none and at most %d", v.countHosts(), v.walks.len(), v.walks.others.Len(), most)
	}
}

func TestBadPackets(t *testing.T) {
	v := newValve(t, nil)
	a := netip.MustParseAddrPort("192.0.2.1:27015")
	for name, tc := range map[string]struct {
		from netip.AddrPort
		data string
		want uplink.Drop
	}{
		"nothing":                {a, "", uplink.Empty},
		"a prefix alone":         {a, "\xff\xff\xff\xff", uplink.Empty},
		"an unknown kind":        {a, "M\n", uplink.UnknownKind},
		"an answer":              {a, "\xff\xff\xff\xfff\n", uplink.UnknownKind},
		"a filter of 64 KiB":     {a, "1\xff0.0.0.0:0\x00\\map\\" + strings.Repeat("a", 65_000) + "\x00", uplink.Oversized},
		"a packet at its bound":  {a, "1\xff0.0.0.0:0\x00\\map\\" + strings.Repeat("a", maxPacket-17), uplink.NotDropped},
		"a seed without an end":  {a, "1\xff0.0.0.0:0", uplink.Malformed},
		"a heartbeat of nothing": {a, "0\n", uplink.Malformed},
		"a nesting bomb":         {a, "1\xff0.0.0.0:0\x00" + strings.Repeat(`\nor\1`, maxDepth+1) + "\x00", uplink.FilterTooBig},
		"from port 0":            {netip.MustParseAddrPort("192.0.2.1:0"), "q", uplink.Foreign},
		"over IPv6":              {netip.MustParseAddrPort("[2001:db8::1]:1"), "q", uplink.Foreign},
	} {
		if got := v.send(tc.from, []byte(tc.data)); got != tc.want {
			t.Errorf("%s: dropped %q, want %q", name, got, tc.want)
		}
	}
}
