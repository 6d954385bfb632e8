package quickmatch

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/games"
)

// The addresses of players, and one of them as games write it.
var (
	annAt = netip.MustParseAddr("203.0.113.7")
	bobAt = netip.MustParseAddr("198.51.100.9")
)

// cinfoOf is a CINFO with the values of changes, key and value by turns.
func cinfoOf(changes ...string) string {
	keys := []string{"Widen", "LadID", "LadPass", "PointsMin", "PointsMax", "Points", "Discons", "DisconMax", "NumPlayers", "Pings", "IP", "Side", "Color", "NAT", "EXE", "INI", "Maps"}
	values := map[string]string{
		"Widen": "0", "LadID": "0", "LadPass": "0", "PointsMin": "0", "PointsMax": "0", "Points": "100", "Discons": "0", "DisconMax": "0",
		"NumPlayers": "2", "Pings": "1A", "IP": "-889163513", "Side": "3", "Color": "5", "NAT": "0", "EXE": "11", "INI": "-2", "Maps": "0110",
	}
	for i := 0; i+1 < len(changes); i += 2 {
		values[changes[i]] = changes[i+1]
	}
	text := `\CINFO`
	for _, k := range keys {
		text += `\` + k + `\` + values[k]
	}
	return text
}

// start is when tests of the machine begin.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// newTestMachine returns a machine whose random numbers are 0, with members n0 to n9.
func newTestMachine() *machine {
	m := newMachine(games.QuickGenerals, limits{announce: 30 * time.Second, maxPlayers: 100}, func(int) int { return 0 })
	m.announced = start
	for i := range 10 {
		m.arrive(fmt.Sprint("n", i), netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
	}
	return m
}

func texts(out []send) (list []string) {
	for _, s := range out {
		list = append(list, s.nick+": "+s.text)
	}
	return list
}

func kinds(what []outcome) (list []string) {
	for _, o := range what {
		list = append(list, string(o.kind))
	}
	return list
}

// The example dialogue. It was made from the layout and was not recorded.
func TestDialogue(t *testing.T) {
	m := newMachine(games.QuickGenerals, limits{announce: 30 * time.Second, maxPlayers: 100}, func(n int) int { return n - 1 })
	m.announced = start
	m.arrive("Ann", annAt)
	m.arrive("Bob", bobAt)
	step := func(got []send, what []outcome, want ...string) {
		t.Helper()
		if !slices.Equal(texts(got), want) {
			t.Errorf("sent %q (%v), want %q", texts(got), what, want)
		}
	}
	out, what := m.message("Ann", cinfoOf("Widen", "60", "PointsMin", "50", "PointsMax", "200"), start)
	step(out, what, "Ann: MBOT:WORKING 1")
	out, what = m.message("Bob", cinfoOf("Points", "300", "IP", "3325256713", "Side", "-1", "Color", "2", "NAT", "4", "Maps", "1111"), start.Add(time.Second))
	step(out, what, "Bob: MBOT:WORKING 2")
	out, what = m.tick(start.Add(2 * time.Second))
	step(out, what) // Bob has too many points for Ann
	out, what = m.tick(start.Add(30 * time.Second))
	step(out, what, ": MBOT:POOLSIZE 0 2")
	out, what = m.tick(start.Add(59 * time.Second))
	step(out, what)
	out, what = m.tick(start.Add(60 * time.Second))
	const match = "MBOT:MATCHED 3 2147483646 Ann 3405803783 3 5 0 Bob 3325256713 -1 2 4"
	step(out, what, "Ann: MBOT:WIDENINGSEARCH", "Ann: "+match, "Bob: "+match)
	out, what = m.tick(start.Add(90 * time.Second))
	step(out, what)
	if len(m.waiting) != 0 || len(m.pools) != 0 {
		t.Errorf("%d players and %d pools are left", len(m.waiting), len(m.pools))
	}
}

func TestMatches(t *testing.T) {
	for name, tt := range map[string]struct {
		a, b []string
		want bool
	}{
		"alike":                      {nil, nil, true},
		"other program":              {[]string{"EXE", "12"}, nil, false},
		"other rules":                {nil, []string{"INI", "7"}, false},
		"other ladder":               {[]string{"LadID", "3"}, nil, false},
		"one ladder":                 {[]string{"LadID", "3", "LadPass", "9"}, []string{"LadID", "3", "LadPass", "9"}, true},
		"other password":             {[]string{"LadID", "3", "LadPass", "9"}, []string{"LadID", "3", "LadPass", "8"}, false},
		"other number of players":    {[]string{"NumPlayers", "4"}, nil, false},
		"no common map":              {[]string{"Maps", "1000"}, nil, false},
		"fewer maps":                 {[]string{"Maps", "01"}, nil, true},
		"points at the edge":         {[]string{"PointsMin", "50", "PointsMax", "100"}, []string{"Points", "50"}, true},
		"too few points":             {[]string{"PointsMin", "50"}, []string{"Points", "49"}, false},
		"too many points":            {[]string{"PointsMax", "200"}, []string{"Points", "201"}, false},
		"no points":                  {[]string{"Points", "0"}, []string{"Points", "-5"}, true},
		"disconnections at the edge": {[]string{"DisconMax", "3"}, []string{"Discons", "3"}, true},
		"disconnects too often":      {[]string{"Discons", "4"}, []string{"DisconMax", "3"}, false},
		"far away":                   {[]string{"Pings", "00", "Points", "1"}, []string{"Pings", "FF", "Points", "100"}, false},
		"pings of other hosts":       {[]string{"Pings", "00FF"}, []string{"Pings", "FF"}, true},
		"no pings":                   {[]string{"Pings", ""}, []string{"Pings", ""}, true},
	} {
		m := newTestMachine()
		for i, changes := range [][]string{tt.a, tt.b} {
			if _, what := m.message(fmt.Sprint("n", i), cinfoOf(changes...), start); !slices.Contains(kinds(what), "waiting") {
				t.Fatalf("%s: %v", name, what)
			}
		}
		out, _ := m.tick(start.Add(time.Second))
		if got := len(out) == 2; got != tt.want {
			t.Errorf("%s: sent %q, want a match: %v", name, texts(out), tt.want)
		}
	}
}

// Of several players the one that fits best is taken, and those that came first choose.
func TestBestMatch(t *testing.T) {
	m := newTestMachine()
	for i, points := range []string{"100", "50", "90", "1000"} {
		m.message(fmt.Sprint("n", i), cinfoOf("Points", points, "PointsMin", "20", "PointsMax", "500"), start.Add(time.Duration(i)*time.Second))
	}
	out, _ := m.tick(start.Add(5 * time.Second))
	if got := strings.Join(texts(out), "|"); len(out) != 2 || !strings.Contains(got, "n0 ") || !strings.Contains(got, "n2 ") {
		t.Errorf("sent %s, want a match of n0 and n2", got)
	}
	if m.waiting["n1"] == nil || m.waiting["n3"] == nil {
		t.Error("n1 and n3 no longer wait")
	}
}

func TestMatchOfEight(t *testing.T) {
	m := newTestMachine()
	for i := range 7 {
		m.message(fmt.Sprint("n", i), cinfoOf("NumPlayers", "8"), start)
	}
	m.message("n7", cinfoOf("NumPlayers", "8", "Maps", "1001"), start) // fits none
	if out, _ := m.tick(start.Add(time.Second)); len(out) > 0 {
		t.Errorf("a match of seven: %q", texts(out))
	}
	m.message("n8", cinfoOf("NumPlayers", "8"), start)
	out, _ := m.tick(start.Add(2 * time.Second))
	if len(out) != 8 || strings.Contains(out[0].text, "n7 ") || len(strings.Fields(out[0].text)) != 3+8*5 {
		t.Errorf("sent %q, want a match of all but n7", texts(out))
	}
}

// Eight players: any two of them have a map in common, but not all.
func TestMapsInCommonOfAll(t *testing.T) {
	m := newTestMachine()
	for i, maps := range []string{"110", "011", "101", "111"} {
		m.message(fmt.Sprint("n", i), cinfoOf("NumPlayers", "4", "Maps", maps), start)
	}
	if out, _ := m.tick(start.Add(time.Second)); len(out) > 0 {
		t.Errorf("a match without a common map: %q", texts(out))
	}
	m.message("n2", `\WIDEN`, start)
	out, _ := m.tick(start.Add(2 * time.Second))
	if len(out) != 4 || !strings.HasPrefix(out[0].text, "MBOT:MATCHED 1 0 ") {
		t.Errorf("sent %q, want a match on map 1 after n2 took all maps", texts(out))
	}
}

func TestWiden(t *testing.T) {
	m := newTestMachine()
	out, what := m.message("n0", `\WIDEN`, start)
	if !slices.Equal(texts(out), []string{"n0: MBOT:CANTSENDWIDENNOW"}) || !slices.Equal(kinds(what), []string{"idle"}) {
		t.Errorf("WIDEN without a search: %q, %v", texts(out), what)
	}
	m.message("n0", cinfoOf("PointsMin", "90", "DisconMax", "1", "Maps", "1000"), start)
	m.message("n1", cinfoOf("Points", "60", "Discons", "9"), start)
	m.message("n1", `\WIDEN`, start)
	if out, _ := m.tick(start.Add(time.Second)); len(out) > 0 {
		t.Errorf("only one has widened: %q", texts(out))
	}
	m.message("n0", `\WIDEN`, start)
	if out, _ := m.tick(start.Add(2 * time.Second)); len(out) != 2 {
		t.Errorf("both have widened: %q, want a match", texts(out))
	}
}

func TestRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		text, want string
		kind       outcomeKind
	}{
		"three players":     {cinfoOf("NumPlayers", "3"), "n0: MBOT:BADCINFO", outRefused},
		"no players":        {`\CINFO\Maps\1`, "n0: MBOT:BADCINFO", outRefused},
		"key without value": {`\CINFO\Maps\1\NumPlayers`, "n0: MBOT:BADCINFO", outRefused},
		"words for numbers": {cinfoOf("Points", "many"), "n0: MBOT:BADCINFO", outRefused},
		"number too large":  {cinfoOf("Points", "2147483648"), "n0: MBOT:BADCINFO", outRefused},
		"address too large": {cinfoOf("IP", "4294967296"), "n0: MBOT:BADCINFO", outRefused},
		"too long":          {cinfoOf("Other", strings.Repeat("x", maxCInfo)) + strings.Repeat(`\a\b`, maxCInfo/4), "n0: MBOT:BADCINFO", outRefused},
		"no maps":           {cinfoOf("Maps", "0000"), "n0: MBOT:BADMAPS", outRefused},
		"odd maps":          {cinfoOf("Maps", "0120"), "n0: MBOT:BADMAPS", outRefused},
		"too many maps":     {cinfoOf("Maps", strings.Repeat("1", maxMaps+1)), "n0: MBOT:BADMAPS", outRefused},
		"odd pings":         {cinfoOf("Pings", "1"), "n0: MBOT:BADPINGS", outRefused},
		"no hex":            {cinfoOf("Pings", "xy"), "n0: MBOT:BADPINGS", outRefused},
		"too many pings":    {cinfoOf("Pings", strings.Repeat("00", maxPings+1)), "n0: MBOT:BADPINGS", outRefused},
		"chat":              {"hello", "", outUnknown},
	} {
		m := newTestMachine()
		out, what := m.message("n0", tt.text, start)
		if got := strings.Join(texts(out), "|"); got != tt.want || len(what) != 1 || what[0].kind != tt.kind {
			t.Errorf("%s: sent %q, %v; want %q, %s", name, got, what, tt.want, tt.kind)
		}
		if len(m.waiting) > 0 {
			t.Errorf("%s: the player waits", name)
		}
	}
	for name, text := range map[string]string{
		"most maps": cinfoOf("Maps", strings.Repeat("1", maxMaps)), "most pings": cinfoOf("Pings", strings.Repeat("00", maxPings)), "address without a sign": cinfoOf("IP", "4294967295"),
	} {
		if out, _ := newTestMachine().message("n0", text, start); len(out) != 1 || out[0].text != "MBOT:WORKING 1" {
			t.Errorf("%s: %q", name, texts(out))
		}
	}
}

// Impossible values are reported.
func TestOutcomes(t *testing.T) {
	m := newTestMachine()
	m.arrive("hidden", netip.Addr{})
	for _, tt := range []struct {
		nick, text string
		want       []string
	}{
		{"stranger", cinfoOf(), []string{"outside"}},
		{"n0", cinfoOf("Maps", "1") + `\Rank\3`, []string{"odd_keys", "address", "waiting"}},
		{"n1", cinfoOf("IP", "3221225985"), []string{"waiting"}},
		{"hidden", cinfoOf("IP", "0"), []string{"no_place"}},
		{"hidden", cinfoOf(), []string{"waiting"}},
	} {
		if _, what := m.message(tt.nick, tt.text, start); !slices.Equal(kinds(what), tt.want) {
			t.Errorf("%s %s: %v, want %v", tt.nick, tt.text, what, tt.want)
		}
	}
	// The address of chat counts, not the one that the player says.
	if a := m.waiting["n0"].address; a != netip.MustParseAddr("192.0.2.0") {
		t.Errorf("address of n0: %v, want that of chat", a)
	}
	if a := m.waiting["hidden"].address; a != annAt {
		t.Errorf("address of hidden: %v, want what it says", a)
	}
}

func TestPlayersComeAndGo(t *testing.T) {
	m := newTestMachine()
	m.message("n0", cinfoOf(), start)
	m.rename("n0", "new")
	if m.waiting["new"] == nil || m.waiting["n0"] != nil {
		t.Error("the search did not follow the nick")
	}
	if what := m.leave("new"); !slices.Equal(kinds(what), []string{"left"}) || len(m.waiting) > 0 || len(m.pools) > 0 {
		t.Errorf("after leaving: %v, %d wait", what, len(m.waiting))
	}
	if what := m.leave("n5"); len(what) > 0 {
		t.Errorf("one that did not wait left: %v", what)
	}
	m.rename("absent", "other")
	if _, what := m.message("other", cinfoOf(), start); what[0].kind != outOutside {
		t.Errorf("one that never came: %v", what)
	}
	// A second CINFO begins the search again.
	m.message("n1", cinfoOf("Widen", "10"), start)
	m.message("n1", cinfoOf("Widen", "0"), start)
	if len(m.waiting) != 1 || len(m.pools[m.waiting["n1"].pool]) != 1 {
		t.Errorf("%d wait, in pools %v", len(m.waiting), m.pools)
	}
}

func TestMaxPlayers(t *testing.T) {
	m := newTestMachine()
	m.limits.maxPlayers = 2
	for i := range 3 {
		out, what := m.message(fmt.Sprint("n", i), cinfoOf("LadID", fmt.Sprint(i)), start)
		if full := what[len(what)-1].kind == outFull; full != (i == 2) || len(out) > 0 == full {
			t.Errorf("player %d: %v, %q", i, what, texts(out))
		}
	}
	if _, what := m.message("n0", cinfoOf(), start); what[len(what)-1].kind != outWaiting {
		t.Errorf("one that waits already: %v", what)
	}
}

// An announcement has the largest ladders.
func TestAnnouncement(t *testing.T) {
	m := newTestMachine()
	for i := range maxLadders + 2 {
		nick := fmt.Sprint("l", i)
		m.arrive(nick, annAt)
		m.message(nick, cinfoOf("LadID", fmt.Sprint(i)), start)
	}
	m.message("n0", cinfoOf("LadID", "31", "EXE", "5"), start)
	out, what := m.tick(start.Add(30 * time.Second))
	text := out[len(out)-1].text
	if !strings.HasPrefix(text, "MBOT:POOLSIZE 31 2 0 1 1 1 ") || len(strings.Fields(text)) != 1+2*maxLadders {
		t.Errorf("announced %q", text)
	}
	if last := what[len(what)-1]; last.kind != outLadders || last.detail != "2" {
		t.Errorf("outcomes %v, want 2 ladders left out", what)
	}
}

func FuzzMessage(f *testing.F) {
	f.Add(cinfoOf(), cinfoOf("Maps", "1", "NumPlayers", "8"))
	f.Add(`\WIDEN`, `\CINFO\`)
	f.Fuzz(func(t *testing.T, a, b string) {
		m := newTestMachine()
		now := start
		for range 3 {
			m.message("n0", a, now)
			m.message("n1", b, now)
			now = now.Add(time.Minute)
			out, _ := m.tick(now)
			for _, s := range out {
				if len(s.text) > 512 || strings.ContainsAny(s.text, "\r\n\x00") {
					t.Errorf("sent %q", s.text)
				}
			}
		}
		n := 0
		for p, list := range m.pools {
			n += len(list)
			if len(list) == 0 {
				t.Errorf("pool %v is empty", p)
			}
		}
		if n != len(m.waiting) {
			t.Errorf("%d in pools, %d wait", n, len(m.waiting))
		}
	})
}

func FuzzLine(f *testing.F) {
	f.Add(":Ann!X1lsaFvqsX|1@203.0.113.7 PRIVMSG Bot :\\WIDEN")
	f.Add(":s 352 me #GPG!1 user 192.0.2.1 s Ann H :0 real name")
	f.Fuzz(func(t *testing.T, s string) {
		l, ok := parseLine(s)
		if ok && (l.command == "" || len(l.params) > maxParams) {
			t.Errorf("%q: %+v", s, l)
		}
	})
}
