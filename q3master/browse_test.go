package q3master

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

// games3 is a catalogue of a game with a tag.
func games3(tag string) (*games.Catalog, error) {
	return games.NewCatalog([]games.Game{{Name: "short", Facts: games.Facts{Quake3: []games.Quake3{{Name: "short", Tag: tag}}}}})
}

func TestLists(t *testing.T) {
	q := newQ3(t, func(o *Options) { o.ListWindow = 0; o.ListsPerNet = 0 })
	at := func(n int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(n)}), 27960)
	}
	for n, s := range map[int][]string{
		1: {"QuakeArena-1", "protocol", "68", "clients", "3"},
		2: {"QuakeArena-1", "protocol", "68", "clients", "0"},
		3: {"QuakeArena-1", "protocol", "68", "clients", "8", "gametype", "4"},
		4: {"QuakeArena-1", "protocol", "71", "gametype", "4"},
		5: {"EnemyTerritory-1", "protocol", "84", "clients", "0"},
		6: {"DarkPlaces", "gamename", "Xonotic", "protocol", "3"},
		7: {"DarkPlaces", "gamename", "Quake3Arena", "protocol", "68"},
		8: {"DarkPlaces", "gamename", "Quake3Arena", "protocol", "99"},
	} {
		if dropped := q.register(at(n), s[0], s[1:]...); dropped != "" {
			t.Fatalf("server %d: %s", n, dropped)
		}
	}
	if dropped := q.register(six, "QuakeArena-1", "protocol", "68"); dropped != "" {
		t.Fatal(dropped)
	}
	for request, want := range map[string]string{
		"getservers 68":                          "1",
		"getservers 68 empty":                    "1 2",
		"getservers 68 full":                     "1 3",
		"getservers 68 empty full":               "1 2 3",
		"getservers 68 full ctf":                 "3",
		"getservers 68 gametype=0":               "1",
		"getservers 68 gametype=":                "",
		"getservers 71":                          "4",
		"getservers 84":                          "5",
		"getservers 3":                           "",
		"getservers 99":                          "",
		"getservers 1234":                        "",
		"getservers Xonotic 3":                   "6",
		"getservers xonotic 3":                   "",
		"getservers Quake3Arena 68":              "1 7",
		"getservers nothing 1":                   "",
		"getserversExt Quake3Arena 68":           "1 7 six",
		"getserversExt Quake3Arena 68 ipv4":      "1 7",
		"getserversExt Quake3Arena 68 ipv6":      "six",
		"getserversExt Quake3Arena 68 ipv6 ipv4": "1 7 six",
		"getserversExt et 84":                    "5",
		"getservers Quake3Arena 68 " + strings.Repeat("gametype=123 ", 9) + "tourney": "",
	} {
		var names []string
		for n := range strings.SplitSeq(want, " ") {
			switch n {
			case "":
			case "six":
				names = append(names, six.String())
			default:
				names = append(names, "192.0.2."+n+":27960")
			}
		}
		for range 2 { // the second one is kept
			if got := q.list(asker, request); got != strings.Join(names, " ") {
				t.Errorf("%q: %q, want %q", request, got, want)
			}
		}
	}
	for _, bad := range []string{"getservers", "getservers x", "getserversExt 68"} {
		if got := q.list(asker, bad); got != "malformed_request" {
			t.Errorf("%q: %q", bad, got)
		}
		if got := q.verdict(asker); !strings.HasPrefix(got, "malformed request") {
			t.Errorf("%q: verdict %q", bad, got)
		}
	}
}

// TestListsFollow compares lists after each change with a new one.
func TestListsFollow(t *testing.T) {
	q := newQ3(t, func(o *Options) { o.ListWindow, o.ListsPerNet, o.ListsTotal = 0, 0, 0; o.MaxPerAddr = 0 })
	all := "getservers 68 empty full"
	at := func(n int) netip.AddrPort { return netip.AddrPortFrom(one.Addr(), uint16(1000+n)) }
	compare := func(what string, want ...int) {
		t.Helper()
		var text []string
		for _, n := range want {
			text = append(text, at(n).String())
		}
		slices.Sort(text)
		if got := q.list(asker, all); got != strings.Join(text, " ") {
			t.Errorf("%s: %q, want %q", what, got, text)
		}
		fresh := uplink.NewLister(q.opt.Registry, uplink.ListForm{Entry: q.dialect.entry, Append: q.dialect.Lists})
		r, _ := quake3.ParseRequest([]byte(" 68 empty full"), false)
		if got, want := q.Lister.Answer(q.wanted(r, 0), advertise.Asker{}), fresh.Answer(q.wanted(r, 0), advertise.Asker{}); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: the list that follows differs from a new one", what)
		}
	}
	compare("none")
	q.register(at(1), "QuakeArena-1")
	compare("one", 1)
	q.register(at(2), "QuakeArena-1")
	q.register(at(0), "QuakeArena-1")
	compare("three", 0, 1, 2)
	q.register(at(1), "QuakeArena-1", "protocol", "26")
	compare("another protocol", 0, 2)
	q.register(at(1), "QuakeArena-1", "mapname", "another")
	compare("back", 0, 1, 2)
	q.opt.Registry.Hide(at(2))
	compare("hidden", 0, 1)
	q.opt.Registry.Unhide(at(2))
	compare("shown again", 0, 1, 2)
	q.opt.Registry.Remove(q.KeyOf(at(0)))
	q.opt.Registry.Remove(q.KeyOf(at(1)))
	q.opt.Registry.Remove(q.KeyOf(at(2)))
	compare("empty")
	if q.Lister.Groups() != 0 {
		t.Error("something of an empty list is kept")
	}
	for n := range uplink.ManyChanges + 10 { // more than are followed
		q.register(at(n%300), "QuakeArena-1", "mapname", fmt.Sprint(n))
	}
	var want []int
	for n := range 300 {
		want = append(want, n)
	}
	compare("many changes", want...)
}

func TestKeptListsAreBounded(t *testing.T) {
	q := newQ3(t, func(o *Options) { o.ListWindow, o.ListsPerNet, o.ListsTotal = 0, 0, 0 })
	q.register(one, "QuakeArena-1")
	for n := range uplink.MaxAnswers {
		q.list(asker, fmt.Sprintf("getservers 68 gametype=%d", n))
	}
	if got := q.Lister.Cached(); got != uplink.MaxAnswers {
		t.Errorf("%d lists kept, want %d", got, uplink.MaxAnswers)
	}
	q.list(asker, "getservers 68 gametype=more")
	if got := q.Lister.Cached(); got != 1 {
		t.Errorf("%d lists kept after one more, want 1", got)
	}
	q.register(one, "QuakeArena-1", "clients", "0")
	q.list(asker, "getservers 99")
	if got := q.Lister.Cached(); got != 0 {
		t.Errorf("%d lists kept after a change, want none", got)
	}
	long := strings.Repeat("t", uplink.MaxGameType)
	q.register(one, "QuakeArena-1", "gametype", long)
	if got := q.list(asker, "getservers 68 gametype="+long); got != one.String() {
		t.Errorf("type of %d bytes: %q", uplink.MaxGameType, got)
	}
	q.register(one, "QuakeArena-1", "gametype", long+"t")
	for _, kind := range []string{long, long + "t"} {
		if got := q.list(asker, "getservers 68 gametype="+kind); got != "" {
			t.Errorf("type of %d bytes: %q", uplink.MaxGameType+1, got)
		}
	}
	if got := q.list(asker, "getservers 68 ffa"); got != one.String() {
		t.Errorf("a type that is too long counts as none: %q", got)
	}
}

func TestBudgets(t *testing.T) {
	const request = "getservers 68"
	at := func(a string) netip.AddrPort { return netip.MustParseAddrPort(a + ":5000") }
	count := func(q *q3, n int, from func(int) netip.AddrPort) (lists int) {
		for i := range n {
			if q.list(from(i), request) != "no_budget" {
				lists++
			}
		}
		return lists
	}
	t.Run("per_address", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := newQ3(t, func(o *Options) { o.Trusted = func(a netip.Addr) bool { return a == two.Addr() } })
			same := func(int) netip.AddrPort { return asker }
			if n := count(q, 400, same); n != q.ListBurst() {
				t.Errorf("%d lists of 400 requests at once, want %d", n, q.ListBurst())
			}
			time.Sleep(10 * time.Second)
			if n := count(q, 400, same); n != 5 {
				t.Errorf("%d lists ten seconds later, want 5", n)
			}
			if n := count(q, 400, func(int) netip.AddrPort { return two }); n != 400 {
				t.Errorf("%d lists for a trusted address, want all", n)
			}
			q.reload(func(c *Config) { c.ListWindow = 0 })
			if n := count(q, 100, same); n != 100 {
				t.Errorf("%d lists without a window, want all", n)
			}
		})
	})
	t.Run("per_network", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := newQ3(t, func(o *Options) { o.ListsPerNet = 20 })
			if n := count(q, 100, func(i int) netip.AddrPort { return at(fmt.Sprintf("203.0.113.%d", i)) }); n != 20 {
				t.Errorf("%d lists for a network, want 20", n)
			}
			if n := count(q, 1, func(int) netip.AddrPort { return at("203.0.114.1") }); n != 1 {
				t.Error("no list for another network")
			}
		})
	})
	t.Run("total", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := newQ3(t, func(o *Options) { o.ListsTotal = 30 })
			q.register(one, "QuakeArena-1")
			if n := count(q, 100, func(i int) netip.AddrPort { return at(fmt.Sprintf("203.0.%d.1", i)) }); n != 30 {
				t.Errorf("%d lists in total, want 30", n)
			}
			if n := count(q, 2, func(int) netip.AddrPort { return netip.AddrPortFrom(one.Addr(), 9) }); n != 2 {
				t.Errorf("%d lists for the address of a listed server, want 2", n)
			}
		})
	})
	t.Run("banned", func(t *testing.T) {
		q := newQ3(t, func(o *Options) { o.Banned = func(a netip.Addr) bool { return a == asker.Addr() } })
		if got := q.list(asker, request); got != "banned" {
			t.Errorf("banned address: %q", got)
		}
	})
}

// ListBurst returns the key of that name.
func (q *q3) ListBurst() int { return q.live.Load().ListBurst }

func TestBrowsersGetReachableAddress(t *testing.T) {
	q := newQ3(t, func(o *Options) {
		o.Addresses = advertise.New(o.Registry)
		o.Addresses.SetRules([]advertise.Rule{{As: netip.MustParseAddr("203.0.113.80")}})
		o.Addresses.SetNetworks([]hostnet.Address{{Prefix: netip.MustParsePrefix("10.0.0.5/24")}})
	})
	for _, a := range []string{"192.0.2.1:27960", "127.0.0.1:27961", "10.0.0.20:27962", "10.0.0.21:27962"} {
		q.register(netip.MustParseAddrPort(a), "QuakeArena-1")
	}
	for from, want := range map[string]string{
		"203.0.113.1": "192.0.2.1:27960 203.0.113.80:27961 203.0.113.80:27962",
		"10.0.0.9":    "10.0.0.5:27961 10.0.0.20:27962 10.0.0.21:27962 192.0.2.1:27960",
		"127.0.0.1":   "10.0.0.20:27962 10.0.0.21:27962 127.0.0.1:27961 192.0.2.1:27960",
	} {
		if got := q.list(netip.AddrPortFrom(netip.MustParseAddr(from), 1), "getservers 68"); got != want {
			t.Errorf("list for %s: %q, want %q", from, got, want)
		}
	}
	q.opt.Registry.RemoveFunc(func(s *master.Server) bool { return master.IsPrivate(s.Public.Addr()) })
	q.list(asker, "getservers 68")
	q.list(netip.MustParseAddrPort("10.0.0.9:1"), "getservers 68")
	if got := q.Lister.Cached(); got != 1 {
		t.Errorf("%d lists without private servers, want one for all", got)
	}
}

// TestServersOfOtherOrigins lists the servers that an operator added, and none of other
// protocols.
func TestServersOfOtherOrigins(t *testing.T) {
	q := newQ3(t, nil)
	for i, tc := range []struct {
		origin *master.Origin
		rules  []string
	}{
		{master.Static, []string{"q3game", "Quake3Arena", "protocol", "68", "numplayers", "1"}},
		{master.Found, []string{"q3game", "Quake3Arena", "protocol", "0x44", "numplayers", "1"}},
		{qr2.Origin, []string{"q3game", "Quake3Arena", "protocol", "68", "numplayers", "1"}},
		{master.Static, []string{"protocol", "68", "numplayers", "1"}},
		{master.Static, []string{"q3game", "Quake3Arena", "protocol", "x", "numplayers", "1"}},
	} {
		a := netip.AddrPortFrom(one.Addr(), uint16(1+i))
		srv := master.Server{Key: master.Key{Source: a}, Game: "quake3", Origin: tc.origin, Public: a}
		var names, values []string
		for k := 0; k < len(tc.rules); k += 2 {
			names, values = append(names, tc.rules[k]), append(values, tc.rules[k+1])
		}
		var report master.Report
		report.Fill(q.opt.Registry, names, values, master.Grid{}, master.Grid{})
		if err := report.Into(&srv); err != nil {
			t.Fatal(err)
		}
		if err := q.opt.Registry.Put(srv); err != nil {
			t.Fatal(err)
		}
	}
	if got := q.list(asker, "getservers 68"); got != "192.0.2.1:1 192.0.2.1:2" {
		t.Errorf("list %q", got)
	}
}
