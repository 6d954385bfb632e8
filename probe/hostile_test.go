package probe

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/a2s"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/valvemaster"
)

// say hands a packet to the prober as if it came from an address.
func (w *world) say(from netip.AddrPort, packet []byte) {
	w.p.ServePacket(w, netserve.Packet{Data: packet, From: from})
}

func TestAnswersOfOthersAreNotListenedTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.watch(there, A2S, master.Static)
		time.Sleep(tickEvery)
		w.p.tick(time.Now())
		info := a2s.AppendInfo(nil, probetest.Arena("cstrike").Info())
		for _, from := range []string{"192.0.2.1:6501", "192.0.2.2:6500", "127.0.0.1:6500"} {
			w.say(netip.MustParseAddrPort(from), info)
		}
		if w.reg.Len() != 0 {
			t.Error("an answer from another address or port was believed")
		}
		w.say(there, info)
		w.say(there, info) // once more, and unasked
		w.pass(10 * time.Second)
		if _, ok := w.listed(there); !ok {
			t.Error("the real answer was not")
		}
	})
}

func TestEndlessChallengesEndTheVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		challenge := uint32(1)
		w.says(there, func([]byte) [][]byte {
			challenge++
			return [][]byte{a2s.AppendChallenge(nil, challenge)}
		})
		w.watch(there, A2S, valvemaster.Origin)
		w.pass(config().Every)
		// Three questions, each of which may be followed by three with a challenge.
		if n := w.count(there); n > maxTries*(1+a2s.MaxChallenges) {
			t.Errorf("%d packets to a server of challenges in one visit", n)
		}
		if w.reg.Len() != 0 {
			t.Error("it is listed")
		}
	})
}

func TestFloodOfChallengesIsNotAnsweredInKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.watch(there, A2S, valvemaster.Origin)
		time.Sleep(tickEvery)
		w.p.tick(time.Now())
		for i := range uint32(10_000) {
			w.say(there, a2s.AppendChallenge(nil, i+1))
		}
		if n := w.count(there); n > 1+a2s.MaxChallenges {
			t.Errorf("%d packets sent for 10,000 challenges", n)
		}
		if got := w.counted("respawnd_probe_visits_total", "a2s", resultTooMuch); got != 1 {
			t.Errorf("counted %v visits that brought too much, want 1", got)
		}
	})
}

// coy has the server say that it plays a game of those that hand out challenges
// for a question of its own, and that players are there, and no more.
func (w *world) coy() {
	game := probetest.Arena("insurgency").Info()
	game.AppID, game.Extra, game.Players = uint16(a2s.AppInsurgency), 0, 3
	w.says(there, func(q []byte) [][]byte {
		if a2s.Kind(q[4]) == a2s.InfoRequest {
			return [][]byte{a2s.AppendInfo(nil, game)}
		}
		return nil
	})
}

func TestVisitEndsWhereNoWayToAskIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.coy()
		w.watch(there, A2S, valvemaster.Origin)
		w.pass(5 * QuestionTime) // info, then players and rules in two ways each
		if n := w.p.table.visits; n != 0 {
			t.Errorf("%d visits are under way", n)
		}
		if w.rule(there, "hostname") == "" {
			t.Error("what the server told is lost")
		}
	})
}

func TestFloodEndsTheVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.coy()
		w.watch(there, A2S, valvemaster.Origin)
		w.pass(tickEvery)
		for range maxPackets {
			w.say(there, []byte("\xff\xff\xff\xffnothing"))
		}
		if n := w.p.table.visits; n != 0 {
			t.Errorf("%d visits are under way", n)
		}
	})
}

// parts returns a rules answer in parts.
func parts(t *testing.T, id uint32, value byte, count int) [][]byte {
	t.Helper()
	r := a2s.Rules{Count: 1, List: []a2s.Rule{{Name: "big", Value: string(bytes.Repeat([]byte{value}, 100*count))}}}
	message := a2s.AppendRules(nil, r)
	list, err := a2s.Splitter{Format: a2s.Source, ID: id, Size: 101 + len(message)/count - 100}.Split(message)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestPartsThatDripDoNotHoldAVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		talk := probetest.Arena("cstrike").Speaks("a2s")
		w.says(there, func(q []byte) [][]byte {
			if q[4] == 'V' {
				return nil
			}
			return talk(q)
		})
		w.watch(there, A2S, master.Static)
		w.pass(tickEvery)
		list := parts(t, 9, 'x', 10)
		began := time.Now()
		for i := 0; w.p.table.visits > 0; i++ {
			w.say(there, list[i%len(list)][:len(list[i%len(list)])-i%2])
			w.pass(time.Second)
		}
		if took := time.Since(began); took > 2*QuestionTime+time.Second {
			t.Errorf("the visit took %v", took)
		}
		if w.rule(there, "hostname") != "Arena of cstrike" {
			t.Error("what the server told before is lost")
		}
	})
}

func TestReusedAnswerNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		talk := probetest.Arena("cstrike").Speaks("a2s")
		a, b := parts(t, 9, 'a', 3), parts(t, 9, 'b', 3)
		w.says(there, func(q []byte) [][]byte {
			if q[4] == 'V' {
				return slices.Concat(a[:1], b)
			}
			return talk(q)
		})
		w.watch(there, A2S, master.Static)
		w.pass(10 * time.Second)
		if got := w.rule(there, "big"); got != "" && got != string(bytes.Repeat([]byte("b"), 300)) && got != string(bytes.Repeat([]byte("a"), 300)) {
			t.Errorf("rule made of two answers: %q", got)
		}
		if w.rule(there, "hostname") == "" {
			t.Error("not listed")
		}
	})
}

func TestLargestDatagramsAreTakenOrLeft(t *testing.T) {
	const largest = 65_507
	one := func(value int) []byte {
		r := a2s.Rules{Count: 2, List: []a2s.Rule{{Name: "small", Value: "1"}, {Name: "big", Value: string(bytes.Repeat([]byte("x"), value))}}}
		return a2s.AppendRules(nil, r)
	}
	many := binary.LittleEndian.AppendUint16([]byte("\xff\xff\xff\xffE"), 0xFFFF)
	for len(many) < largest-4 {
		many = append(many, "a\x00b\x00"...)
	}
	for name, rules := range map[string][]byte{
		"one rule":      one(largest - len(one(0))),
		"many rules":    many,
		"zeros":         append([]byte("\xff\xff\xff\xffE\xff\xff"), make([]byte, largest-7)...),
		"no NUL":        append([]byte("\xff\xff\xff\xffE\x01\x00"), bytes.Repeat([]byte("x"), largest-7)...),
		"claims 4 GB":   append([]byte("\xfe\xff\xff\xff\x01\x00\x00\x80\x02\x00\xe0\x04\xff\xff\xff\xff\x00\x00\x00\x00BZh9"), make([]byte, 1000)...),
		"one of 255":    append([]byte("\xfe\xff\xff\xff\x01\x00\x00\x00\xff\x00\xe0\x04\xff\xff\xff\xffE"), make([]byte, 1000)...),
		"many players":  append([]byte("\xff\xff\xff\xffD\xff"), bytes.Repeat([]byte("\x00x\x00\x01\x00\x00\x00\x00\x00\xc0\x7f"), 255)...),
		"nothing":       {},
		"header of one": []byte("\xff\xff\xff\xff"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				talk := probetest.Arena("cstrike").Speaks("a2s")
				w.says(there, func(q []byte) [][]byte {
					if q[4] != 'T' {
						return [][]byte{rules}
					}
					return talk(q)
				})
				w.watch(there, A2S, master.Static)
				w.pass(20 * time.Second)
				srv, ok := w.listed(there)
				if !ok {
					t.Fatal("not listed")
				}
				if srv.Rules.Len() > master.MaxNames || w.rule(there, "hostname") != "Arena of cstrike" {
					t.Errorf("%d rules, hostname %q", srv.Rules.Len(), w.rule(there, "hostname"))
				}
				if w.p.table.visits != 0 {
					t.Error("the visit continues")
				}
			})
		})
	}
}

func TestPacketsWithoutEndEndAVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, packet := range map[string][]byte{"small": []byte(`\a\b\queryid\1.1`), "large": make([]byte, 65_507)} {
			w := newWorld(t, nil)
			w.watch(there, GS1, master.Static)
			time.Sleep(tickEvery)
			w.p.tick(time.Now())
			for range maxPackets + 5 {
				w.say(there, packet)
			}
			if w.p.table.visits != 0 || w.counted("respawnd_probe_visits_total", "gs1", resultTooMuch) != 1 {
				t.Errorf("%s: the visit continues", name)
			}
		}
	})
}

func TestHostileAnswerChangesOneRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		victim := netip.MustParseAddrPort("192.0.2.7:6500")
		w.put(master.Server{Public: victim, Game: "plain", Origin: qr2.Origin})
		before, _ := w.listed(victim)
		liar := probetest.Arena("plain")
		liar.Rules = [][2]string{
			{"hostname", "overwritten"},
			{"numplayers", "9999"},
			{"hostport", "6500"},
			{"hostip", "192.0.2.7"},
			{"country", "FI"},
			{"GAMENAME", "other"},
			{"\x01\x02", "binary"},
			{"", "empty"},
			{`a\b`, "x"},
		}
		w.says(there, liar.Speaks("a2s"))
		w.watch(there, A2S, valvemaster.Origin)
		w.pass(time.Second)
		if after, _ := w.listed(victim); after != before {
			t.Error("the record of another server changed")
		}
		srv, _ := w.listed(there)
		if srv.Public != there || srv.Key.Source != there || srv.Country != "" || srv.Game != "plain.a2s" {
			t.Errorf("listed as %+v", srv)
		}
		if w.rule(there, "hostname") != liar.Name || w.rule(there, "numplayers") != "2" || w.rule(there, "gamename") != "plain" || w.rule(there, "hostport") != "27015" {
			t.Error("rules of its own hide what the server says about itself")
		}
		for name := range srv.Rules.All() {
			if !isWord(name) {
				t.Errorf("a rule is called %q", name)
			}
		}
	})
}

func TestOldServersAreTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		old := a2s.OldInfo{Address: "192.0.2.1:27015", Name: "Old", Map: "crossfire", Folder: "valve", Game: "Half-Life", MaxPlayers: 8, Protocol: 46, Type: 'D', System: 'L'}
		w.says(there, func(q []byte) [][]byte {
			if q[4] != 'T' {
				return nil
			}
			return [][]byte{a2s.AppendOldInfo(nil, old)}
		})
		w.watch(there, A2S, master.Static)
		w.pass(time.Second)
		if n := w.count(there); n > 2 {
			t.Errorf("%d packets within a second, want the question for info and that for rules", n)
		}
		w.pass(QuestionTime + time.Second)
		if srv, ok := w.listed(there); !ok || srv.Game != "valve" || w.rule(there, "hostname") != "Old" {
			t.Errorf("listed %v as %+v", ok, srv)
		}
	})
}

func FuzzTalk(f *testing.F) {
	g := probetest.Arena("plain")
	for i, p := range Protocols() {
		for _, question := range []string{`\status\`, "\xff\xff\xff\xffTSource Engine Query\x00\x0a\x08\x5e\xea", "\xff\xff\xff\xffV\x0a\x08\x5e\xea", "\xfe\xfd\x09KKKK"} {
			for _, a := range g.Speaks(p.String())([]byte(question)) {
				f.Add(uint8(i), a, a)
			}
		}
	}
	f.Add(uint8(2), []byte("\xff\xff\xff\xffA1234"), []byte("\xff\xff\xff\xffmx\x00x\x00x\x00x\x00x\x00\x01\x02\x03dl\x00\x00"))
	insurgency := probetest.Arena("insurgency").Info()
	insurgency.AppID, insurgency.Extra = uint16(a2s.AppInsurgency), 0
	f.Add(uint8(2), a2s.AppendInfo(nil, insurgency), []byte{})
	reg := master.NewRegistry(master.Limits{})
	f.Fuzz(func(t *testing.T, p uint8, a, b []byte) {
		protocol := Protocols()[int(p)%len(Protocols())]
		talk := newTalk(protocol, true)
		now := time.Unix(1000, 0)
		v := newVisit(talk, protocol, now)
		v.ask(now)
		sent, over := 1, false
		var err error
		for range maxPackets / 2 {
			for _, packet := range [][]byte{a, b} {
				var data []byte
				if data, over, _, err = v.take(packet, now); data != nil {
					sent++
				}
				if over {
					break
				}
			}
			if over {
				break
			}
		}
		for steps := 0; !over; steps++ {
			if steps > 50 {
				t.Fatal("the visit never ends")
			}
			now = v.again
			var data []byte
			if data, over, err = v.look(now); data != nil {
				sent++
			}
		}
		if sent > 40 {
			t.Errorf("%d packets sent in one visit", sent)
		}
		if err != nil {
			return
		}
		st := talk.status()
		var report master.Report
		names, values := st.Columns()
		report.Fill(reg, names, values, master.Grid(st.Players), master.Grid(st.Teams))
		var srv master.Server
		_ = report.Into(&srv) // too big for a record is possible; it must only not panic
	})
}
