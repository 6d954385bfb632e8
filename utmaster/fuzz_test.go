package utmaster

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzText checks that text is written as it was read.
func FuzzText(f *testing.F) {
	for _, b := range [][]byte{{0}, {1, 0}, {5, 'T', 'e', 's', 't', 0}, {0x83, 0x31, 0x04, 0x49, 0x04, 0, 0}, {4, 0x1b, 0xff, 0x80, 0}} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := cursor{b: b}
		s := c.text()
		if c.err != nil {
			return
		}
		again := cursor{b: appendText(nil, s)}
		if got := again.text(); got != s || again.err != nil || len(again.b) != 0 {
			t.Errorf("%q became %q, %v", s, got, again.err)
		}
	})
}

// FuzzHello checks that sign-ins are written as they were read.
func FuzzHello(f *testing.F) {
	for _, word := range []string{"CLIENT", "SERVER", "UT2K4CLIENT", "UT2K4SERVER"} {
		for _, version := range []int32{2225, 3369} {
			f.Add((&Hello{KeyHash: digest("x"), Response: digest("y"), Word: word, Version: version, Language: "int"}).AppendTo(nil)[frameHead:])
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHello(b)
		if err != nil {
			return
		}
		again, err := ParseHello(h.AppendTo(nil)[frameHead:])
		if d := cmp.Diff(h, again); d != "" || err != nil {
			t.Errorf("(-want +got): %v\n%s", err, d)
		}
	})
}

// FuzzState checks that states are written as they were read.
func FuzzState(f *testing.F) {
	s := State{Clients: []string{"192.0.2.7:1025"}, Port: 7777, Name: "x", Rules: []Pair{{"a", "b"}}, List: []Player{{ID: 1, Name: "Ann"}}}
	for _, version := range []int32{2225, 2226, 3369} {
		f.Add(version, s.AppendTo(nil, version)[frameHead+1:])
	}
	f.Fuzz(func(t *testing.T, version int32, b []byte) {
		s, err := parseState(b, version)
		if err != nil {
			return
		}
		again, err := parseState(s.AppendTo(nil, version)[frameHead+1:], version)
		if d := cmp.Diff(s, again); d != "" || err != nil {
			t.Errorf("(-want +got): %v\n%s", err, d)
		}
	})
}

// FuzzEntry checks that servers of lists are written as they were read.
func FuzzEntry(f *testing.F) {
	e := Entry{Addr: home, GamePort: 7777, QueryPort: 7778, Name: "Test", Map: "DM-Rankin", GameType: "xDeathMatch", Players: 3, Max: 16, Flags: 36, Skill: "0"}
	for as := range formBare + 1 {
		f.Add(byte(as), e.appendTo(nil, as)[frameHead:])
	}
	f.Fuzz(func(t *testing.T, as byte, b []byte) {
		e, err := parseEntry(b, form(as%3))
		if err != nil {
			return
		}
		again, err := parseEntry(e.appendTo(nil, form(as%3))[frameHead:], form(as%3))
		if d := cmp.Diff(e, again, cmpopts.EquateComparable(netip.Addr{})); d != "" || err != nil {
			t.Errorf("(-want +got): %v\n%s", err, d)
		}
	})
}

// FuzzQuery checks that requests are written as they were read, and that their number
// of filters is bounded.
func FuzzQuery(f *testing.F) {
	f.Add(AppendQuery(nil, []Filter{{"gametype", "xDeathMatch", opEqual}, {"currentplayers", "0", opMore}})[frameHead+1:])
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parseFilters(b)
		if err != nil {
			return
		}
		again, err := parseFilters(AppendQuery(nil, list)[frameHead+1:])
		if d := cmp.Diff(list, again); d != "" || err != nil || len(list) > maxFilters {
			t.Errorf("(-want +got): %v\n%s", err, d)
		}
	})
}

// FuzzLink passes messages and datagrams to a game server's connection in any order.
func FuzzLink(f *testing.F) {
	state := (&State{Port: 7777, Clients: []string{"192.0.2.7:1025"}}).AppendTo(nil, 3369)
	f.Add(int32(3369), bytes.Join([][]byte{Mode{GameSpy: true}.AppendTo(nil), {0, 0, 0, 0}, state}, nil))
	f.Add(int32(2225), bytes.Join([][]byte{Mode{}.AppendTo(nil), state, {1, 0, 0, 0, 9}}, nil))
	f.Fuzz(func(t *testing.T, version int32, b []byte) {
		now := time.Unix(0, 0)
		l := link{
			policy: policy{probe: true, askKeys: true, wait: 5 * time.Second}, peer: home, version: version, statistics: true, code: 1, challenge: "12345678",
		}
		in, listed, asked := bytes.NewReader(b), false, 0
		for i := range 100 {
			now = now.Add(time.Second)
			p, err := readFrame(in, nil, maxFrame)
			var e effects
			switch {
			case err != nil:
				return
			case len(p) == 0:
				e = l.probed(byte(i%4), uint16(7777+i))
			case len(p) == 1 && p[0] > 5:
				e = l.answered()
			default:
				if e, err = l.message(p, now); err != nil {
					return
				}
			}
			for _, e := range []effects{e, l.tick(now)} {
				if e.list && (!l.proved || l.state == nil) {
					t.Fatal("listed without proof")
				}
				listed = listed || e.list
				if e.ask.IsValid() {
					asked++
				}
			}
			if asked > askTimes*(i+1) || len(l.players) > maxKnown {
				t.Fatalf("asked %d times, %d players", asked, len(l.players))
			}
		}
	})
}
