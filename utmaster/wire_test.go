package utmaster

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

func TestIndex(t *testing.T) {
	for v, want := range map[int32]string{
		0: "00", 1: "01", 63: "3f", 64: "4001", 100: "6401", 128: "4002", 8191: "7f7f", 8192: "408001", 300000: "60cf24", -1: "81",
		-64: "c001", 1<<20 - 1: "7fff7f", 1 << 20: "40808001", 1<<27 - 1: "7fffff7f", 1 << 27: "4080808001",
		math.MaxInt32: "7fffffff0f", -math.MaxInt32: "ffffffff0f",
	} {
		if got := hex.EncodeToString(appendIndex(nil, v)); got != want {
			t.Errorf("appendIndex(%d): %s, want %s", v, got, want)
		}
		c := cursor{b: nettest.Unhex(t, want)}
		if got := c.index(); got != v || c.err != nil || len(c.b) != 0 {
			t.Errorf("index of %s: %d, %v, %d left, want %d", want, got, c.err, len(c.b), v)
		}
	}
}

func TestBadIndex(t *testing.T) {
	for text, want := range map[string]error{
		"": ErrCut, "40": ErrCut, "4080": ErrCut, "40808080": ErrCut, "7fffffff10": ErrIndex, "ffffffffff": ErrIndex,
	} {
		c := cursor{b: nettest.Unhex(t, text)}
		if got := c.index(); got != 0 || !errors.Is(c.err, want) {
			t.Errorf("index of %q: %d, %v, want %v", text, got, c.err, want)
		}
	}
}

func TestText(t *testing.T) {
	for name, tt := range map[string]struct{ wire, text string }{
		"plain":              {"05 54657374 00", "Test"},
		"one letter":         {"02 41 00", "A"},
		"Latin-1":            {"03 4d fc 00", "Mü"},
		"Latin-1 like UTF-8": {"03 c3 bc 00", "Ã¼"},
		"UTF-16":             {"83 3104 4904 0000", "бщ"},
		"UTF-16 pair":        {"83 3dd8 00de 0000", "😀"},
		"colour":             {"07 1b ff 01 80 4d fc 00", "\x1b\xff\x01\x80Mü"},
		"colour in UTF-16":   {"86 1b00 ff00 0100 0100 3104 0000", "\x1b\xff\x01\x01б"},
		"colour cut off":     {"04 41 1b ff 00", "A\x1b\xff"},
		"62 letters":         {"3f" + strings.Repeat("61", 62) + "00", strings.Repeat("a", 62)},
		"63 letters":         {"4001" + strings.Repeat("61", 63) + "00", strings.Repeat("a", 63)},
		"empty, with an end": {"01 00", ""},
	} {
		t.Run(name, func(t *testing.T) {
			wire := nettest.Unhex(t, tt.wire)
			c := cursor{b: wire}
			if got := c.text(); got != tt.text || c.err != nil || len(c.b) != 0 {
				t.Errorf("read %q, %v, %d left, want %q", got, c.err, len(c.b), tt.text)
			}
			if got := appendText(nil, tt.text); !bytes.Equal(got, wire) {
				t.Errorf("wrote %x, want %x", got, wire)
			}
		})
	}
}

func TestOtherText(t *testing.T) {
	for name, tt := range map[string]struct {
		wire, want string
		err        error
	}{
		"empty":                     {"00", "", nil},
		"UTF-16, empty":             {"81 0000", "", nil},
		"UTF-16 of Latin-1":         {"83 4d00 fc00 0000", "Mü", nil},
		"no end":                    {"02 4141", "", ErrText},
		"end inside":                {"04 41004100", "", ErrText},
		"cut off":                   {"05 4141", "", ErrCut},
		"UTF-16, no end":            {"82 41004100", "", ErrText},
		"UTF-16, end inside":        {"83 000041000000", "", ErrText},
		"UTF-16, cut off":           {"83 4100", "", ErrCut},
		"UTF-16, first half alone":  {"83 3dd8 4100 0000", "", ErrText},
		"UTF-16, second half alone": {"82 00de 0000", "", ErrText},
		"UTF-16, half at the end":   {"82 3dd8 0000", "", ErrText},
		"2 GiB":                     {"7fffffff0f 41", "", ErrCut},
		"2 G of UTF-16":             {"ffffffff0f 4100", "", ErrCut},
		"index too large":           {"7fffffffff 41", "", ErrIndex},
	} {
		t.Run(name, func(t *testing.T) {
			c := cursor{b: nettest.Unhex(t, tt.wire)}
			if got := c.text(); got != tt.want || !errors.Is(c.err, tt.err) {
				t.Errorf("read %q, %v, want %q, %v", got, c.err, tt.want, tt.err)
			}
		})
	}
}

// TestRawText checks that names of other protocols, which are not UTF-8, are sent as
// Latin-1.
func TestRawText(t *testing.T) {
	for text, want := range map[string]string{
		"M\xfcnchen": "08 4dfc6e6368656e00", "a\x00b": "03 616200", "\x00": "0100", "M\xfc\x1b\xff\x01\x01n": "08 4dfc1bff01016e00",
	} {
		if got := appendText(nil, text); !bytes.Equal(got, nettest.Unhex(t, want)) {
			t.Errorf("%q: %x, want %s", text, got, want)
		}
	}
}

func TestReadFrame(t *testing.T) {
	for name, tt := range map[string]struct {
		wire string
		most int
		want string
		err  error
	}{
		"message":               {"03000000 616263", 3, "abc", nil},
		"empty":                 {"00000000", 3, "", nil},
		"too long":              {"04000000 61626364", 3, "", ErrFrame},
		"4 GiB":                 {"ffffffff 61", maxFrame, "", ErrFrame},
		"2 GiB":                 {"00000080 61", maxFrame, "", ErrFrame},
		"cut off":               {"03000000 6162", 3, "", io.ErrUnexpectedEOF},
		"nothing behind length": {"03000000", 3, "", io.ErrUnexpectedEOF},
		"length cut off":        {"0300", 3, "", io.ErrUnexpectedEOF},
		"nothing":               {"", 3, "", io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readFrame(bytes.NewReader(nettest.Unhex(t, tt.wire)), nil, tt.most)
			if string(got) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %q, %v, want %q, %v", got, err, tt.want, tt.err)
			}
		})
	}
	long := bytes.Repeat([]byte("x"), maxFrame)
	got, err := readFrame(bytes.NewReader(frame(nil, func(b []byte) []byte { return append(b, long...) })), nil, maxFrame)
	if err != nil || !bytes.Equal(got, long) {
		t.Errorf("64 KiB: %d bytes, %v", len(got), err)
	}
}

// TestReadFrameNeedsBytes checks that a length alone takes no memory.
func TestReadFrameNeedsBytes(t *testing.T) {
	got, err := readFrame(bytes.NewReader(nettest.Unhex(t, "00000100 61")), nil, maxFrame)
	if !errors.Is(err, io.ErrUnexpectedEOF) || cap(got) > 4096 {
		t.Errorf("%v, room for %d bytes", err, cap(got))
	}
}

// Messages of the examples, which were made from the layouts.
func TestHello(t *testing.T) {
	for name, h := range map[string]Hello{
		"UT2004 client": {Word: "UT2K4CLIENT", Version: 3369, OS: 4, Language: "int", Device: 0x0a2e, Vendor: 0x8086, Speed: 24},
		"UT2004 server": {Word: "UT2K4SERVER", Version: 3369, OS: 4, Language: "int", Statistics: -1, BansOff: 1},
		"UT2003 client": {Word: "CLIENT", Version: 2225, OS: 4, Language: "int"},
		"UT2003 server": {Word: "SERVER", Version: 2225, OS: 1, Language: "est"},
		"XMP server":    {Word: "SERVER", Version: 2226, OS: 1, Language: "est", Statistics: -1},
	} {
		h.KeyHash, h.Response = strings.Repeat("3b", 16), strings.Repeat("06", 16)
		if role, _ := h.Role(); role == RoleClient {
			h.Statistics = -1
		}
		got, err := ParseHello(h.AppendTo(nil)[frameHead:])
		if d := cmp.Diff(h, got); d != "" || err != nil {
			t.Errorf("%s (-want +got): %v\n%s", name, err, d)
		}
	}
}

func TestHelloCutOff(t *testing.T) {
	whole := (&Hello{Word: "UT2K4SERVER", Version: 3369, OS: 4, Language: "int", Statistics: 7, BansOff: 1}).AppendTo(nil)[frameHead:]
	needed := len(whole) - 4 - 1 - 1 - len("\x04int\x00")
	for n := range len(whole) + 1 {
		h, err := ParseHello(whole[:n])
		switch {
		case n < needed:
			if err == nil {
				t.Errorf("%d bytes: read %+v, want an error", n, h)
			}
		case err != nil || h.Version != 3369 || h.Word != "UT2K4SERVER":
			t.Errorf("%d bytes: %+v, %v", n, h, err)
		case n < len(whole)-1 && h.Statistics != -1, n >= len(whole)-1 && h.Statistics != 7:
			t.Errorf("%d bytes: statistics %d", n, h.Statistics)
		}
	}
}

func TestRole(t *testing.T) {
	for word, want := range map[string]struct {
		role Role
		game string
	}{
		"CLIENT": {RoleClient, ""}, "SERVER": {RoleServer, ""}, "UT2K4CLIENT": {RoleClient, "UT2K4"}, "UT2K4SERVER": {RoleServer, "UT2K4"},
		"rosERVER": {RoleServer, "RO"}, "": {RoleNone, ""}, "SERVERS": {RoleNone, "SERVERS"},
	} {
		h := Hello{Word: word}
		if role, game := h.Role(); role != want.role || game != want.game {
			t.Errorf("%q: %v %q, want %v %q", word, role, game, want.role, want.game)
		}
	}
}

func TestState(t *testing.T) {
	s := State{
		Clients: []string{"192.0.2.7:1025"}, Port: 7777, Name: "The Inn", Map: "DM-Rankin", GameType: "xDeathMatch", Players: 1, Max: 16,
		Flags: 3, Skill: "3", Rules: []Pair{{"GamePassword", "False"}, {"mutator", "MutInstaGib"}, {"mutator", "MutNoAdrenaline"}},
		List: []Player{{ID: 1, Extra: 5, Name: "Ann", Ping: 40, Score: 12, StatisticsID: -1}},
	}
	for _, version := range []int32{2225, 2226, 3369} {
		want := s
		want.List = []Player{s.List[0]}
		if version < modern {
			want.Flags, want.Skill = 0, ""
		}
		if version != versionXMP {
			want.List[0].Extra = 0
		}
		wire := want.AppendTo(nil, version)[frameHead:]
		got, err := parseState(wire[1:], version)
		if d := cmp.Diff(want, got); d != "" || err != nil || wire[0] != sayState {
			t.Errorf("%d (-want +got): %v\n%s", version, err, d)
		}
		// The list of players may be cut off, the fields before it may not.
		alone := want
		alone.List = nil
		before := len(alone.AppendTo(nil, version)) - frameHead - 1 // without the number of players
		for n := 1; n < len(wire); n++ {
			got, err := parseState(wire[1:n], version)
			if n < before && err == nil || n >= before && (err != nil || len(got.List) != 0 || got.Name != s.Name) {
				t.Errorf("%d, %d of %d bytes: %+v, %v", version, n, len(wire), got, err)
			}
		}
	}
}

func TestStateBounds(t *testing.T) {
	many := func(n int, add func(*State)) *State {
		s := &State{Port: 7777}
		for range n {
			add(s)
		}
		return s
	}
	for name, tt := range map[string]struct {
		add  func(*State)
		most int
	}{
		"clients": {func(s *State) { s.Clients = append(s.Clients, "") }, maxClients},
		"rules":   {func(s *State) { s.Rules = append(s.Rules, Pair{}) }, maxRules},
		"players": {func(s *State) { s.List = append(s.List, Player{}) }, maxPlayers},
		"name":    {func(s *State) { s.Name += "x" }, maxNameText},
		"map":     {func(s *State) { s.Map += "x" }, maxNameText},
		"type":    {func(s *State) { s.GameType += "x" }, maxNameText},
		"skill":   {func(s *State) { s.Skill += "x" }, maxNameText},
		"rule": {func(s *State) {
			if s.Rules == nil {
				s.Rules = make([]Pair, 1)
			}
			s.Rules[0].Value += "x"
		}, maxRuleText},
	} {
		for n, want := range map[int]error{tt.most: nil, tt.most + 1: ErrTooMany} {
			wire := many(n, tt.add).AppendTo(nil, 3369)[frameHead+1:]
			if _, err := parseState(wire, 3369); !errors.Is(err, want) {
				t.Errorf("%s, %d: %v, want %v", name, n, err, want)
			}
		}
	}
	if _, err := parseState(nettest.Unhex(t, "7fffffff0f"), 3369); !errors.Is(err, ErrTooMany) {
		t.Errorf("2 G clients: %v", err)
	}
	if _, err := parseState(nettest.Unhex(t, "81"), 3369); !errors.Is(err, ErrTooMany) {
		t.Errorf("-1 clients: %v", err)
	}
	if _, err := parseState(nettest.Unhex(t, "407f 00"), 3369); !errors.Is(err, ErrTooMany) && !errors.Is(err, ErrCut) {
		t.Errorf("more clients than bytes: %v", err)
	}
}

func TestCutText(t *testing.T) {
	for text, want := range map[string]string{
		"abc": "abc", "abcd": "abc", "äöüß": "äöü", "äöü": "äöü", "a\x1b\xff\x01\x01b": "a\x1b\xff", "бщбщ": "бщб", "a\x00bcd": "abc",
	} {
		if got := cutText(text, 3); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestLongestEntry checks that no server in a list is longer than browsers read.
func TestLongestEntry(t *testing.T) {
	reg := master.NewRegistry(master.Limits{})
	long := "Ж" + strings.Repeat("x", 10_000)
	put(t, reg, "ut2004", "192.0.2.1:7778", qr2.OldOrigin, "hostport", "1", "hostname", long, "mapname", long, "gametype", long, ruleSkill, long)
	v := build(reg, viewKey{game: "ut2004"}, nil)
	if n := len(v.Bytes) - listHeadSize - frameHead; v.Rows != 1 || n > 1279 {
		t.Errorf("%d servers, %d bytes", v.Rows, n)
	}
}
