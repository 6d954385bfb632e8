package quake3

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	for packet, want := range map[string]Kind{
		"heartbeat QuakeArena-1\n":    KindHeartbeat,
		"getinfo abc":                 KindGetInfo,
		"infoResponse\n\\a\\b":        KindInfo,
		"getstatus":                   KindGetStatus,
		"statusResponse\n\\a\\b\n":    KindStatus,
		"getservers 68 full empty":    KindGetServers,
		"getserversExt Xonotic 3":     KindGetServersExt,
		"getserversResponse\\EOT":     KindServers,
		"getserversExtResponse/aaaaa": KindServersExt,
		"print\nhello":                KindOther,
		" heartbeat":                  KindOther,
		"Heartbeat x":                 KindOther,
	} {
		kind, rest, ok := Cut([]byte(prefix + packet))
		if !ok || kind != want {
			t.Errorf("%q: kind %q, %v, want %q", packet, kind, ok, want)
		}
		if !strings.HasSuffix(packet, string(rest)) {
			t.Errorf("%q: the rest is %q", packet, rest)
		}
	}
	for _, packet := range []string{"", "\xff\xff\xff", prefix, "heartbeat x", "\xff\xff\xff\xfeheartbeat x"} {
		if _, _, ok := Cut([]byte(packet)); ok {
			t.Errorf("%q: a message", packet)
		}
	}
}

func TestParseHeartbeat(t *testing.T) {
	for rest, want := range map[string]string{
		" QuakeArena-1\n":                   "QuakeArena-1",
		" DarkPlaces\x0a":                   "DarkPlaces",
		" a":                                "a",
		"  a b c":                           "a",
		" a\x00b":                           "a",
		" a\r\n":                            "a",
		" " + strings.Repeat("x", MaxTag):   strings.Repeat("x", MaxTag),
		" " + strings.Repeat("x", MaxTag+1): "",
		"":                                  "",
		"\n":                                "",
		" \n":                               "",
		" \xff\xfe":                         "\xff\xfe",
		" " + strings.Repeat("x", 2000):     "",
	} {
		got, err := ParseHeartbeat([]byte(rest))
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%.20q: got %.20q, %v", rest, got, err)
		}
	}
	kind, rest, _ := Cut(AppendHeartbeat(nil, "DarkPlaces"))
	if tag, err := ParseHeartbeat(rest); kind != KindHeartbeat || string(tag) != "DarkPlaces" || err != nil {
		t.Errorf("own heartbeat: %q %q %v", kind, tag, err)
	}
}

// openArena is the info of an OpenArena 0.8.8 server, as it was recorded.
const openArena = "\n\\voip\\1\\g_needpass\\0\\pure\\1\\gametype\\0\\sv_maxclients\\8\\g_humanplayers\\0\\clients\\1" +
	"\\mapname\\oa_dm1\\hostname\\^1Red^7 test\\protocol\\71\\gamename\\Quake3Arena\\challenge\\abcdef"

func TestParseInfo(t *testing.T) {
	got, err := ParseInfo([]byte(openArena))
	if err != nil || string(got.Challenge) != "abcdef" || got.Protocol != 71 || string(got.GameType) != "0" ||
		got.Clients != 1 || got.MaxClients != 8 || string(got.GameName) != "Quake3Arena" {
		t.Fatalf("recorded info: %+v, %v", got, err)
	}
	const good = `\challenge\x\protocol\3\sv_maxclients\8\clients\0`
	for name, tc := range map[string]struct {
		text string
		ok   bool
	}{
		"least":                       {good, true},
		"hexadecimal protocol":        {`\challenge\x\protocol\0x42\sv_maxclients\8\clients\0`, true},
		"clients as text":             {`\challenge\x\protocol\3\sv_maxclients\8\clients\many`, true},
		"of two values the first":     {`\challenge\x` + good, true},
		"no challenge":                {`\protocol\3\sv_maxclients\8\clients\0`, false},
		"empty challenge":             {`\challenge\\protocol\3\sv_maxclients\8\clients\0`, false},
		"no protocol":                 {`\challenge\x\sv_maxclients\8\clients\0`, false},
		"protocol with a letter":      {`\challenge\x\protocol\3a\sv_maxclients\8\clients\0`, false},
		"protocol too large":          {`\challenge\x\protocol\4294967296\sv_maxclients\8\clients\0`, false},
		"no room":                     {`\challenge\x\protocol\3\sv_maxclients\0\clients\0`, false},
		"no sv_maxclients":            {`\challenge\x\protocol\3\clients\0`, false},
		"no clients":                  {`\challenge\x\protocol\3\sv_maxclients\8`, false},
		"space in the type":           {good + `\gametype\a b`, false},
		"space in the game":           {good + `\gamename\a b`, false},
		"value of 255":                {`\x\` + strings.Repeat("v", 255) + good, true},
		"value of 256 counts as none": {`\challenge\` + strings.Repeat("v", 256) + good, true},
		"not pairs":                   {"challenge", false},
		"empty":                       {"", false},
	} {
		if _, err := ParseInfo([]byte("\n" + tc.text)); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if i, _ := ParseInfo([]byte(`\challenge\first` + good)); string(i.Challenge) != "first" {
		t.Errorf("of two challenges got %q", i.Challenge)
	}
	if i, _ := ParseInfo([]byte(good)); string(i.GameType) != "0" || i.GameName != nil {
		t.Errorf("without type and name: %+v", i)
	}
}

func TestPairs(t *testing.T) {
	count := func(text string) (n int) {
		for range Pairs([]byte(text)) {
			n++
		}
		return n
	}
	if n := count(strings.Repeat(`\k\v`, MaxPairs)); n != MaxPairs {
		t.Errorf("%d pairs, want %d", n, MaxPairs)
	}
	if n := count(strings.Repeat(`\k\v`, MaxPairs+1)); n != MaxPairs {
		t.Errorf("%d of one pair too many, want %d", n, MaxPairs)
	}
	long := strings.Repeat("x", MaxValue)
	if n := count(`\` + long + `\` + long); n != 1 {
		t.Error("a pair of the longest key and value is left out")
	}
	if n := count(`\` + long + `x\v\k\` + long + `x\a\b`); n != 1 {
		t.Errorf("%d pairs beside two that are too long, want 1", n)
	}
	for text, want := range map[string]int{`\a`: 1, `\a\`: 1, `\\b`: 0, `\a\b\`: 1, "\\a\\b\n\\c\\d": 1, "a\\b": 0} {
		if n := count(text); n != want {
			t.Errorf("%q: %d pairs, want %d", text, n, want)
		}
	}
}

func TestRules(t *testing.T) {
	got := maps.Collect(Rules(Pairs([]byte(openArena))))
	for name, want := range map[string]string{
		"hostname": "^1Red^7 test", "mapname": "oa_dm1", "numplayers": "1", "maxplayers": "8", "password": "0", "gametype": "0",
		"protocol": "71", "numbots": "1", "voip": "1", "challenge": "", "clients": "", "sv_maxclients": "",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	for name, value := range Rules(Pairs([]byte(`\sv_hostname\n\g_gametype\4\clients\1\g_humanplayers\2`))) {
		if name == RuleBots {
			t.Errorf("%s bots with more humans than players", value)
		}
	}
}

func TestParseStatus(t *testing.T) {
	const packet = "\n\\sv_hostname\\Inn\\mapname\\q3dm17\n12 48 \"^1Ann\"\n-3 999 \"Bob \"the\" Builder\"\n1 2 \"team\" \"x\"\nnonsense\n1 x \"no\"\n1 2\n"
	s, err := ParseStatus([]byte(packet))
	if err != nil || string(s.Text) != `\sv_hostname\Inn\mapname\q3dm17` {
		t.Fatalf("%q, %v", s.Text, err)
	}
	var got []string
	for _, p := range s.Players {
		got = append(got, string(p.Name))
	}
	if want := []string{"^1Ann", `Bob "the" Builder`, `team" "x`}; !slices.Equal(got, want) {
		t.Errorf("players %q, want %q", got, want)
	}
	if p := s.Players[1]; p.Score != -3 || p.Ping != 999 {
		t.Errorf("second player %+v", p)
	}
	for n, want := range map[int]int{MaxPlayers: MaxPlayers, MaxPlayers + 1: MaxPlayers} {
		s, err := ParseStatus([]byte("\n\\a\\b\n" + strings.Repeat("0 0 \"n\"\n", n)))
		if err != nil || len(s.Players) != want {
			t.Errorf("%d of %d players, %v", len(s.Players), n, err)
		}
	}
	for _, bad := range []string{"", "\n", "\nx"} {
		if _, err := ParseStatus([]byte(bad)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	own := AppendStatus(nil, s.Players[:2], "a", "b")
	_, rest, _ := Cut(own)
	if again, err := ParseStatus(rest); err != nil || len(again.Players) != 2 || !bytes.Equal(again.Players[1].Name, s.Players[1].Name) {
		t.Errorf("own status: %+v, %v", again, err)
	}
}

func TestParseRequest(t *testing.T) {
	type want struct {
		game, kind  string
		protocol    int
		empty, full bool
		ip4, ip6    bool
	}
	for text, w := range map[string]want{
		"getservers 68":                                     {protocol: 68},
		"getservers 68\n":                                   {protocol: 68},
		"getservers 68 empty full demo":                     {protocol: 68, empty: true, full: true},
		"getservers Xonotic 3 full":                         {game: "Xonotic", protocol: 3, full: true},
		"getservers 3abc 7":                                 {game: "3abc", protocol: 7},
		"getservers 71 ffa":                                 {protocol: 71, kind: "0"},
		"getservers 71 ctf gametype=9":                      {protocol: 71, kind: "9"},
		"getservers 71 gametype=9 tourney":                  {protocol: 71, kind: "1"},
		"getservers 71 team\x00empty":                       {protocol: 71, kind: "3"},
		"getservers -1":                                     {protocol: -1},
		"getserversExt Quake3Arena 68 ipv6":                 {game: "Quake3Arena", protocol: 68, ip6: true},
		"getserversExt et 84 ipv4 empty":                    {game: "et", protocol: 84, ip4: true, empty: true},
		"getserversExt 7 7":                                 {game: "7", protocol: 7},
		"getservers " + strings.Repeat("g", MaxGame) + " 1": {game: strings.Repeat("g", MaxGame), protocol: 1},
	} {
		kind, rest, _ := Cut([]byte(prefix + text))
		r, err := ParseRequest(rest, kind == KindGetServersExt)
		got := want{string(r.Game), string(r.GameType), r.Protocol, r.Empty, r.Full, r.IPv4, r.IPv6}
		if err != nil || got != w {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, w)
			continue
		}
		_, rest, _ = Cut(r.AppendTo(nil))
		again, err := ParseRequest(rest, r.Ext)
		if got := (want{string(again.Game), string(again.GameType), again.Protocol, again.Empty, again.Full, again.IPv4, again.IPv6}); err != nil || got != w {
			t.Errorf("%q written again: %+v, %v", text, got, err)
		}
	}
	for _, bad := range []string{
		"getservers", "getservers ", "getservers x", "getservers x y", "getservers Xonotic", "getservers\n68", "getserversExt 68",
		"getservers 99999999999", "getservers " + strings.Repeat("g", MaxGame+1) + " 1", "getservers  68",
	} {
		kind, rest, _ := Cut([]byte(prefix + bad))
		if r, err := ParseRequest(rest, kind == KindGetServersExt); err == nil && bad != "getservers  68" {
			t.Errorf("%.40q: %+v", bad, r)
		}
	}
	options := strings.Repeat(" x", maxOptions-1)
	if r, _ := ParseRequest([]byte(" 68"+options+" full"), false); !r.Full {
		t.Error("the last option that is read is left out")
	}
	if r, _ := ParseRequest([]byte(" 68"+options+" x full"), false); r.Full {
		t.Error("one option too many is read")
	}
}

func TestChallenge(t *testing.T) {
	for rest, want := range map[string]string{" abc": "abc", " abc\n": "abc", "": "", " ": "", " a b": "a"} {
		if got := Challenge([]byte(rest)); string(got) != want {
			t.Errorf("%q: %q, want %q", rest, got, want)
		}
	}
	if got := string(AppendGetInfo(nil, []byte("abc"))); got != prefix+"getinfo abc" {
		t.Errorf("getinfo: %q", got)
	}
	if got := string(AppendGetStatus(nil, []byte("abc"))); got != prefix+"getstatus abc" {
		t.Errorf("getstatus: %q", got)
	}
}
