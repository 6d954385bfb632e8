package quake2

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
)

// exchange is a recorded question with its answer, in hex.
type exchange struct{ Ask, Reply string }

func recorded(t testing.TB) (all map[string][]exchange) {
	t.Helper()
	b, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	delete(raw, "about")
	all = make(map[string][]exchange)
	for name, text := range raw {
		var list []exchange
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(err)
		}
		all[name] = list
	}
	return all
}

func bytesOf(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRecordedStatus(t *testing.T) {
	all := recorded(t)
	for _, x := range all["status"] {
		if k, _, _ := Cut(bytesOf(t, x.Ask)); k != KindStatus {
			t.Errorf("%s is of kind %d", x.Ask, k)
		}
		kind, rest, _ := Cut(bytesOf(t, x.Reply))
		s, err := ParseStatus(rest)
		if kind != KindPrint || err != nil || s.Get("hostname") != "Test Q2" || s.Get("mapname") != "q2dm1" || s.Get("maxplayers") != "16" || s.Get("numplayers") != "2" {
			t.Errorf("kind %d, status %+v, %v", kind, s, err)
		}
		if got := fmt.Sprint(s.Players); got != "[{player 1 3 5} {Big Joe -4 60}]" || s.Game(27910) != "quake2" {
			t.Errorf("players %s of %s", got, s.Game(27910))
		}
	}
	for _, x := range all["world_status"] {
		s, ok, err := ParseWorldStatus(bytesOf(t, x.Reply))
		if !ok || err != nil || s.Get("hostname") != "Test QW" || s.Get("mapname") != "dm6" || s.Get("maxplayers") != "8" || s.WorldGame() != "quakeworld" {
			t.Errorf("status %+v, %v, %v", s, ok, err)
		}
		if got := fmt.Sprint(s.Players); got != "[{Alpha 12 38}]" || s.Get("numspectators") != "1" {
			t.Errorf("players %s, %s watch", got, s.Get("numspectators"))
		}
	}
}

func TestRecordedLists(t *testing.T) {
	all := recorded(t)
	for _, x := range all["list"] {
		if k, _, ok := Cut(bytesOf(t, x.Ask)); k != KindQuery || !ok {
			t.Errorf("%s is of kind %d", x.Ask, k)
		}
		list, ok, err := ParseList(nil, bytesOf(t, x.Reply))
		if got := hex.EncodeToString(AppendList(nil, list)); !ok || err != nil || got != x.Reply {
			t.Errorf("%v, %v: list %s, want %s", ok, err, got, x.Reply)
		}
	}
	for _, x := range all["world_list"] {
		list, ok, err := ParseWorldList(nil, bytesOf(t, x.Reply))
		if got := hex.EncodeToString(AppendWorldList(nil, list)); !ok || err != nil || got != x.Reply || x.Ask != hex.EncodeToString([]byte(AskWorld)) {
			t.Errorf("%v, %v: list %s, want %s", ok, err, got, x.Reply)
		}
	}
	many := slices.Repeat([]netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:27910"), netip.MustParseAddrPort("[2001:db8::1]:1")}, 300)
	b := AppendList(nil, many)
	if list, _, _ := ParseList(nil, b); len(list) != MaxEntries || len(b) > 1400 {
		t.Errorf("%d servers in %d bytes", len(list), len(b))
	}
}

// Quake III's family has some of the words.
func TestCut(t *testing.T) {
	for text, want := range map[string]Kind{
		"query": KindQuery, "query\n": KindQuery, "query\n\x00": KindQuery, "query\x00": KindQuery, prefix + "query": KindQuery, prefix + "getservers": KindQuery,
		prefix + "GETSERVERS\n": KindQuery, prefix + "ping": KindPing, prefix + "ack\x00": KindAck, prefix + "shutdown": KindShutdown,
		prefix + "heartbeat\n\\a\\b": KindHeartbeat, prefix + "Heartbeat\n\\a\\b": KindHeartbeat, prefix + "status 23\n": KindStatus, prefix + "print\n\\a": KindPrint,
	} {
		if k, _, ok := Cut([]byte(text)); k != want || !ok {
			t.Errorf("%q is of kind %d, %v; want %d", text, k, ok, want)
		}
	}
	for _, text := range []string{"", "quer", "queryx", "query a", "ping", prefix, prefix + "heartbeat QuakeArena-1\n", prefix + "heartbeat\n", prefix + "getservers 68 empty", prefix + "getinfo x", prefix + "infoResponse\n\\a"} {
		if k, _, ok := Cut([]byte(text)); ok {
			t.Errorf("%q is of kind %d", text, k)
		}
	}
}

func TestGame(t *testing.T) {
	for text, want := range map[string]string{
		`\hostname\x\version\Kingpin 1.21`: "kingpin", `\hostname\x\gamename\Monkey Mod v2.1`: "kingpin", `\hostname\x\version\Alien Arena 7`: "alienarena", `\hostname\x`: "sin",
	} {
		if s, err := ParseStatus([]byte("\n" + text)); err != nil || s.Game(22450) != want {
			t.Errorf("%s is of %s, %v; want %s", text, s.Game(22450), err, want)
		}
	}
	for version, want := range map[string]string{"QTV 1.14": "qtv", "qwfwd 1.2": "qwfwd", "MVDSV 0.36": "quakeworld"} {
		if s, _, err := ParseWorldStatus([]byte(worldStatus + `\map\dm6\*version\` + version)); err != nil || s.WorldGame() != want {
			t.Errorf("%s is of %s, %v; want %s", version, s.WorldGame(), err, want)
		}
	}
	if got := Text([]byte("\xc1b\x12\x9b\x10\x11\x01\n")); got != "Ab09[]" {
		t.Errorf("text %q", got)
	}
}

// FuzzMessage reads a packet as every kind of message.
func FuzzMessage(f *testing.F) {
	for _, list := range recorded(f) {
		for _, x := range list {
			f.Add(bytesOf(f, x.Ask))
			f.Add(bytesOf(f, x.Reply))
		}
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		check := func(s Status, err error) {
			if err == nil && (len(s.Names) != len(s.Values) || strings.ContainsFunc(strings.Join(s.Values, ""), func(r rune) bool { return r < ' ' || r > '~' })) {
				t.Errorf("status %+v", s)
			}
		}
		if _, rest, ok := Cut(p); ok {
			check(ParseStatus(rest))
		}
		for _, form := range []Form{World, Hexen} {
			if k, _, ok := form.Cut(p); ok && (k == KindOther || k > KindQuery) {
				t.Errorf("form %d: kind %d", form, k)
			}
		}
		if list, _, _ := Hexen.ParseList(nil, p); 6*len(list) > 2*len(p)+MaxPacket {
			t.Errorf("%d servers in %d bytes", len(list), len(p))
		}
		s, _, err := ParseWorldStatus(p)
		check(s, err)
		list, _, _ := ParseList(nil, p)
		world, _, _ := ParseWorldList(nil, p)
		if 6*max(len(list), len(world)) > len(p) {
			t.Errorf("%d and %d servers in %d bytes", len(list), len(world), len(p))
		}
	})
}
