package federation

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/q3master"
	"github.com/respawnd/respawnd/qr2"
)

func TestRefusals(t *testing.T) {
	b := newBench(t)
	reported := master.Server{Key: master.Key{Source: addr("20.0.0.9:6500")}, Public: addr("20.0.0.9:6500"), Game: "gmtest", Origin: qr2.Origin}
	if err := b.list.Put(reported); err != nil {
		t.Fatal(err)
	}
	far, near := b.source(t, 0, "q3 example.org protocol=1"), b.source(t, 1, "q3 example.org protocol=1 name=lan")
	for name, tc := range map[string]struct {
		found
		src  *source
		want string
	}{
		"public":               {found{addr: addr("20.0.0.1:1024"), query: "quake3"}, far, ""},
		"system port":          {found{addr: addr("20.0.0.1:1023"), query: "quake3"}, far, refusedPort},
		"port 0":               {found{addr: addr("20.0.0.1:0"), query: "quake3"}, far, refusedAddress},
		"no address":           {found{addr: netip.AddrPort{}, query: "quake3"}, far, refusedAddress},
		"0.0.0.0":              {found{addr: addr("0.0.0.0:27960"), query: "quake3"}, far, refusedAddress},
		"multicast":            {found{addr: addr("224.0.0.1:27960"), query: "quake3"}, far, refusedAddress},
		"broadcast":            {found{addr: addr("255.255.255.255:27960"), query: "quake3"}, far, refusedAddress},
		"IPv6":                 {found{addr: addr("[2001:db8::1]:27960"), query: "quake3"}, far, refusedIPv6},
		"loopback":             {found{addr: addr("127.0.0.1:27960"), query: "quake3"}, far, refusedPrivate},
		"private":              {found{addr: addr("192.168.1.1:27960"), query: "quake3"}, far, refusedPrivate},
		"of a provider":        {found{addr: addr("100.64.0.1:27960"), query: "quake3"}, far, refusedPrivate},
		"private of lan":       {found{addr: addr("192.168.1.1:27960"), query: "quake3"}, near, ""},
		"own":                  {found{addr: addr("198.51.100.1:27950"), query: "quake3"}, far, refusedOwn},
		"banned":               {found{addr: addr("203.0.113.5:27960"), query: "quake3"}, far, refusedBanned},
		"reports here":         {found{addr: addr("20.0.0.9:6500"), query: "gs3"}, far, refusedHere},
		"no way to query":      {found{addr: addr("20.0.0.2:27960")}, far, refusedQuery},
		"vouched needs none":   {found{addr: addr("20.0.0.2:27960"), game: "gmtest", report: &report{}}, far, ""},
		"no name of a game":    {found{addr: addr("20.0.0.3:27960"), query: "gs1", game: "<script>"}, far, refusedGame},
		"game of no catalogue": {found{addr: addr("20.0.0.4:27960"), query: "gs1", game: "Odd Game"}, far, ""},
	} {
		if got := b.tell(tc.src, tc.found, time.Now()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if got := b.prober.watched[addr("20.0.0.4:27960")].Game; got != "odd_game" {
		t.Errorf("game %q, want odd_game", got)
	}
}

// A server of two masters is known from the first one, and from the second after that
// has lost it. It leaves with the last.
func TestTwoMasters(t *testing.T) {
	b := newBench(t)
	now := time.Now()
	first, second := b.source(t, 0, "q3 a.org protocol=1 name=first"), b.source(t, 1, "zandronum b.org name=second")
	a := addr("20.0.0.1:10666")
	expect := func(when string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, b.prober.all()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	b.tell(second, found{addr: a, query: "zandronum"}, now)
	expect("told by the second", "20.0.0.1:10666 zandronum second")
	b.tell(first, found{addr: a, query: "quake3"}, now)
	expect("told by both", "20.0.0.1:10666 quake3 first")
	b.tell(second, found{addr: a, query: "zandronum"}, now.Add(time.Minute))
	expect("told by the second again", "20.0.0.1:10666 quake3 first")
	if got := b.listed(); got["first"] != 1 || got["second"] != 0 {
		t.Errorf("listed: %v", got)
	}
	b.sweep(now.Add(15*time.Minute), 15*time.Minute)
	expect("lost by the first", "20.0.0.1:10666 zandronum second")
	b.sweep(now.Add(16*time.Minute), 15*time.Minute)
	expect("lost by both")
	if n := len(b.servers); n != 0 || first.told.Load() != 0 || second.told.Load() != 0 || b.list.Len() != 0 {
		t.Errorf("left: %d candidates, %d and %d told, %d listed", n, first.told.Load(), second.told.Load(), b.list.Len())
	}
}

// A server that begins to report here is no longer a candidate.
func TestReportedServerIsDropped(t *testing.T) {
	b := newBench(t)
	src := b.source(t, 0, "q3 a.org protocol=1")
	a := addr("20.0.0.1:27960")
	b.tell(src, found{addr: a, query: "quake3"}, time.Now())
	own := master.Server{Key: master.Key{Source: a, Instance: 1}, Public: a, Game: "gmtest", Origin: q3master.Origin}
	if err := b.list.Put(own); err != nil {
		t.Fatal(err)
	}
	b.sweep(time.Now(), time.Hour)
	if srv, ok := b.list.Find(a); !ok || srv.Origin != q3master.Origin || len(b.prober.all()) != 0 || src.told.Load() != 0 {
		t.Errorf("listed %v, asked %v, told %d", srv, b.prober.all(), src.told.Load())
	}
}

// A server that the prober gave up rests, each time longer.
func TestSilentServerRests(t *testing.T) {
	b := newBench(t)
	src := b.source(t, 0, "q3 a.org protocol=1")
	a := addr("20.0.0.1:27960")
	now := time.Now()
	var asked []int
	for minute := range 240 {
		before := len(b.prober.asked)
		b.tell(src, found{addr: a, query: "quake3"}, now.Add(time.Duration(minute)*time.Minute))
		if len(b.prober.asked) > before {
			asked = append(asked, minute)
			b.prober.giveUp(a)
		}
	}
	if want := []int{0, 6, 17, 38, 79, 140, 201}; !slices.Equal(asked, want) {
		t.Errorf("asked in minutes %v, want %v", asked, want)
	}
}

func TestProberHasNoRoom(t *testing.T) {
	b := newBench(t)
	src := b.source(t, 0, "q3 a.org protocol=1")
	b.prober.full = true
	f := found{addr: addr("20.0.0.1:27960"), query: "quake3"}
	if got := b.tell(src, f, time.Now()); got != refusedForbidden {
		t.Errorf("refused: %q", got)
	}
	b.prober.full = false
	if got := b.tell(src, f, time.Now()); got != "" || len(b.prober.all()) != 1 {
		t.Errorf("told again: %q, asked %v", got, b.prober.all())
	}
}

func TestCandidatesAreBounded(t *testing.T) {
	b := newBench(t)
	b.prober.full = true
	src := b.source(t, 0, "q3 a.org protocol=1")
	for _, a := range numbered(maxCandidates) {
		b.servers[a] = &candidate{tellers: []teller{{source: src, found: found{addr: a}}}}
	}
	if got := b.tell(src, found{addr: addr("21.0.0.1:27960"), query: "quake3"}, time.Now()); got != refusedFull {
		t.Errorf("refused: %q", got)
	}
}

func TestVouched(t *testing.T) {
	b := newBench(t)
	src := b.source(t, 0, "respawnd https://a.org verified=true name=friends")
	a := addr("20.0.0.1:6500")
	say := func(host string, partial bool) {
		r := &report{names: []string{"hostname"}, values: []string{host}, partial: partial}
		if !partial {
			r.players = master.Grid{Columns: []string{"player_"}, Rows: [][]string{{"Ann"}}}
		}
		if why := b.tell(src, found{addr: a, query: "gs3", game: "gmtest", report: r}, time.Now()); why != "" {
			t.Fatalf("refused: %s", why)
		}
	}
	say("one", false)
	say("two", true)
	srv, ok := b.list.Find(a)
	if !ok || !srv.Vouched || srv.Told != "friends" || srv.Origin != master.Federated || srv.Players.Rows() != 1 || srv.QueryProtocol() != "gs3" {
		t.Fatalf("listed: %+v", srv)
	}
	if name, _ := srv.Rules.Get("hostname"); name != "two" || len(b.prober.all()) != 0 {
		t.Errorf("name %q, asked %v", name, b.prober.all())
	}
	b.lose(src, a, time.Now())
	if b.list.Len() != 0 || len(b.servers) != 0 {
		t.Errorf("%d listed, %d candidates after it was lost", b.list.Len(), len(b.servers))
	}
}

// One that the first master vouches for is queried once only the second one, which does
// not, tells of it.
func TestVouchedThenQueried(t *testing.T) {
	b := newBench(t)
	peer, other := b.source(t, 0, "respawnd https://a.org verified=true name=friends"), b.source(t, 1, "q3 b.org protocol=1 name=other")
	a := addr("20.0.0.1:6500")
	b.tell(other, found{addr: a, query: "quake3"}, time.Now())
	b.tell(peer, found{addr: a, game: "gmtest", report: &report{}}, time.Now())
	if srv, ok := b.list.Find(a); !ok || !srv.Vouched || len(b.prober.all()) != 0 {
		t.Errorf("listed %+v, asked %v", srv, b.prober.all())
	}
	b.lose(peer, a, time.Now())
	if srv, ok := b.list.Find(a); !ok || srv.Vouched || srv.Told != "other" {
		t.Errorf("listed %+v, asked %v", srv, b.prober.all())
	}
}

func TestRenew(t *testing.T) {
	b := newBench(t)
	src := b.source(t, 0, "respawnd https://a.org")
	now := time.Now()
	old, fresh := addr("20.0.0.1:6500"), addr("20.0.0.2:6500")
	b.tell(src, found{addr: old, query: "gs3", game: "gmtest"}, now)
	b.tell(src, found{addr: fresh, query: "gs3", game: "gmtest"}, now.Add(5*time.Minute))
	b.renew(src, now.Add(5*time.Minute), now.Add(14*time.Minute))
	b.sweep(now.Add(20*time.Minute), 15*time.Minute)
	if got := b.prober.all(); !slices.Equal(got, []string{fresh.String() + " gs3 a.org"}) {
		t.Errorf("asked: %v", got)
	}
}

// A server that is silent in the protocol of one master is queried in that of the next.
func TestNextProtocol(t *testing.T) {
	b := newBench(t)
	now := time.Now()
	first, second := b.source(t, 0, "serverbrowse a.org game=gmtest name=first"), b.source(t, 1, "respawnd https://b.org name=second")
	a := addr("20.0.0.1:6500")
	tell := func(minute int) string {
		at := now.Add(time.Duration(minute) * time.Minute)
		b.tell(first, found{addr: a, query: "gs3", game: "gmtest"}, at)
		b.tell(second, found{addr: a, query: "ssq", game: "gmtest"}, at)
		return strings.Join(b.prober.all(), ", ")
	}
	if got := tell(0); got != "20.0.0.1:6500 gs3 first" {
		t.Errorf("at first: %q", got)
	}
	b.prober.giveUp(a)
	if got := tell(5); got != "20.0.0.1:6500 ssq second" {
		t.Errorf("after it was silent: %q", got)
	}
	if got := tell(10); got != "20.0.0.1:6500 ssq second" {
		t.Errorf("later: %q", got)
	}
	b.prober.giveUp(a)
	if got := tell(15); got != "" {
		t.Errorf("after it was silent again: %q", got)
	}
	if got := tell(21); got != "20.0.0.1:6500 gs3 first" {
		t.Errorf("after its rest: %q", got)
	}
}
