package probe

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/ssq"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/valvemaster"
)

func TestWatchedServerIsListed(t *testing.T) {
	for _, p := range Protocols() {
		t.Run(p.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				g := probetest.Arena("plain")
				w.says(there, g.Speaks(p.String()))
				w.watch(there, p, master.Static)
				if _, ok := w.listed(there); ok {
					t.Fatal("listed before it answered")
				}
				w.pass(time.Second)
				srv, ok := w.listed(there)
				if !ok {
					t.Fatal("not listed after it answered")
				}
				want := "plain"
				switch p {
				case Zandronum:
					want = "zandronum"
				case NWN:
					want = "nwn"
				case Quake2, QuakeWorld:
					want = p.String()
				case Unreal2:
					want = "ut2004"
				default:
				}
				if srv.Game != want || srv.Origin != master.Static || srv.Public != there || srv.Findings.Reached != master.ReachedDirect {
					t.Errorf("listed as %+v", srv)
				}
				for name, want := range map[string]string{
					"hostname": g.Name, "mapname": g.Map, "numplayers": "2", "maxplayers": "16", "gamever": g.Version, "password": "0",
				} {
					if p == SSQ && (name == "gamever" || name == "password") || p == NWN && name == "gamever" {
						continue // it has no words for them
					}
					if got := w.rule(there, name); got != want {
						t.Errorf("%s: got %q, want %q", name, got, want)
					}
				}
				if p == IDTech4 || p == NWN { // they have no scores, or no players
					if n := srv.Players.Rows(); (n == 2) != (p == IDTech4) {
						t.Errorf("%d players", n)
					}
					return
				}
				third, times := "time_", []string{"2", "60"}
				switch p {
				case Quake3, Quake2, QuakeWorld, Unreal2, ASE, Battlefield: // they have no times
					third, times = "ping_", []string{"40", "41"}
				default:
				}
				var players [][]string
				for r := range srv.Players.Rows() {
					var row []string
					for _, name := range []string{"player_", "score_", third} {
						c, ok := srv.Players.Names().Index(name)
						if !ok {
							t.Fatalf("no column %s", name)
						}
						row = append(row, srv.Players.Value(r, c))
					}
					players = append(players, row)
				}
				if diff := cmp.Diff([][]string{{"Ann", "14", times[0]}, {"Bob the second", "-2", times[1]}}, players); diff != "" {
					t.Errorf("players (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestSameAnswerDoesNotChangeTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		g := probetest.Arena("cstrike")
		w.says(there, g.Speaks("a2s"))
		w.watch(there, A2S, valvemaster.Origin)
		w.pass(time.Second)
		before, _ := w.listed(there)
		w.pass(2 * config().Every)
		if after, _ := w.listed(there); after != before {
			t.Error("the same answer made another record")
		}
		again := *g
		again.Map = "de_nuke"
		w.says(there, again.Speaks("a2s"))
		w.pass(2 * config().Every)
		if got := w.rule(there, "mapname"); got != "de_nuke" {
			t.Errorf("mapname %q after a change", got)
		}
	})
}

func TestRulesAreAskedForNowAndThenAndKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		g := probetest.Arena("cstrike")
		asked := 0
		talk := g.Speaks("a2s")
		w.says(there, func(q []byte) [][]byte {
			if q[4] == 'V' {
				asked++
			}
			return talk(q)
		})
		w.watch(there, A2S, master.Static)
		w.pass(rulesEvery - config().Every)
		if asked != 1 || w.rule(there, "sv_gravity") != "800" {
			t.Errorf("asked for rules %d times, sv_gravity %q; want once, 800", asked, w.rule(there, "sv_gravity"))
		}
		again := *g
		again.Rules = [][2]string{{"sv_gravity", "100"}}
		talk = again.Speaks("a2s")
		w.pass(3 * config().Every)
		if w.rule(there, "sv_gravity") != "100" || w.rule(there, "mp_timelimit") != "" {
			t.Errorf("sv_gravity %q, mp_timelimit %q after they changed", w.rule(there, "sv_gravity"), w.rule(there, "mp_timelimit"))
		}
	})
}

func TestSilentServerLeavesTheList(t *testing.T) {
	for origin, comesBack := range map[*master.Origin]bool{master.Static: true, valvemaster.Origin: false, master.Found: false} {
		t.Run(origin.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				talk := probetest.Arena("cstrike").Speaks("a2s")
				w.says(there, talk)
				w.watch(there, A2S, origin)
				w.pass(time.Second)
				w.says(there, nil)
				w.pass(2 * config().Every)
				if _, ok := w.listed(there); !ok {
					t.Error("left after two visits without an answer")
				}
				w.pass(2 * config().Every)
				if _, ok := w.listed(there); ok {
					t.Error("still listed after three visits without an answer")
				}
				w.says(there, talk)
				w.pass(20 * config().Every)
				if _, ok := w.listed(there); ok != comesBack {
					t.Errorf("listed again: %v, want %v", ok, comesBack)
				}
				if n := w.p.counts(); n["static"]+n["watched"] > 1 || (n["watched"] == 1) != false {
					t.Errorf("%d static and %d other servers watched", n["static"], n["watched"])
				}
				if !comesBack {
					w.watch(there, A2S, origin)
					w.pass(time.Minute)
					if _, ok := w.listed(there); !ok {
						t.Error("not listed although it is wanted again")
					}
				}
			})
		})
	}
}

func TestDeadServersAreVisitedEverMoreRarely(t *testing.T) {
	racetest.Skip(t, "takes many passes")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.watch(there, A2S, master.Static)
		w.pass(6 * time.Hour)
		var gaps []time.Duration
		times := w.times[there]
		for i := maxTries; i < len(times); i += maxTries {
			gaps = append(gaps, times[i].Sub(times[i-maxTries]))
		}
		for i, gap := range gaps {
			want := min(config().Every<<(i+1), maxInterval)
			if gap < want || gap > want+want/10+QuestionTime+time.Second {
				t.Errorf("gap %d is %v, want about %v", i, gap, want)
			}
		}
		if len(gaps) < 10 {
			t.Errorf("%d visits in six hours", len(gaps)+1)
		}
	})
}

func TestRenewalOfASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.watch(there, A2S, valvemaster.Origin)
		w.pass(QuestionTime + time.Second) // one visit without an answer
		w.count(there)
		for range 100 {
			w.watch(there, A2S, valvemaster.Origin)
		}
		w.pass(minInterval - QuestionTime - 2*time.Second)
		if n := w.count(there); n != 0 {
			t.Errorf("%d packets before ten seconds were over", n)
		}
		w.says(there, probetest.Arena("cstrike").Speaks("a2s"))
		w.pass(3 * time.Second)
		if _, ok := w.listed(there); !ok {
			t.Error("not listed soon after it was renewed")
		}
	})
}

func TestServerThatIsNotWantedAnyMoreLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.says(there, probetest.Arena("cstrike").Speaks("a2s"))
		w.watch(there, A2S, master.Static)
		w.watch(there, A2S, valvemaster.Origin)
		w.pass(time.Second)
		if !w.p.Unwatch(there, master.Static) || w.p.Unwatch(there, master.Static) {
			t.Error("Unwatch: want true once")
		}
		w.pass(2 * config().Every)
		if srv, ok := w.listed(there); !ok || srv.Origin != valvemaster.Origin {
			t.Errorf("listed as %+v, want from valve, which still wants it", srv)
		}
		w.p.Unwatch(there, valvemaster.Origin)
		if _, ok := w.listed(there); ok {
			t.Error("still listed")
		}
		w.pass(2 * time.Minute)
		if len(w.p.table.targets) != 0 || len(w.p.table.perAddr) != 0 || len(w.p.table.open) != 0 {
			t.Errorf("remembered: %+v", w.p.table)
		}
	})
}

func TestAddressesThatAreNeverAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := netip.MustParseAddrPort("192.0.2.99:27900")
		w := newWorld(t, func(o *Options) { o.Own = func(a netip.AddrPort) bool { return a == own } })
		for _, text := range []string{
			"192.0.2.1:0", "192.0.2.1:53", "192.0.2.1:1023", "255.255.255.255:27015", "224.0.0.1:27015", "239.1.2.3:27015", "0.0.0.0:27015",
			"240.0.0.1:27015", "[2001:db8::1]:27015", own.String(),
		} {
			a := netip.MustParseAddrPort(text)
			if err := w.p.Watch(Target{Address: a, Protocol: A2S, Origin: valvemaster.Origin}); !errors.Is(err, ErrForbidden) {
				t.Errorf("Watch(%v): %v, want ErrForbidden", a, err)
			}
			w.put(master.Server{Public: a, Game: "plain", Origin: qr2.OldOrigin})
			if _, err := w.p.Status(t.Context(), a); !errors.Is(err, ErrForbidden) {
				t.Errorf("Status(%v): %v, want ErrForbidden", a, err)
			}
		}
		for name, bad := range map[string]Target{
			"no protocol":      {Address: there, Origin: master.Static},
			"unknown protocol": {Address: there, Protocol: 99, Origin: master.Static},
			"other origin":     {Address: there, Protocol: A2S, Origin: qr2.Origin},
		} {
			if err := w.p.Watch(bad); !errors.Is(err, ErrForbidden) {
				t.Errorf("Watch with %s: %v, want ErrForbidden", name, err)
			}
		}
		w.pass(time.Minute)
		if len(w.times) != 0 {
			t.Errorf("asked %v", w.times)
		}
	})
}

func TestBannedServersAreNotAskedAndLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		banned := false
		w := newWorld(t, func(o *Options) {
			o.Banned = func(netip.Addr) bool { return banned }
			o.Verdicts = verdicts.NewLog(zerolog.New(&log), 0)
		})
		named := NewStatics(w.p, nil, nil, zerolog.Nop())
		named.Set([]Named{{A2S, there.String(), ""}})
		w.says(there, probetest.Arena("cstrike").Speaks("a2s"))
		w.pass(time.Second)
		banned = true
		w.count(there)
		w.pass(2 * config().Every)
		if _, ok := w.listed(there); ok || w.count(there) != 0 {
			t.Error("a banned server is listed or asked")
		}
		// The verdict is there also for servers that were never listed.
		later, found := netip.MustParseAddrPort("192.0.2.55:27015"), netip.MustParseAddrPort("192.0.2.56:27015")
		named.Set([]Named{{A2S, there.String(), ""}, {A2S, later.String(), "mymod"}})
		w.watch(found, A2S, master.Found)
		w.pass(2 * config().Every)
		for _, s := range named.States() {
			if s.Answers || s.Why != verdicts.Banned.String() {
				t.Errorf("state of a banned server: %+v, want that it is banned", s)
			}
		}
		for a, game := range map[netip.AddrPort]string{there: "cstrike", later: "mymod", found: ""} {
			if got := w.p.opt.Verdicts.Of(a.Addr()); len(got) == 0 || got[len(got)-1].Verdict != verdicts.Banned {
				t.Errorf("verdicts on %v: %v, want banned as the last", a, got)
			}
			if n := strings.Count(log.String(), `"peer":"`+a.String()+`","verdict":"banned"`); n != 1 || game != "" && !strings.Contains(log.String(), `"game":"`+game+`"`) {
				t.Errorf("%d lines say that %v is banned, want 1:\n%s", n, a, &log)
			}
		}
		banned = false
		w.pass(2 * config().Every)
		if _, ok := w.listed(there); !ok {
			t.Error("not listed after the ban")
		}
	})
}

// many returns addresses, each on a host of its own.
func many(n int) (list []netip.AddrPort) {
	for i := range n {
		list = append(list, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 27015))
	}
	return list
}

func TestWatchedServersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exempt := netip.MustParseAddr("10.9.9.9")
		w := newWorld(t, func(o *Options) {
			o.Config.MaxServers, o.Registry = 5, master.NewRegistry(master.Limits{PerAddr: 2})
			o.Trusted = func(a netip.Addr) bool { return a == exempt }
		})
		watch := func(a netip.Addr, port uint16, o *master.Origin) error {
			return w.p.Watch(Target{Address: netip.AddrPortFrom(a, port), Protocol: A2S, Origin: o})
		}
		host := netip.MustParseAddr("10.0.0.1")
		for port, want := range []error{nil, nil, ErrFull} {
			if err := watch(host, uint16(27015+port), valvemaster.Origin); !errors.Is(err, want) {
				t.Errorf("server %d of a host: %v, want %v", port, err, want)
			}
		}
		for port, want := range []error{nil, nil, nil, ErrFull} {
			if err := watch(exempt, uint16(27015+port), master.Found); !errors.Is(err, want) {
				t.Errorf("server %d of an exempt host: %v, want %v", port, err, want)
			}
		}
		if err := watch(host, 27015, valvemaster.Origin); err != nil {
			t.Errorf("a renewal on a full table: %v", err)
		}
		if err := watch(host, 28000, master.Static); err != nil {
			t.Errorf("a static server on a full table: %v", err)
		}
		if w.refused(refusedFull) != 1 || w.refused(refusedHost) != 1 {
			t.Errorf("counted %v and %v refusals, want 1 each", w.refused(refusedFull), w.refused(refusedHost))
		}
		w.p.Unwatch(netip.AddrPortFrom(host, 27016), valvemaster.Origin)
		if err := watch(host, 27099, valvemaster.Origin); err != nil {
			t.Errorf("in the place of one that left: %v", err)
		}
	})
}

func TestVisitsAreSpreadAndFair(t *testing.T) {
	racetest.Skip(t, "takes many passes")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) { o.Config.Rate, o.Config.Every = 20, 10*time.Second })
		list := many(600) // three times as many as their interval allows for
		for _, a := range list {
			w.says(a, (&probetest.Game{Name: "x", Game: "cstrike"}).Speaks("a2s"))
			w.watch(a, A2S, valvemaster.Origin)
		}
		perSecond := 0
		for range 120 {
			w.pass(time.Second)
			open := w.p.counts()["under_way"]
			if open != 0 {
				t.Fatalf("%d visits under way although all answer at once", open)
			}
		}
		begun := make(map[time.Time]int)
		for _, a := range list {
			visits := 0
			last := time.Time{}
			for _, at := range w.times[a] {
				if at.Sub(last) > time.Second {
					visits++
					begun[at.Truncate(time.Second)]++
				}
				last = at
			}
			if visits < 3 || visits > 5 {
				t.Errorf("%v was visited %d times in two minutes, want 4, one more or less", a, visits)
			}
		}
		for _, n := range begun {
			perSecond = max(perSecond, n)
		}
		if perSecond > 23 {
			t.Errorf("%d visits began in one second, want 20", perSecond)
		}
	})
}

func TestVisitsUnderWayAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) { o.Config.Rate = 1000 })
		w.p.maxOpen = 7
		for _, a := range many(50) {
			w.watch(a, A2S, valvemaster.Origin)
		}
		most := 0
		for range 100 {
			w.pass(tickEvery)
			open := w.p.counts()["under_way"]
			most = max(most, open)
		}
		if most != 7 {
			t.Errorf("%d visits under way, want 7", most)
		}
		w = newWorld(t, func(o *Options) { o.Config.Rate = 1000 })
		for port := range uint16(50) {
			w.watch(netip.AddrPortFrom(there.Addr(), 27015+port), A2S, valvemaster.Origin)
		}
		w.pass(tickEvery)
		if open := w.p.counts()["under_way"]; open != perHost {
			t.Errorf("%d visits under way to one host, want %d", open, perHost)
		}
		w.pass(time.Minute)
		if len(w.times) != 50 {
			t.Errorf("%d of 50 servers of one host were asked", len(w.times))
		}
	})
}

func TestTimesAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		list := many(20)
		for _, a := range list {
			w.says(a, probetest.Arena("plain").Speaks("gs1"))
			w.watch(a, GS1, master.Static)
		}
		w.pass(10 * config().Every)
		last := make(map[time.Duration]bool)
		for _, a := range list {
			times := w.times[a]
			if len(times) < 9 || len(times) > 11 {
				t.Errorf("%v was visited %d times in ten minutes", a, len(times))
			}
			last[times[len(times)-1].Sub(times[0]).Round(time.Second)] = true
		}
		if len(last) < 5 { // far fewer than chance would give
			t.Errorf("20 servers that came together are visited at %d times after ten minutes", len(last))
		}
	})
}

func TestReportingServerKeepsItsRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.put(master.Server{Public: there, Game: "plain", Origin: qr2.Origin})
		w.says(there, probetest.Arena("plain").Speaks("gs3"))
		w.watch(there, GS3, master.Static)
		w.pass(time.Second)
		if srv, _ := w.listed(there); srv.Origin != qr2.Origin || srv.Rules.Len() != 0 {
			t.Errorf("its record became %+v", srv)
		}
		w.p.Unwatch(there, master.Static)
		if _, ok := w.listed(there); !ok {
			t.Error("it left the list although it reports by itself")
		}
	})
}

func TestStaticServerReplacesOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.put(master.Server{Key: master.Key{Source: there, Instance: 5}, Public: there, Game: "plain", Origin: master.Found})
		w.says(there, probetest.Arena("plain").Speaks("gs3"))
		w.watch(there, GS3, master.Static)
		w.pass(time.Second)
		if srv, _ := w.listed(there); srv.Origin != master.Static || w.rule(there, "hostname") == "" {
			t.Errorf("listed as %+v, want static", srv)
		}
	})
}

func TestRestoredRecordIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.put(master.Server{Key: master.Key{Source: there, Instance: instance}, Public: there, Game: "cstrike", Origin: valvemaster.Origin, Restored: true})
		w.says(there, probetest.Arena("cstrike").Speaks("a2s"))
		w.watch(there, A2S, valvemaster.Origin)
		w.pass(time.Second)
		if srv, _ := w.listed(there); srv.Restored {
			t.Error("still marked as restored")
		}
	})
}

func TestUnknownGamesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) { o.Config.MaxGames = 3 })
		list := many(6)
		for i, a := range list {
			w.says(a, probetest.Arena(fmt.Sprintf("mod%d", i)).Speaks("a2s"))
			w.watch(a, A2S, valvemaster.Origin)
			w.pass(time.Second)
		}
		w.says(there, probetest.Arena("keyless").Speaks("a2s"))
		w.watch(there, A2S, valvemaster.Origin)
		w.pass(time.Second)
		var got []string
		for name := range w.reg.Counts() {
			got = append(got, name)
		}
		slices.Sort(got)
		if !slices.Equal(got, []string{"keyless", "mod0", "mod1", "mod2"}) || w.refused(refusedGame) != 3 {
			t.Errorf("games %q, %v refused; want the first three and the one of the catalogue, 3", got, w.refused(refusedGame))
		}
		// One that calls itself differently every time has one place.
		n := 0
		w.says(list[0], func(q []byte) [][]byte {
			n++
			return probetest.Arena(fmt.Sprintf("new%d", n/10)).Speaks("a2s")(q)
		})
		w.pass(20 * config().Every)
		if got := w.reg.Counts(); len(got) != 4 || len(w.p.games) != 3 {
			t.Errorf("games %v, counted %v", got, w.p.games)
		}
		for _, a := range append(list, there) {
			w.p.Unwatch(a, valvemaster.Origin)
		}
		if len(w.p.games) != 0 || len(w.reg.Counts()) != 0 {
			t.Errorf("left behind: %v, %v", w.p.games, w.reg.Counts())
		}
	})
}

// The lists of a game that has a key are for servers that proved that they know
// it, and for those that the operator vouches for.
func TestServerWithoutKeyIsListedBeside(t *testing.T) {
	for _, tt := range []struct {
		origin     *master.Origin
		said, want string
	}{
		{valvemaster.Origin, "Plain", "plain.a2s"},
		{master.Found, "Plain", "plain"},
		{master.Static, "Plain", "plain"},
		{valvemaster.Origin, "Two Words", "two_words.a2s"},
		{master.Found, "Two Words", "two_words"},
		{valvemaster.Origin, "plain.a2s", "plain.a2s"},
		{valvemaster.Origin, "keyless", "keyless"},
	} {
		t.Run(tt.origin.String()+" "+tt.said, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.says(there, probetest.Arena(tt.said).Speaks("a2s"))
				w.watch(there, A2S, tt.origin)
				w.pass(time.Second)
				if srv, ok := w.listed(there); !ok || srv.Game != tt.want {
					t.Errorf("listed %v as %+v, want under %s", ok, srv, tt.want)
				}
			})
		})
	}
}

func TestGameNamesAreChecked(t *testing.T) {
	for said, want := range map[string]string{
		"cstrike": "cstrike", "CStrike": "cstrike", "The Ship": "the_ship", "a-b_c+d.7": "a-b_c+d.7",
		"": "", "a/b": "", "a\\b": "", "ä": "", "a\x00": "", "123456789012345678901234567890123": "",
		"12345678901234567890123456789012": "12345678901234567890123456789012",
	} {
		if got, ok := games.ListedName(said); got != want || ok != (want != "") {
			t.Errorf("ListedName(%q) = %q, %v, want %q", said, got, ok, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for i, said := range []string{"zandronum", "ZANDRONUM", "../etc", ""} {
			a := netip.AddrPortFrom(there.Addr(), uint16(7000+i))
			w.says(a, probetest.Arena(said).Speaks("a2s"))
			w.watch(a, A2S, valvemaster.Origin)
			w.pass(time.Second)
			if srv, ok := w.listed(a); ok {
				t.Errorf("a server that says it is of %q is listed as %q", said, srv.Game)
			}
		}
		if err := w.p.Watch(Target{Address: there, Protocol: A2S, Origin: master.Static, Game: "mygame"}); err != nil {
			t.Fatal(err)
		}
		w.says(there, probetest.Arena("../etc").Speaks("a2s"))
		w.pass(time.Second)
		if srv, ok := w.listed(there); !ok || srv.Game != "mygame" {
			t.Errorf("listed %v as %+v, want under the game that the operator gave", ok, srv)
		}
	})
}

func TestListWithoutRoomIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := master.NewRegistry(master.Limits{Servers: 1})
		w := newWorld(t, func(o *Options) { o.Registry = reg })
		other := netip.MustParseAddrPort("192.0.2.7:6500")
		w.put(master.Server{Public: other, Game: "plain", Origin: master.Static}) // which makes no room
		w.says(there, probetest.Arena("cstrike").Speaks("a2s"))
		w.watch(there, A2S, master.Static)
		w.pass(time.Second)
		if _, ok := w.listed(there); ok || w.refused(refusedList) != 1 {
			t.Errorf("listed %v, %v refused", ok, w.refused(refusedList))
		}
		if got := w.p.opt.Verdicts.Of(there.Addr()); len(got) != 1 || got[0].Verdict != verdicts.ListFull || !w.p.Answers(there) {
			t.Errorf("told as %+v, answers %v; want a full list and a server that answers", got, w.p.Answers(there))
		}
		reg.Remove(master.Key{Source: other})
		w.pass(2 * config().Every)
		if _, ok := w.listed(there); !ok {
			t.Error("not listed when there was room again")
		}
	})
}

func TestTooManyServersAtAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) { o.Registry = master.NewRegistry(master.Limits{PerAddr: 1}) })
		first := netip.AddrPortFrom(there.Addr(), there.Port()+1)
		w.put(master.Server{Public: first, Game: "plain", Origin: qr2.Origin})
		w.says(there, probetest.Arena("cstrike").Speaks("a2s"))
		w.watch(there, A2S, master.Static)
		w.pass(time.Second)
		if got := w.p.opt.Verdicts.Of(there.Addr()); len(got) != 1 || got[0].Verdict != verdicts.TooManyHere {
			t.Errorf("told as %+v, want too many at its address", got)
		}
	})
}

func TestModsOfDayZAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		const block = "\x02\x00\x00\x00\x02" +
			"\x01\x00\x00\x00\x04\x04\xb0\xef\x5c\x02CF" +
			"\x02\x00\x00\x00\x04\x90'9]\x16Community-Online-Tools\x00" // two mods, without signatures
		escaped := strings.NewReplacer("\x01", "\x01\x01", "\x00", "\x01\x02", "\xff", "\x01\x03").Replace(block)
		g := probetest.Arena("dayz")
		g.Rules = append(g.Rules, [2]string{"\x01\x01", escaped}) // the first piece of one
		w.says(there, g.Speaks("a2s"))
		w.watch(there, A2S, master.Static)
		w.pass(time.Second)
		for name, want := range map[string]string{"mods": "CF;Community-Online-Tools", "modids": "1559212036;1564026768", "sv_gravity": "800"} {
			if got := w.rule(there, name); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
	})
}

func TestMasterIsNotASSQServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.says(there, func(q []byte) (packets [][]byte) {
			h, _, err := ssq.ParseHeader(q)
			if err != nil {
				return nil
			}
			two := ssq.Table{Columns: []string{"hostname", "game"}, Rows: [][]string{{"A", "plain"}, {"B", "plain"}}}
			answer, _ := ssq.Split(new([ssq.MaxPacket]byte), h.ID, two.AppendTo(nil))
			for p := range answer {
				packets = append(packets, slices.Clone(p))
			}
			return packets
		})
		w.watch(there, SSQ, master.Static)
		w.pass(time.Second)
		if _, ok := w.listed(there); ok || w.counted("respawnd_probe_visits_total", "ssq", resultDenied) != 1 {
			t.Error("a master is listed as a server")
		}
	})
}

func TestSilentServersAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.watch(there, A2S, master.Static)
		w.pass(config().Every)
		if got := w.p.opt.Verdicts.Of(there.Addr()); len(got) != 1 || got[0].Verdict != verdicts.Unanswered {
			t.Errorf("verdicts: %+v", got)
		}
	})
}
