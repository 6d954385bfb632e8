package utmaster

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/zanmaster"
)

func TestRecord(t *testing.T) {
	inBubble(t, func(o *Options) {
		o.Locate = func(netip.Addr) (string, string) { return "DE", "2" }
	}, func(f *fixture) {
		m := Mode{GameSpy: true}
		s := f.host(3369, m)
		if got := s.prove(7777, m); got != (Ports{7778, 7777, 7787}) {
			t.Errorf("ports %+v", got)
		}
		defer func() {
			if n := len(f.asked()); n != 1 {
				t.Errorf("asked for the status %d times, want once", n)
			}
		}()
		s.report(func(st *State) {
			st.Name = "\x1b\xff\x01\x01Red Мир"
			st.Rules = []Pair{
				{"GamePassword", "True"},
				{"mutator", "XGame.MutInstaGib"},
				{"Mutator", "MutNoAdrenaline"},
				{"ServerVersion", "3355"},
				{"hostname", "forged"},
				{"hostport", "1"},
				{"gsqueryport", "9"},
			}
			st.List = []Player{{ID: 1, Name: "Ann", Ping: 40, Score: 12}}
		})
		srv, ok := f.reg.Find(netip.AddrPortFrom(home, 7787))
		if !ok {
			t.Fatal("not listed")
		}
		if srv.Game != "ut2004" || srv.Origin != Origin || srv.QueryProtocol() != "gs1" || srv.Country != "DE" || !srv.SpeaksGameSpy() {
			t.Errorf("record %+v", srv)
		}
		want := map[string]string{
			"hostname": "\x1b\xff\x01\x01Red Мир", "mapname": "DM-Rankin", "gametype": "xDeathMatch", "numplayers": "3", "maxplayers": "16",
			"hostport": "7777", "queryport": "7778", "gsqueryport": "7787", "gamever": "3355", "password": "1",
			"mutators": "XGame.MutInstaGib,MutNoAdrenaline", "skilllevel": "0", "GamePassword": "True", "ServerVersion": "3355",
		}
		if d := cmp.Diff(want, maps.Collect(srv.Rules.All())); d != "" {
			t.Errorf("rules (-want +got):\n%s", d)
		}
		if srv.Players.Rows() != 1 || srv.Players.Value(0, 0) != "Ann" || srv.Players.Value(0, 1) != "12" || srv.Players.Value(0, 2) != "40" {
			t.Errorf("players %v", srv.Players)
		}
		list := f.browse(modernBrowser)
		wantList := []Entry{{
			Addr: home, GamePort: 7777, QueryPort: 7778, Name: "\x1b\xff\x01\x01Red Мир", Map: "DM-Rankin", GameType: "xDeathMatch",
			Players: 3, Max: 16, Flags: flagPassword | flagLatest | flagInstagib, Skill: "0",
		}}
		if d := cmp.Diff(wantList, list, cmpopts.EquateComparable(netip.Addr{})); d != "" {
			t.Errorf("list (-want +got):\n%s", d)
		}
		// The list follows the next state, and the end of the connection.
		s.report(func(st *State) { st.Map = "CTF-Face3"; st.GameType = "xCTFGame" })
		if list := f.browse(modernBrowser); len(list) != 1 || list[0].Map != "CTF-Face3" {
			t.Errorf("list %+v", list)
		}
		_ = s.conn.Close()
		synctest.Wait()
		if list := f.browse(modernBrowser); len(list) != 0 || f.reg.Len() != 0 {
			t.Errorf("list %+v", list)
		}
		if got := f.verdict(netip.AddrPortFrom(home, 7787)); got != "left" {
			t.Errorf("verdict %q", got)
		}
	})
}

func TestProbedPortsBehindNAT(t *testing.T) {
	inBubble(t, nil, func(f *fixture) {
		s := f.host(2225, Mode{BehindNAT: true, GameSpy: true})
		for i, port := range []uint16{50001, 50000, 50002} {
			_ = f.say(port, appendProbeReply(nil, udp2003, Probe{byte(i), s.code})) // the ports show it
		}
		if got := s.ports(); got != (Ports{Query: 50001, Game: 50000, GameSpy: 50002}) {
			t.Errorf("ports %+v", got)
		}
		s.report(nil) // with the port inside
		srv, ok := f.reg.Find(netip.AddrPortFrom(home, 50002))
		if !ok || rule(srv, "hostport") != "50000" || rule(srv, "queryport") != "50001" || srv.Game != "ut2" {
			t.Errorf("record %+v, %v", srv, ok)
		}
	})
}

// TestReached checks that a server is joinable once its query port has answered, and
// that silence says nothing about one that is proved.
func TestReached(t *testing.T) {
	for _, version := range []int32{2226, 3369} {
		for _, answers := range []bool{false, true} {
			inBubble(t, nil, func(f *fixture) {
				f.listed(version, 7777, nil)
				sent := f.asked()
				if want := string(statusQuery(version)); len(sent) != 1 || sent[0].data != want {
					t.Errorf("asked %+v, want %q", sent, want)
				}
				if answers {
					_ = f.say(7778, []byte{udp2004, 0, 0, 0, 0}) // the list shows it
				}
				time.Sleep(time.Minute)
				want := master.JoinUnknown
				if answers {
					want = master.JoinDirect
				}
				srv, ok := f.reg.Find(netip.AddrPortFrom(home, 7778))
				if !ok || srv.Joinable() != want || f.dropped(droppedUnproved) != 0 {
					t.Errorf("version %d, answers %v: joinable %v, listed %v", version, answers, srv.Joinable(), ok)
				}
				more := askTimes - 1
				if answers {
					more = 0
				}
				if got := len(f.asked()); got != more {
					t.Errorf("asked %d times more, want %d", got, more)
				}
			})
		}
	}
}

func TestLateProbeLists(t *testing.T) {
	inBubble(t, nil, func(f *fixture) {
		s := f.host(3369, Mode{})
		s.ports()
		s.report(nil)
		_ = f.say(7777, appendProbeReply(nil, udp2004, Probe{probeGame, s.code})) // the list shows it
		if _, ok := f.reg.Find(netip.AddrPortFrom(home, 7778)); !ok {
			t.Error("not listed")
		}
	})
}

func TestPortsWithoutProbe(t *testing.T) {
	for _, short := range []bool{false, true} {
		for _, version := range []int32{2225, 3369} {
			inBubble(t, func(o *Options) { o.Probe, o.ShortPorts = false, short }, func(f *fixture) {
				p := f.connect()
				p.signIn(Hello{Word: "SERVER", Version: version})
				p.want(appendWord(nil, wordApproved))
				p.write(Mode{}.AppendTo(nil))
				if short && version < modern {
					p.want(nettest.Unhex(t, "06000000 01 00 611e0000"))
				} else {
					p.want(nettest.Unhex(t, "11000000 01 78000000 621e0000 611e0000 6b1e0000"))
				}
			})
		}
	}
}

func TestRefusals(t *testing.T) {
	denied := appendWord(nil, wordDenied)
	for name, tt := range map[string]struct {
		h       Hello
		why     ended
		verdict string
	}{
		"unknown version":     {Hello{Word: "CLIENT", Version: 1}, endedGame, "unknown game"},
		"negative version":    {Hello{Word: "SERVER", Version: -1}, endedGame, ""},
		"no role":             {Hello{Word: "ADMIN", Version: 3369}, endedRole, ""},
		"banned key":          {Hello{Word: "UT2K4CLIENT", Version: 3369, KeyHash: strings.Repeat("b", 32)}, endedKey, "key banned"},
		"server, banned key":  {Hello{Word: "UT2K4SERVER", Version: 3369, KeyHash: strings.Repeat("b", 32)}, endedKey, ""},
		"key of another game": {Hello{Word: "CLIENT", Version: 2225, KeyHash: strings.Repeat("b", 32)}, ended{}, ""},
		"no digest":           {Hello{Word: "CLIENT", Version: 2225, KeyHash: "x"}, ended{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(o *Options) {
				o.KeyBanned = func(product int, hash string) bool { return product == 837 && hash == strings.Repeat("b", 32) }
			}, func(f *fixture) {
				p := f.connect()
				p.signIn(tt.h)
				if tt.why == (ended{}) {
					p.want(appendWord(nil, wordApproved))
					return
				}
				p.want(denied)
				p.ended()
				if got := f.dropped(tt.why); got != 1 {
					t.Errorf("counted %d times, want once", got)
				}
				if got := f.verdict(netip.AddrPortFrom(home, 0)); tt.verdict != "" && got != tt.verdict {
					t.Errorf("verdict %q", got)
				}
			})
		})
	}
}

// TestGamesByWord checks that the word of the role decides among games with a version,
// and that unknown words do not hurt.
func TestGamesByWord(t *testing.T) {
	for word, want := range map[string]string{"UT2K4": "ut2004", "RO": "redorchestra", "": "ut2004", "PARIAH": "ut2004"} {
		inBubble(t, nil, func(f *fixture) {
			g, known := f.srv.opt.Games.Epic(word, 3369)
			if !known || g.Name != want {
				t.Errorf("%q: %q, %v, want %s", word, g.Name, known, want)
			}
		})
	}
}

// TestBadInput sends messages that the protocol forbids.
func TestBadInput(t *testing.T) {
	hello := (&Hello{KeyHash: digest("x"), Response: digest("y"), Word: "UT2K4CLIENT", Version: 3369}).AppendTo(nil)
	ready := bytes.Join([][]byte{hello, appendWord(nil, strings.Repeat("0", 32))}, nil)
	host := (&Hello{KeyHash: digest("x"), Response: digest("y"), Word: "SERVER", Version: 3369}).AppendTo(nil)
	listing := bytes.Join([][]byte{host, Mode{}.AppendTo(nil)}, nil)
	with := func(before []byte, wire string) []byte { return append(bytes.Clone(before), nettest.Unhex(t, wire)...) }
	for name, tt := range map[string]struct {
		wire []byte
		why  ended
	}{
		"4 GiB":                           {nettest.Unhex(t, "ffffffff"), endedTooLong},
		"hello of 4 KiB and a byte":       {nettest.Unhex(t, "01100000"), endedTooLong},
		"hello of nothing":                {nettest.Unhex(t, "00000000"), endedMalformed},
		"hello with text without end":     {nettest.Unhex(t, "05000000 7fffffff0f"), endedMalformed},
		"hello with negative text":        {nettest.Unhex(t, "06000000 ffffffff0f 41"), endedMalformed},
		"hello with index beyond 31 bits": {nettest.Unhex(t, "05000000 ffffffffff"), endedMalformed},
		"half of a UTF-16 pair":           {nettest.Unhex(t, "05000000 82 3dd80000"), endedMalformed},
		"request of 32 KiB and a byte":    {with(ready, "01800000"), endedTooLong},
		"request of nothing":              {with(ready, "00000000"), endedMalformed},
		"upgrade":                         {with(ready, "01000000 02"), endedRequest},
		"unknown request":                 {with(ready, "01000000 07"), endedRequest},
		"filters without number":          {with(ready, "01000000 00"), endedMalformed},
		"65 filters":                      {with(ready, "03000000 00 4101"), endedMalformed},
		"2 G filters":                     {with(ready, "06000000 00 7fffffff0f"), endedMalformed},
		"-1 filters":                      {with(ready, "02000000 00 81"), endedMalformed},
		"filter cut off":                  {with(ready, "05000000 00 01 02 4100"), endedMalformed},
		"digest cut off":                  {with(hello, "02000000 2130"), endedMalformed},
		"mode cut off":                    {with(host, "04000000 00000000"), endedMalformed},
		"message of nothing":              {with(listing, "00000000"), endedMalformed},
		"unknown message":                 {with(listing, "01000000 09"), endedMalformed},
		"state cut off":                   {with(listing, "02000000 01 01"), endedMalformed},
		"state of 64 KiB and a byte":      {with(listing, "01000100"), endedTooLong},
		"player's key cut off":            {with(listing, "02000000 00 05"), endedMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(f *fixture) {
				p := f.connect()
				go func() { _, _ = p.conn.Write(tt.wire) }()
				buf := make([]byte, 4096)
				for {
					if _, err := p.conn.Read(buf); err != nil {
						break
					}
				}
				if got := f.dropped(tt.why); got != 1 {
					t.Errorf("%v counted %d times, want once", tt.why, got)
				}
				if f.reg.Len() != 0 {
					t.Error("a server is listed")
				}
			})
		})
	}
}

func TestSilence(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(*fixture) *peer
		after  time.Duration
		why    ended
	}{
		"nothing but half a length": {func(f *fixture) *peer { p := f.connect(); p.read(); p.write([]byte{1, 0}); return p }, 30 * time.Second, endedTimeout},
		"approved browser": {func(f *fixture) *peer {
			p := f.connect()
			p.signIn(Hello{Word: "CLIENT", Version: 2225})
			p.read()
			return p
		}, 30 * time.Second, endedTimeout},
		"listed server": {func(f *fixture) *peer { return f.listed(3369, 7777, nil).peer }, 5 * time.Minute, endedSilent},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(f *fixture) {
				p := tt.before(f)
				began := time.Now()
				p.ended()
				if got := time.Since(began); got < tt.after-time.Second || got > tt.after+3*time.Second {
					t.Errorf("ended after %v, want %v", got, tt.after)
				}
				if got := f.dropped(tt.why); got != 1 || f.reg.Len() != 0 {
					t.Errorf("%v counted %d times, %d servers", tt.why, got, f.reg.Len())
				}
			})
		})
	}
}

func TestServersPerAddress(t *testing.T) {
	inBubble(t, func(o *Options) { o.ServersPerAddr = 2 }, func(f *fixture) {
		f.listed(3369, 7777, nil)
		second := f.listed(3369, 7787, nil)
		s := f.host(3369, Mode{})
		s.prove(7797, Mode{})
		s.report(func(st *State) { st.Port = 7797 })
		s.ended()
		if got := f.dropped(endedTooMany); got != 1 || f.reg.Len() != 2 {
			t.Errorf("counted %d times, %d servers", got, f.reg.Len())
		}
		if got := f.verdict(netip.AddrPortFrom(home, 7798)); got != "too many servers here" {
			t.Errorf("verdict %q", got)
		}
		_ = second.conn.Close()
		synctest.Wait()
		f.listed(3369, 7797, nil)
	})
}

func TestConnectionsPerAddress(t *testing.T) {
	inBubble(t, func(o *Options) { o.MaxPerAddr = 1 }, func(f *fixture) {
		f.connect().read()
		f.connect().ended()
		f.connectFrom(netip.MustParseAddrPort("198.51.100.1:1")).read()
	})
}

// TestReconnect checks that a second connection of a server takes its place, and that
// the end of the first does not remove it.
func TestReconnect(t *testing.T) {
	inBubble(t, nil, func(f *fixture) {
		first := f.listed(3369, 7777, nil)
		f.listed(3369, 7777, func(st *State) { st.Name = "Again" })
		first.ended()
		srv, ok := f.reg.Find(netip.AddrPortFrom(home, 7778))
		if !ok || rule(srv, "hostname") != "Again" || f.dropped(endedReplaced) != 1 {
			t.Errorf("record %+v, %v", srv, ok)
		}
	})
}

// TestServerChangesPort checks that a record does not stay under an old address.
func TestServerChangesPort(t *testing.T) {
	inBubble(t, func(o *Options) { o.Probe, o.ListUnproved = false, true }, func(f *fixture) {
		p := f.connect()
		p.signIn(Hello{Word: "SERVER", Version: 3369})
		p.want(appendWord(nil, wordApproved))
		p.write(Mode{}.AppendTo(nil))
		p.read()
		s := &server{peer: p, version: 3369}
		for _, port := range []uint16{7777, 8888} {
			s.report(func(st *State) { st.Port = int32(port) })
			if _, ok := f.reg.Find(netip.AddrPortFrom(home, port+1)); !ok || f.reg.Len() != 1 {
				t.Errorf("port %d: listed %v, %d servers", port, ok, f.reg.Len())
			}
		}
	})
}

// TestOtherOrigins checks which records a server here replaces.
func TestOtherOrigins(t *testing.T) {
	for origin, want := range map[*master.Origin]bool{
		qr2.OldOrigin: true, master.Static: true, master.Federated: true, master.Found: true, qr2.Origin: false, zanmaster.Origin: false,
	} {
		t.Run(origin.String(), func(t *testing.T) {
			inBubble(t, nil, func(f *fixture) {
				at := netip.AddrPortFrom(home, 7787)
				put(t, f.reg, "ut2004", at.String(), origin, "hostname", "other")
				m := Mode{GameSpy: true}
				s := f.host(3369, m)
				s.prove(7777, m)
				s.report(nil)
				srv, ok := f.reg.Find(at)
				if !ok || (srv.Origin == Origin) != want || f.reg.Len() != 1 {
					t.Errorf("%+v, %v", srv, ok)
				}
				if got := f.dropped(endedElsewhere); (got == 1) == want {
					t.Errorf("counted %d times", got)
				}
			})
		})
	}
}

// TestListHasServersOfAllOrigins checks that servers which do not report here are in
// the list too.
func TestListHasServersOfAllOrigins(t *testing.T) {
	inBubble(t, nil, func(f *fixture) {
		put(t, f.reg, "ut2004", "198.51.100.1:7787", qr2.OldOrigin, "hostname", "Old", "hostport", "7777", "mapname", "DM-Deck17", "maxplayers", "300")
		put(t, f.reg, "ut2004", "198.51.100.2:7787", master.Static, "hostname", "No port")
		put(t, f.reg, "ut2", "198.51.100.3:7787", qr2.OldOrigin, "hostname", "Other game", "hostport", "7777")
		want := []Entry{{
			Addr: netip.MustParseAddr("198.51.100.1"), GamePort: 7777, QueryPort: 7778, Name: "Old", Map: "DM-Deck17", Max: 255, Flags: flagStandard,
		}}
		if d := cmp.Diff(want, f.browse(modernBrowser), cmpopts.EquateComparable(netip.Addr{})); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

func TestForms(t *testing.T) {
	rules := []string{"hostname", "x", "hostport", "7777", ruleMutators, "MutInstaGib", ruleVersion, "2226", rulePassword, "True", ruleStatistics, "True", ruleMode, "Non-Dedicated"}
	for name, tt := range map[string]struct {
		b     Browser
		flags bool
		game  string
		want  int32
	}{
		"UT2004":            {modernBrowser, true, "ut2004", flagPassword | flagStatistics | flagLatest | flagListen | flagInstagib},
		"UT2003":            {Browser{Version: 2225}, true, "ut2", oldPassword | oldStatistics | oldLatest | oldListen | oldInstagib},
		"XMP":               {Browser{Version: 2226}, true, "u2xmp", oldPassword | oldStatistics | oldLatest | oldListen | oldInstagib},
		"XMP without flags": {Browser{Version: 2226, NoXMPFlags: true}, false, "u2xmp", 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(o *Options) { o.XMPFlags = tt.flags }, func(f *fixture) {
				put(t, f.reg, tt.game, "198.51.100.1:7778", Origin, rules...)
				list := f.browse(tt.b)
				if len(list) != 1 || list[0].Flags != tt.want {
					t.Errorf("%+v, want flags %#x", list, tt.want)
				}
			})
		})
	}
	if oldPassword != 64 || oldInstagib != 4 || flagClassic != 64 {
		t.Error("flags have other values")
	}
}

func TestKeysOfPlayers(t *testing.T) {
	bad := digest("player 192.0.2.8:1026")
	var log bytes.Buffer
	inBubble(t, func(o *Options) {
		o.Log, o.KeyMark = zerolog.New(&log), func(product int, hash string) string { return fmt.Sprint("mark ", product, hash == bad) }
		o.AskKeys = true
		o.KeyBanned = func(product int, hash string) bool { return product == 837 && hash == bad }
	}, func(f *fixture) {
		s := f.host(3369, Mode{})
		s.prove(7777, Mode{})
		clients := []string{"192.0.2.7:1025", "192.0.2.8:1026"}
		go s.send((&State{Port: 7777, Clients: clients}).AppendTo(nil, 3369))
		for _, c := range clients {
			cur := cursor{b: s.read()[frameHead:]}
			if kind, player, challenge := cur.uint8(), cur.text(), cur.text(); kind != tellChallenge || player != c || len(challenge) != 8 {
				t.Errorf("%d %q %q, want a challenge for %s", kind, player, challenge, c)
			}
		}
		for _, c := range clients {
			go s.send(PlayerKey{c, digest("player " + c), digest("x")}.appendTo(nil))
			synctest.Wait()
		}
		s.want(appendDisconnect(nil, clients[1]))
		if got := f.verdict(netip.MustParseAddrPort("192.0.2.8:0")); !strings.Contains(got, "ban") {
			t.Errorf("verdict %q", got)
		}
		if got := log.String(); strings.Contains(got, bad) || strings.Contains(got, digest(DefaultKey)) || !strings.Contains(got, `"key":"mark 837 true"`) {
			t.Errorf("the log has\n%s", got)
		}
		// Known players are not asked again.
		s.report(func(st *State) { st.Clients = clients })
		s.report(func(st *State) { st.Clients = append(clients, "192.0.2.9:1") })
		cur := cursor{b: s.read()[frameHead:]}
		if _, player := cur.uint8(), cur.text(); player != "192.0.2.9:1" {
			t.Errorf("asked for %q", player)
		}
	})
}

func TestMatchID(t *testing.T) {
	for _, version := range []int32{2225, 3369} {
		inBubble(t, func(o *Options) { o.Probe, o.ListUnproved = false, true }, func(f *fixture) {
			p := f.connect()
			p.signIn(Hello{Word: "SERVER", Version: version, Statistics: 0})
			p.want(appendWord(nil, wordApproved))
			p.write(Mode{}.AppendTo(nil))
			p.read()
			if version < modern {
				go p.send((&State{Port: 7777}).AppendTo(nil, version))
			} else {
				go p.send(nettest.Unhex(t, "05000000 04 01000000"))
			}
			if got := p.read(); len(got) != frameHead+5 || got[frameHead] != tellMatch || got[frameHead+1]|got[frameHead+2]|got[frameHead+3] == 0 || got[frameHead+4] > 127 {
				t.Errorf("version %d: %x, want the id of a match", version, got)
			}
		})
	}
}

func TestUnusedMessages(t *testing.T) {
	inBubble(t, nil, func(f *fixture) {
		s := f.listed(3369, 7777, nil)
		for _, wire := range []string{"03000000 02 01 00", "03000000 03 01 00", "04000000 05 01 01 01", "05000000 04 01000000"} {
			s.write(nettest.Unhex(t, wire))
			synctest.Wait()
		}
		if got := f.dropped(droppedMessage); got != 3 {
			t.Errorf("counted %d times, want 3", got)
		}
		s.report(func(st *State) { st.Map = "still here" })
		if srv, ok := f.reg.Find(netip.AddrPortFrom(home, 7778)); !ok || rule(srv, "mapname") != "still here" {
			t.Errorf("%+v, %v", srv, ok)
		}
	})
}

// TestFlood checks that a server which reports without end is slowed down, and loses
// nothing.
func TestFlood(t *testing.T) {
	inBubble(t, nil, func(f *fixture) {
		s := f.listed(3369, 7777, nil)
		began := time.Now()
		for i := range messageBurst + 10*messageRate {
			s.report(func(st *State) { st.Players = int32(i) })
		}
		if got := time.Since(began); got < 9*time.Second || got > 11*time.Second {
			t.Errorf("took %v, want ten seconds", got)
		}
		srv, _ := f.reg.Find(netip.AddrPortFrom(home, 7778))
		if got := rule(srv, "numplayers"); got != fmt.Sprint(messageBurst+10*messageRate-1) {
			t.Errorf("%s players", got)
		}
	})
}

func TestBanned(t *testing.T) {
	var banned bool
	inBubble(t, func(o *Options) { o.Banned = func(a netip.Addr) bool { return banned && a == home } }, func(f *fixture) {
		s := f.listed(3369, 7777, nil)
		banned = true
		s.report(func(st *State) { st.Name = "other" })
		s.ended()
		f.connect().ended()
		if got := f.dropped(endedBanned); got != 2 || f.reg.Len() != 0 {
			t.Errorf("counted %d times, %d servers", got, f.reg.Len())
		}
	})
}

// TestOwnAddress checks that the daemon does not query itself.
func TestOwnAddress(t *testing.T) {
	inBubble(t, func(o *Options) { o.Own = func(a netip.AddrPort) bool { return a.Port() == 27900 } }, func(f *fixture) {
		for _, port := range []int32{27899, 500, 0, -1, 70000} {
			s := f.host(3369, Mode{})
			s.ports()
			s.report(func(st *State) { st.Port = port })
			for _, p := range f.asked() {
				if p.to.Port() == 27900 || p.to.Port() < lowestPort {
					t.Errorf("port %d: asked %v", port, p.to)
				}
			}
		}
	})
}

// TestListPause checks that tools get the number of servers by itself, and games do not
// wait.
func TestListPause(t *testing.T) {
	for os, want := range map[byte]time.Duration{4: 0, 6: 20 * time.Millisecond} {
		inBubble(t, nil, func(f *fixture) {
			f.populate()
			p := f.connect()
			p.signIn(Hello{Word: "CLIENT", Version: 2225, OS: os})
			p.want(appendWord(nil, wordApproved))
			p.write(AppendQuery(nil, nil))
			p.read()
			began := time.Now()
			p.read()
			if got := time.Since(began); got != want {
				t.Errorf("operating system %d: the servers came after %v, want %v", os, got, want)
			}
		})
	}
}
