package probe

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	wire "github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/zanmaster"
)

var (
	one = netip.MustParseAddrPort("192.0.2.1:10666")
	via = netip.MustParseAddr("198.51.100.1")
)

// zandronumWorld is a world whose prober queries the servers on Zandronum's master
// list.
func zandronumWorld(t testing.TB) *world {
	return newWorld(t, func(o *Options) {
		o.Ask = func() map[*master.Origin]time.Duration {
			return map[*master.Origin]time.Duration{zanmaster.Origin: ZandronumLeast}
		}
	})
}

// register lists a server as Zandronum's master does.
func (w *world) register(source netip.AddrPort, change func(*master.Server)) {
	w.t.Helper()
	srv := master.Server{Key: master.Key{Source: source}, Game: wire.Game, Origin: zanmaster.Origin, Public: source, Via: via}
	if change != nil {
		change(&srv)
	}
	var report master.Report
	report.SetRules(w.reg.Names([]string{wire.RuleEnforces, wire.RuleRevision}))
	report.Rule([]byte("1"))
	report.Rule([]byte("1761882777"))
	if err := report.Into(&srv); err != nil {
		w.t.Fatal(err)
	}
	w.put(srv)
}

// tells answers queries with the messages that are made for them.
func tells(answer func(wire.Query) [][]byte) probetest.Talk {
	return func(question []byte) (packets [][]byte) {
		_, body := wire.ParseKind(wire.Decode(nil, question, 100))
		for _, m := range answer(wire.ParseQuery(body)) {
			packets = append(packets, wire.Encode(nil, m))
		}
		return packets
	}
}

// everything is an answer with all that a server can tell.
func everything(time uint32) *wire.Info {
	return &wire.Info{
		Time: time, Version: "3.2", Flags: wire.AllFlags, Flags2: wire.AllFlags2,
		Name: "A \x1ccserver\x1c[Gold]!\x01", URL: "http://x", Email: "a@b", Map: "MAP01", MaxClients: 32, MaxPlayers: 16, PWADs: []string{"a.wad", "b.pk3"},
		Mode: wire.CaptureTheFlag, GameName: "DOOM II", IWAD: "doom2.wad", ForcePassword: true, Skill: 3,
		Limits: wire.Limits{Frags: 20, Time: 10, TimeLeft: 4}, TeamDamage: 0.5, NumPlayers: 2,
		Players: []wire.Player{{Name: "\x1cGann", Score: 5, Ping: 30, Team: 0, Minutes: 7}, {Name: "bob", Score: -2, Bot: true, Team: wire.NoTeam}},
		Teams:   2, TeamNames: []string{"Blue", "Red"}, TeamColors: []uint32{0xBF, 0xBF0000}, TeamScores: []int16{3, -1},
		DMFlags: []uint32{1, 2, 3, 4, 5, 6}, Security: 1, OptionalWADs: []uint8{1, 9}, DEH: []string{"p.deh"},
		PWADHashes: []string{"aa", "bb"}, Country: "FIN", ModeName: "Capture the Flag", ModeShortName: "CTF", VoiceChat: 1,
	}
}

func infoMessage(i *wire.Info) []byte {
	return wire.AppendInfo([]byte{0x77, 0x5d, 0x56, 0}, i)
}

// segments cuts an answer as a server does.
func segments(i *wire.Info, size int) (messages [][]byte) {
	body := wire.AppendInfo(nil, i)
	count := (len(body) + size - 1) / size
	for n := range count {
		piece := body[n*size : min((n+1)*size, len(body))]
		messages = append(messages, wire.AppendSegment(nil, wire.Segment{
			Number: byte(n), Count: byte(count), Offset: uint16(n * size), Total: uint16(len(body)), Piece: piece,
		}))
	}
	return messages
}

func TestAnswerUpdatesTheMastersRecord(t *testing.T) {
	for _, how := range []string{"single", "segmented", "segmented backwards"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := zandronumWorld(t)
				w.register(one, nil)
				var queries []wire.Query
				w.says(one, tells(func(q wire.Query) [][]byte {
					queries = append(queries, q)
					if how == "single" {
						return [][]byte{infoMessage(everything(q.Time))}
					}
					messages := segments(everything(q.Time), 100)
					if how == "segmented backwards" {
						slices.Reverse(messages)
					}
					return messages
				}))
				w.pass(time.Second)
				if len(queries) != 1 {
					t.Fatalf("%d queries, want 1", len(queries))
				}
				if want := (wire.Query{Flags: wire.AllFlags, Time: queries[0].Time, Flags2: wire.AllFlags2, Segmented: true}); queries[0] != want {
					t.Errorf("query: got %+v, want %+v", queries[0], want)
				}
				srv, _ := w.reg.At(one)
				if srv.Findings.Reached != master.ReachedPerhaps {
					t.Error("server that answered is not reachable")
				}
				want := map[string]string{
					"enforcesbanlist": "1", "revision": "1761882777", "hostname": "A server!", "gamever": "3.2", "mapname": "MAP01",
					"gametype": "Capture the Flag", "numplayers": "2", "maxplayers": "32", "maxclients": "32", "maxplaying": "16", "numbots": "1",
					"numspectators": "0", "password": "1", "joinpassword": "0", "website": "http://x", "email": "a@b",
					"statedcountry": "FIN", "modeshort": "CTF", "mode": "12", "instagib": "0", "buckshot": "0", "skill": "3",
					"botskill": "0", "fraglimit": "20", "timelimit": "10", "timeleft": "4", "duellimit": "0", "pointlimit": "0",
					"winlimit": "0", "teamdamage": "0.5", "dmflags": "1;2;3;4;5;6", "voicechat": "1", "basegame": "DOOM II",
					"iwad": "doom2.wad", "pwads": "a.wad;b.pk3", "pwadhashes": "aa;bb", "optionalpwads": "b.pk3", "dehacked": "p.deh",
				}
				if diff := cmp.Diff(want, maps.Collect(srv.Rules.All())); diff != "" {
					t.Errorf("rules (-want +got):\n%s", diff)
				}
				if got := rows(srv.Players); !cmp.Equal(got, [][]string{{"ann", "5", "30", "0", "7", "0", "0"}, {"bob", "-2", "0", "", "0", "1", "0"}}) {
					t.Errorf("players: got %q", got)
				}
				if got := rows(srv.Teams); !cmp.Equal(got, [][]string{{"Blue", "3", "#0000bf"}, {"Red", "-1", "#bf0000"}}) {
					t.Errorf("teams: got %q", got)
				}
				w.pass(2 * time.Minute)
				if again, _ := w.reg.At(one); again.Serial != srv.Serial {
					t.Error("the same answer changed the record")
				}
			})
		})
	}
}

func TestZandronumServersAreAskedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := zandronumWorld(t)
		for i := range 5 * 60 {
			// It comes and goes all the time, and is wanted by others as well.
			w.register(one, nil)
			w.pass(time.Second)
			switch i % 7 {
			case 0:
				w.reg.Remove(master.Key{Source: one})
				w.watch(one, Zandronum, master.Static)
			case 3:
				w.p.Unwatch(one, master.Static)
			}
			w.pass(time.Second)
		}
		times := w.times[one]
		for i := range times {
			if i > 0 && times[i].Sub(times[i-1]) < ZandronumLeast {
				t.Errorf("asked again after %v", times[i].Sub(times[i-1]))
			}
		}
		if len(times) < 8 {
			t.Errorf("%d packets in ten minutes, want nearly one a minute", len(times))
		}
	})
}

func TestQueriesOfZandronumServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := zandronumWorld(t)
		own := netip.MustParseAddrPort("192.168.0.4:10666")
		w.register(one, func(s *master.Server) { s.Restored = true })
		w.register(netip.MustParseAddrPort("192.0.2.2:10666"), func(s *master.Server) { s.Origin = master.Static })
		w.register(own, func(s *master.Server) { s.Public = netip.MustParseAddrPort("203.0.113.1:10666") })
		time.Sleep(time.Second)
		w.p.tick(time.Now())
		if len(w.wire) != 1 || w.wire[0].From != own || w.wire[0].To != via {
			t.Errorf("asked %v, want the own address of the verified server from the one that it talks to", w.wire)
		}
		w.p.opt.Ask = nil
		w.p.Reload(w.p.config)
		w.pass(3 * time.Minute)
		if w.p.counts()["zandronum"] != 0 || w.count(own) != 1 {
			t.Error("asked although it is switched off")
		}
	})
}

func TestBadAnswersOfZandronumChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := zandronumWorld(t)
		w.register(one, nil)
		var query wire.Query
		w.says(one, tells(func(q wire.Query) [][]byte { query = q; return nil }))
		w.pass(time.Second)
		before, _ := w.reg.At(one)
		whole := infoMessage(everything(query.Time))
		piece := segments(everything(query.Time), 100)[1]
		for name, tc := range map[string]struct {
			from    netip.AddrPort
			message []byte
		}{
			"from a stranger":       {netip.MustParseAddrPort("192.0.2.9:10666"), whole},
			"from another port":     {netip.AddrPortFrom(one.Addr(), 1), whole},
			"of another time":       {one, infoMessage(everything(query.Time + 1))},
			"too short":             {one, whole[:9]},
			"nothing":               {one, nil},
			"of another kind":       {one, []byte{1, 2, 3, 4, 5}},
			"segment that is wrong": {one, piece[:12]},
			"denial of another":     {one, wire.AppendDenial(nil, wire.KindBanned, query.Time+1)},
			"denial too short":      {one, wire.AppendDenial(nil, wire.KindBanned, query.Time)[:6]},
		} {
			w.say(tc.from, wire.Encode(nil, tc.message))
			if after, _ := w.reg.At(one); after != before {
				t.Fatalf("answer %s changed the record", name)
			}
		}
		for _, m := range segments(everything(query.Time+1), 100) { // forged, as a whole
			w.say(one, wire.Encode(nil, m))
		}
		w.say(one, wire.Encode(nil, whole))
		if w.rule(one, "hostname") != "A server!" {
			t.Error("the real answer after them was not taken")
		}
	})
}

func TestAnswerOfZandronumThatIsCutIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := zandronumWorld(t)
		w.register(one, nil)
		w.says(one, tells(func(q wire.Query) [][]byte { return [][]byte{infoMessage(everything(q.Time))[:80]} }))
		w.pass(time.Second)
		if got := w.rule(one, "hostname"); got != "A server!" {
			t.Errorf("hostname %q", got)
		}
	})
}

func TestDenialAndSilenceOfZandronum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := zandronumWorld(t)
		w.register(one, nil)
		w.says(one, tells(func(q wire.Query) [][]byte { return [][]byte{wire.AppendDenial(nil, wire.KindTooSoon, q.Time)} }))
		w.pass(time.Second)
		reachable := func() bool { srv, _ := w.reg.At(one); return srv.Findings.Reached == master.ReachedPerhaps }
		if !reachable() {
			t.Error("a server that denied is not reachable, although it answered")
		}
		silent := func() float64 { return w.counted("respawnd_probe_visits_total", "zandronum", resultSilent) }
		w.says(one, nil)
		for silent() < maxSilent {
			if !reachable() {
				t.Fatalf("not reachable after %v visits without an answer", silent())
			}
			w.pass(time.Second)
		}
		if reachable() {
			t.Error("still reachable after three visits without an answer")
		}
		if _, ok := w.reg.At(one); !ok {
			t.Error("the prober took a server of Zandronum's master off the list")
		}
		if got := w.counted("respawnd_probe_visits_total", "zandronum", resultDenied); got != 1 {
			t.Errorf("counted %v visits that were denied, want 1", got)
		}
		w.reg.Remove(master.Key{Source: one})
		w.pass(3 * time.Minute)
		if len(w.p.table.targets) != 0 {
			t.Error("a server that left is remembered for ever")
		}
	})
}

func TestAskTellsWhyZandronumDoesNotTell(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func(wire.Query) [][]byte
		err    error
	}{
		"segmented": {func(q wire.Query) [][]byte { return segments(everything(q.Time), 150) }, nil},
		"after garbage": {func(q wire.Query) [][]byte {
			return [][]byte{nil, {1, 2, 3, 4}, infoMessage(everything(q.Time + 1)), infoMessage(everything(q.Time))}
		}, nil},
		"too soon": {func(q wire.Query) [][]byte { return [][]byte{wire.AppendDenial(nil, wire.KindTooSoon, q.Time)} }, ErrTooSoon},
		"banned":   {func(q wire.Query) [][]byte { return [][]byte{wire.AppendDenial(nil, wire.KindBanned, q.Time)} }, ErrBanned},
	} {
		st, err := Ask(t.Context(), listen(t), probetest.Listen(t, tells(tc.answer)).Address(), Zandronum)
		if mapName, _ := st.Get("mapname"); !errors.Is(err, tc.err) || (err == nil) != (mapName == "MAP01") {
			t.Errorf("%s: Ask: map %q, %v, want error %v", name, mapName, err, tc.err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	silent := probetest.Listen(t, func([]byte) [][]byte { cancel(); return nil })
	if _, err := Ask(ctx, listen(t), silent.Address(), Zandronum); !errors.Is(err, context.Canceled) {
		t.Errorf("Ask of a silent server: %v, want %v", err, context.Canceled)
	}
}

// A spectator counts as a player, and takes one of sv_maxclients.
func TestZandronumPlaces(t *testing.T) {
	for want, i := range map[int]wire.Info{
		32: {Flags: wire.FlagMaxClients | wire.FlagMaxPlayers, MaxClients: 32, MaxPlayers: 16},
		16: {Flags: wire.FlagMaxPlayers, MaxPlayers: 16}, // a server that does not tell
	} {
		if got := zandronumPlaces(&i); got != want {
			t.Errorf("%+v: %d places, want %d", i, got, want)
		}
	}
}
