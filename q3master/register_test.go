package q3master

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/valvemaster"
	"github.com/respawnd/respawnd/zanmaster"
)

func TestRegister(t *testing.T) {
	q := newQ3(t, func(o *Options) { o.Locate = func(netip.Addr) (string, string) { return "DE", "2" } })
	if dropped := q.register(one, "QuakeArena-1", "g_humanplayers", "2", "gamename", "Quake3Arena", "g_needpass", "1"); dropped != "" {
		t.Fatal(dropped)
	}
	srv := q.listed(one)
	if srv == nil || srv.Game != "quake3" || srv.Public != one || srv.Origin != Origin || srv.Via != masterAddr || srv.Country != "DE" {
		t.Fatalf("record %+v", srv)
	}
	for name, want := range map[string]string{
		"hostname": "Inn", "mapname": "q3dm17", "numplayers": "3", "maxplayers": "8", "numbots": "1", "password": "1", "gametype": "0",
		"q3game": "Quake3Arena", "q3tag": "QuakeArena-1", "protocol": "68", "gamename": "", "challenge": "",
	} {
		if got, _ := srv.Rules.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := q.verdict(one); got != "listed" {
		t.Errorf("verdict %q", got)
	}
}

// TestGameOf registers servers with a tag, a name and a protocol, and compares the game of the list.
func TestGameOf(t *testing.T) {
	long := strings.Repeat("g", 64)
	for name, tc := range map[string]struct{ tag, gamename, protocol, game, dropped string }{
		"tag alone":                      {"QuakeArena-1", "", "68", "quake3", ""},
		"protocol picks among games":     {"QuakeArena-1", "", "26", "jk3", ""},
		"tag of an unknown protocol":     {"QuakeArena-1", "", "71", "jk3", ""},
		"tag with its name":              {"QuakeArena-1", "Quake3Arena", "67", "quake3", ""},
		"tag with another name":          {"QuakeArena-1", "Xonotic", "68", "", "unknown_game"},
		"case of the name matters":       {"QuakeArena-1", "quake3arena", "68", "", "unknown_game"},
		"own tag":                        {"EnemyTerritory-1", "", "84", "rtcwet", ""},
		"named":                          {"DarkPlaces", "Xonotic", "3", "xonotic", ""},
		"named with another protocol":    {"DarkPlaces", "Xonotic", "4", "xonotic", ""},
		"named like a game with a tag":   {"DarkPlaces", "Quake3Arena", "68", "quake3", ""},
		"named, not in the catalogue":    {"DarkPlaces", "My-Game", "7", "my-game", ""},
		"named like a game with a key":   {"DarkPlaces", "secret", "7", "secret.a2s", ""},
		"without a name":                 {"DarkPlaces", "", "3", "", "unknown_game"},
		"with a name that cannot be one": {"DarkPlaces", "g\xff", "3", "", "unknown_game"},
		"with a long name":               {"DarkPlaces", long, "3", "", "unknown_game"},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQ3(t, nil)
			dropped := q.register(one, tc.tag, "gamename", tc.gamename, "protocol", tc.protocol)
			if dropped != tc.dropped {
				t.Fatalf("dropped %q, want %q", dropped, tc.dropped)
			}
			srv := q.listed(one)
			if (srv == nil) != (tc.game == "") || srv != nil && srv.Game != tc.game {
				t.Errorf("listed as %+v, want %q", srv, tc.game)
			}
			if tc.dropped != "" && q.verdict(one) != "unknown game" {
				t.Errorf("verdict %q", q.verdict(one))
			}
		})
	}
}

func TestRefusedHeartbeats(t *testing.T) {
	q := newQ3(t, func(o *Options) { o.Banned = func(a netip.Addr) bool { return a == two.Addr() } })
	for name, tc := range map[string]struct {
		from          netip.AddrPort
		text, dropped string
	}{
		"unknown tag":  {one, "heartbeat COD-4\n", "unknown_tag"},
		"no tag":       {one, "heartbeat\n", "malformed"},
		"long tag":     {one, "heartbeat " + strings.Repeat("x", 64), "malformed"},
		"banned":       {two, "heartbeat DarkPlaces\n", "banned"},
		"other word":   {one, "getstatus", "unknown_kind"},
		"an answer":    {one, "getserversResponse\\EOT", "unknown_kind"},
		"port 0":       {netip.AddrPortFrom(one.Addr(), 0), "heartbeat DarkPlaces\n", "foreign"},
		"link-local":   {netip.MustParseAddrPort("[fe80::1%1]:27960"), "heartbeat DarkPlaces\n", "foreign"},
		"longest":      {one, "infoResponse\n" + strings.Repeat("x", 2048-4-13), "unexpected"},
		"one too long": {one, "infoResponse\n" + strings.Repeat("x", 2048-4-12), "oversized"},
	} {
		if dropped := q.send(tc.from, tc.text); dropped != tc.dropped {
			t.Errorf("%s: %q, want %q", name, dropped, tc.dropped)
		}
	}
	if out := q.w.Take(); len(out) > 0 {
		t.Errorf("sent %v", out)
	}
}

// TestChallenges answers with everything but the challenge of this server.
func TestChallenges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQ3(t, nil)
		if dropped := q.send(one, infoOf("AAAAAAAAAAA")); dropped != "unexpected" {
			t.Errorf("info without a heartbeat: %q", dropped)
		}
		c := q.beat(one, "DarkPlaces")
		if again := q.beat(one, "DarkPlaces"); again != c {
			t.Errorf("repeated heartbeat: challenge %q, then %q", c, again)
		}
		tagged := q.beat(one, "QuakeArena-1")
		if tagged == c {
			t.Error("another tag has the same challenge")
		}
		if other := q.beat(two, "QuakeArena-1"); other == tagged {
			t.Error("another server has the same challenge")
		} else if dropped := q.send(one, infoOf(other)); dropped != "wrong_response" {
			t.Errorf("challenge of another server: %q", dropped)
		}
		if dropped := q.send(one, infoOf(c)); dropped != "wrong_response" {
			t.Errorf("challenge of the earlier tag: %q", dropped)
		}
		if dropped := q.send(one, infoOf(tagged)); dropped != "" || q.listed(one) == nil {
			t.Errorf("right challenge after two wrong ones: %q", dropped)
		}
		if dropped := q.send(one, infoOf(tagged)); dropped != "unexpected" {
			t.Errorf("the same answer again: %q", dropped)
		}
		if next := q.beat(one, "QuakeArena-1"); next == tagged {
			t.Error("a used challenge comes again")
		}

		third := netip.MustParseAddrPort("192.0.2.3:27960")
		c = q.beat(third, "QuakeArena-1")
		for range 3 {
			if dropped := q.send(third, infoOf("x")); dropped != "wrong_response" {
				t.Errorf("wrong answer: %q", dropped)
			}
		}
		if dropped := q.send(third, infoOf(c)); dropped != "unexpected" {
			t.Errorf("right answer after %d wrong ones: %q", 3, dropped)
		}
		c = q.beat(third, "QuakeArena-1")
		time.Sleep(uplink.PendingLife)
		if dropped := q.send(third, infoOf(c)); dropped != "unexpected" {
			t.Errorf("answer after %v: %q", uplink.PendingLife, dropped)
		}
		q.pass(time.Second)
		if got := q.verdict(third); got != "no answer to the challenge" && !strings.Contains(got, "answer") {
			t.Errorf("verdict on a silent server: %q", got)
		}
	})
}

func TestRefusedInfos(t *testing.T) {
	for name, more := range map[string][]string{
		"no protocol": {"protocol", ""}, "no room": {"sv_maxclients", "0"}, "no clients": {"clients", ""}, "type of two words": {"gametype", "a b"},
	} {
		q := newQ3(t, nil)
		if dropped := q.register(one, "QuakeArena-1", more...); dropped != "malformed" || q.listed(one) != nil {
			t.Errorf("%s: %q", name, dropped)
		}
		if got := q.verdict(one); !strings.HasPrefix(got, "malformed") {
			t.Errorf("%s: verdict %q", name, got)
		}
	}
	q := newQ3(t, nil)
	q.register(one, "QuakeArena-1")
	if dropped := q.register(one, "QuakeArena-1", "protocol", ""); dropped != "malformed" || q.listed(one) == nil {
		t.Errorf("a bad info of a listed server: %q, listed %v", dropped, q.listed(one) != nil)
	}
	if got := q.verdict(one); got != "listed" {
		t.Errorf("verdict on a listed server after a bad info: %q", got)
	}
}

// TestRefresh sends further infos of a listed server.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQ3(t, nil)
		q.register(one, "QuakeArena-1")
		first := q.listed(one)
		time.Sleep(time.Minute)
		q.register(one, "QuakeArena-1")
		if again := q.listed(one); again != first {
			t.Error("the same info made a new record")
		}
		rec, _ := q.opt.Registry.FindRecord(one)
		if time.Since(rec.LastSeen) != 0 {
			t.Errorf("seen %v ago", time.Since(rec.LastSeen))
		}
		// Values of a status stay.
		var report master.Report
		report.Fill(q.opt.Registry, []string{"hostname", "fraglimit"}, []string{"Inn", "20"},
			master.Grid{Columns: []string{"player_"}, Rows: [][]string{{"Ann"}}}, master.Grid{})
		next := *first
		if err := report.Into(&next); err != nil || !q.opt.Registry.Update(&next) {
			t.Fatal(err)
		}
		q.register(one, "QuakeArena-1", "mapname", "q3dm6")
		srv := q.listed(one)
		if limit, _ := srv.Rules.Get("fraglimit"); limit != "20" || srv.Players.Rows() != 1 {
			t.Errorf("after an info: fraglimit %q, %d players", limit, srv.Players.Rows())
		}
		if m, _ := srv.Rules.Get("mapname"); m != "q3dm6" {
			t.Errorf("map %q", m)
		}
		q.register(one, "QuakeArena-1", "protocol", "26")
		if srv := q.listed(one); srv.Game != "jk3" {
			t.Errorf("game %q after the server changed it", srv.Game)
		}
	})
}

// TestStoppedServer sends heartbeats of a listed server that answers nothing, and of one that does.
func TestStoppedServer(t *testing.T) {
	for name, last := range map[string]string{"heartbeat": "heartbeat EnemyTerritory-1\n", "flatline": "heartbeat ETFlatline-1\n"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQ3(t, nil)
				q.register(one, "EnemyTerritory-1", "protocol", "84")
				q.register(two, "EnemyTerritory-1", "protocol", "84")
				q.w.Take()
				q.send(one, last)
				q.send(two, last)
				var c string
				for _, p := range q.w.Take() {
					if p.to == two {
						c = strings.TrimPrefix(p.data, header+"getinfo ")
					}
				}
				q.send(two, infoOf(c, "protocol", "84"))
				q.pass(uplink.ListedLife - time.Second)
				if q.listed(one) == nil {
					t.Fatal("removed while it may still be loading a map")
				}
				if asked := q.w.Take(); len(asked) != 3 {
					t.Errorf("asked %d more times, want 3", len(asked))
				}
				q.pass(time.Second)
				if q.listed(one) != nil || q.listed(two) == nil {
					t.Errorf("listed: the stopped one %v, the other %v", q.listed(one) != nil, q.listed(two) != nil)
				}
				if got := q.verdict(one); got != "expired" {
					t.Errorf("verdict %q", got)
				}
				if q.Hosts() != 1 || q.Pending() != 0 {
					t.Errorf("%d known, %d waited for", q.Hosts(), q.Pending())
				}
			})
		})
	}
	q := newQ3(t, nil)
	if dropped := q.send(one, "heartbeat ETFlatline-1\n"); dropped != "" || len(q.w.Take()) != 0 {
		t.Errorf("flatline of an unknown server: %q", dropped)
	}
}

func TestLimits(t *testing.T) {
	at := func(port int) netip.AddrPort { return netip.AddrPortFrom(one.Addr(), uint16(port)) }
	t.Run("per_address", func(t *testing.T) {
		q := newQ3(t, func(o *Options) { o.MaxPerAddr = 2; o.Trusted = func(a netip.Addr) bool { return a == two.Addr() } })
		for i, want := range []string{"", "", "too_many_here"} {
			if dropped := q.register(at(1000+i), "QuakeArena-1"); dropped != want {
				t.Errorf("server %d: %q, want %q", i, dropped, want)
			}
		}
		if got := q.verdict(at(1002)); got != "too many servers here" {
			t.Errorf("verdict %q", got)
		}
		if dropped := q.register(at(1001), "QuakeArena-1", "mapname", "x"); dropped != "" {
			t.Errorf("a listed one again: %q", dropped)
		}
		for i := range 3 {
			if dropped := q.register(netip.AddrPortFrom(two.Addr(), uint16(1000+i)), "QuakeArena-1"); dropped != "" {
				t.Errorf("trusted address: %q", dropped)
			}
		}
		for i, want := range []string{"", "", "too_many_here"} { // a /64 counts as one
			a := netip.MustParseAddrPort(fmt.Sprintf("[2001:db8::%d]:27960", i))
			if dropped := q.register(a, "QuakeArena-1"); dropped != want {
				t.Errorf("IPv6 server %d: %q, want %q", i, dropped, want)
			}
		}
	})
	t.Run("games", func(t *testing.T) {
		q := newQ3(t, func(o *Options) { o.MaxGames = 1 })
		for i, tc := range []struct{ game, want string }{{"one", ""}, {"one", ""}, {"two", "unknown_game"}, {"Xonotic", ""}} {
			if dropped := q.register(at(1000+i), "DarkPlaces", "gamename", tc.game); dropped != tc.want {
				t.Errorf("game %s: %q, want %q", tc.game, dropped, tc.want)
			}
		}
		q.Replaced(q.listed(at(1000)))
		q.Replaced(q.listed(at(1001)))
		if dropped := q.register(at(1002), "DarkPlaces", "gamename", "two"); dropped != "" {
			t.Errorf("after the other game left: %q", dropped)
		}
	})
	t.Run("list", func(t *testing.T) {
		q := newQ3(t, func(o *Options) { o.Registry = master.NewRegistry(master.Limits{Servers: 1}) })
		q.register(one, "QuakeArena-1")
		if dropped := q.register(at(1), "QuakeArena-1"); dropped != "list_full" {
			t.Errorf("full list: %q", dropped)
		}
	})
	t.Run("pending", func(t *testing.T) {
		q := newQ3(t, func(o *Options) { o.MaxPending = 2 })
		c := q.beat(at(1), "QuakeArena-1")
		q.beat(two, "QuakeArena-1")
		q.beat(at(3), "QuakeArena-1")
		if q.Pending() != 2 {
			t.Errorf("%d waited for, want 2", q.Pending())
		}
		if dropped := q.send(at(1), infoOf(c)); dropped != "unexpected" {
			t.Errorf("the oldest: %q", dropped)
		}
	})
	t.Run("short_heartbeats", func(t *testing.T) {
		q := newQ3(t, func(o *Options) {
			o.UnprovedRate, o.UnprovedBurst = 1, 3
			o.Listing.Games, _ = games3("x")
			o.Trusted = func(a netip.Addr) bool { return a == two.Addr() }
		})
		for i := range 5 {
			want := ""
			if i >= 3 {
				want = "limited"
			}
			if dropped := q.send(one, "heartbeat x"); dropped != want {
				t.Errorf("heartbeat %d: %q, want %q", i, dropped, want)
			}
			if dropped := q.send(two, "heartbeat x"); dropped != "" {
				t.Errorf("trusted: %q", dropped)
			}
			if dropped := q.send(one, "heartbeat x            "); dropped != "" {
				t.Errorf("as long as the answer: %q", dropped)
			}
		}
	})
}

// TestOtherOrigins registers a server at an address that is listed for another reason.
func TestOtherOrigins(t *testing.T) {
	for origin, want := range map[*master.Origin]string{
		qr2.Origin: "listed_elsewhere", qr2.OldOrigin: "listed_elsewhere", zanmaster.Origin: "listed_elsewhere",
		valvemaster.Origin: "", master.Found: "", master.Static: "",
	} {
		q := newQ3(t, nil)
		if err := q.opt.Registry.Put(master.Server{Key: master.Key{Source: one, Instance: 7}, Game: "gmtest", Origin: origin, Public: one}); err != nil {
			t.Fatal(err)
		}
		if dropped := q.register(one, "QuakeArena-1"); dropped != want || (q.listed(one) != nil) != (want == "") {
			t.Errorf("%s: %q, want %q", origin, dropped, want)
		}
	}
	q := newQ3(t, nil)
	if err := q.opt.Registry.Put(master.Server{Key: master.Key{Source: one}, Game: "gmtest", Origin: qr2.Origin, Public: one, Restored: true}); err != nil {
		t.Fatal(err)
	}
	if dropped := q.register(one, "QuakeArena-1"); dropped != "" {
		t.Errorf("only restored: %q", dropped)
	}
}

// TestCheck bans addresses and games of listed servers.
func TestCheck(t *testing.T) {
	banned := false
	q := newQ3(t, func(o *Options) { o.Banned = func(a netip.Addr) bool { return banned && a == one.Addr() } })
	q.register(one, "QuakeArena-1")
	q.register(two, "DarkPlaces", "gamename", "Xonotic")
	third := netip.MustParseAddrPort("192.0.2.3:1")
	q.register(third, "DarkPlaces", "gamename", "mygame")
	q.Check()
	if q.Hosts() != 3 {
		t.Fatalf("%d hosts", q.Hosts())
	}
	banned = true
	q.reload(func(c *Config) { c.Games = []string{"quake3", "xonOtic"} })
	q.Check()
	if q.listed(one) != nil || q.listed(two) == nil || q.listed(third) != nil || q.Hosts() != 1 || q.UnknownGames() != 0 {
		t.Errorf("listed %v %v %v, %d hosts", q.listed(one), q.listed(two), q.listed(third), q.Hosts())
	}
	if q.verdict(one) != "banned" || q.verdict(third) != "unknown game" {
		t.Errorf("verdicts %q, %q", q.verdict(one), q.verdict(third))
	}
	if dropped := q.register(third, "DarkPlaces", "gamename", "mygame"); dropped != "unknown_game" {
		t.Errorf("a game that is not listed here: %q", dropped)
	}
	q.reload(func(c *Config) { c.Games = []string{"Quake3Arena"} })
	if dropped := q.register(third, "QuakeArena-1"); dropped != "" {
		t.Errorf("a game that is named as in the protocol: %q", dropped)
	}
}

// TestRestored asks the servers of the saved list.
func TestRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := newQ3(t, nil)
		before.register(one, "QuakeArena-1")
		before.register(two, "DarkPlaces", "gamename", "mygame")
		after := newQ3(t, nil)
		for _, a := range []netip.AddrPort{one, two} {
			srv := *before.listed(a)
			srv.Restored = true
			if err := after.opt.Registry.Put(srv); err != nil {
				t.Fatal(err)
			}
		}
		asking := after.Greet(after.w)
		if after.Hosts() != 2 || after.UnknownGames() != 1 {
			t.Errorf("%d hosts, games %v", after.Hosts(), after.UnknownGames())
		}
		asking.Step(time.Now())
		asking.Step(time.Now())
		asked := after.w.Take()
		if len(asked) != 2 {
			t.Fatalf("asked %v", asked)
		}
		for _, p := range asked {
			if p.to == one {
				after.send(one, infoOf(strings.TrimPrefix(p.data, header+"getinfo ")))
			}
		}
		if after.listed(one).Restored || !after.listed(two).Restored {
			t.Error("the one that answered is restored, or the other is not")
		}
		for range 200 {
			after.pass(time.Second)
			asking.Step(time.Now())
		}
		n := 0
		for _, p := range after.w.Take() {
			if p.to == one {
				t.Error("asked again after its answer")
			}
			n++
		}
		if n < 2 || n > uplink.GreetTimes*4 {
			t.Errorf("the silent one was asked %d more times", n)
		}
		if after.listed(two) == nil {
			t.Error("removed before the end of the time for restored servers")
		}
	})
}
