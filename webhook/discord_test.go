package webhook

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/colour"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/storage"
)

// server returns a server with a name and a map, as events have it.
func server(t testing.TB, name, area string) *Server {
	t.Helper()
	at := netip.MustParseAddrPort("192.0.2.1:6500")
	s := master.Server{Origin: qr2.Origin, Key: master.Key{Source: at}, Public: at, Game: "gmtest"}
	var rep master.Report
	for _, v := range []string{name, area, "3", "16"} {
		rep.Rule([]byte(v))
	}
	rep.SetRules(master.NewRegistry(master.Limits{}).Names([]string{"hostname", "mapname", "numplayers", "maxplayers"}))
	if err := rep.Into(&s); err != nil {
		t.Fatal(err)
	}
	return describe(&s, "Test game", colour.Quake)
}

// decodeMessage reads a message strictly.
func decodeMessage(t testing.TB, body []byte) message {
	t.Helper()
	var m message
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		t.Fatalf("message %s: %v", body, err)
	}
	if m.Mentions.Parse == nil || len(m.Mentions.Parse) != 0 || !strings.Contains(string(body), `"allowed_mentions":{"parse":[]}`) {
		t.Errorf("message %s may mention a user", body)
	}
	return m
}

func TestDiscordLines(t *testing.T) {
	s := server(t, "Inn", "deck")
	until := time.Date(2030, 1, 2, 3, 4, 0, 0, time.UTC)
	ban := describeBan(storage.Ban{Prefix: netip.MustParsePrefix("192.0.2.0/24"), Scope: storage.ScopeLists, Reason: "fakes", Expires: until})
	body, told := encodeDiscord([]Event{
		{Kind: ServerUp, Server: s},
		{Kind: ServerDown, Server: s},
		{Kind: PlayersHigh, Server: s},
		{Kind: PlayersLow, Server: s},
		{Kind: BanAdded, Ban: ban},
		{Kind: BanRemoved, Ban: ban},
		{Kind: Test},
	})
	const it = "**Inn** (Test game) at `192.0.2.1:6500`, 3/16 players, map deck"
	want := strings.Join([]string{
		"Up: " + it, "Down: " + it, "Busy: " + it, "Quiet: " + it,
		"Banned: `192.0.2.0/24` from lists until 2030-01-02 03:04 UTC: fakes", "Ban over: `192.0.2.0/24` from lists until 2030-01-02 03:04 UTC: fakes",
		"This is a test of respawnd. All is well.",
	}, "\n")
	if got := decodeMessage(t, body); got.Content != want || told != 7 || got.Flags != suppressEmbeds {
		t.Errorf("message about %d:\n got %s\nwant %s", told, got.Content, want)
	}
}

func TestDiscordEscapes(t *testing.T) {
	for name, want := range map[string]string{
		"@everyone":                 `\@everyone`,
		"<@123> <@&5> <#7>":         `\<\@123\> \<\@\&5\> \<\#7\>`,
		"**x** `y` ~~z~~ ||w|| _v_": "\\*\\*x\\*\\* \\`y\\` \\~\\~z\\~\\~ \\|\\|w\\|\\| \\_v\\_",
		"[a](https://x.example)":    `\[a\]\(https\:\/\/x\.example\)`,
		"a\n# b":                    `a\# b`,
		"^1The ^2*Inn*":             `The \*Inn\*`,
		"\x1b[31mred\u202e\u200b":   `\[31mred`,
		`back\slash`:                `back\\slash`,
		"":                          "no name",
		"\u200b\u202e":              "no name",
	} {
		got := discordLine(Event{Kind: ServerUp, Server: server(t, name, "")})
		if want := "Up: **" + want + "** ("; !strings.HasPrefix(got, want) {
			t.Errorf("name %q: %q, want %q in front", name, got, want)
		}
	}
}

func TestDiscordLimit(t *testing.T) {
	var events []Event
	for range maxEvents {
		events = append(events, Event{Kind: ServerUp, Server: server(t, strings.Repeat("*", 500), strings.Repeat("_", 500))})
	}
	requests, told := 0, 0
	for len(events) > 0 {
		body, n := encodeDiscord(events)
		m := decodeMessage(t, body)
		if got := utf8.RuneCountInString(m.Content); got > maxContent || n < 1 || strings.Count(m.Content, "\n") != n-1 {
			t.Fatalf("a message about %d has %d characters, want at most %d", n, got, maxContent)
		}
		requests, told, events = requests+1, told+n, events[n:]
	}
	if requests < 2 || told != maxEvents {
		t.Errorf("%d events in %d messages, want all in several", told, requests)
	}
}

func FuzzDiscord(f *testing.F) {
	for _, s := range []string{"", "@everyone", "\\", "`", "**", "\x1b[31m", "\u202e", "\xff", "a\nb"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, name, area string) {
		body, told := encodeDiscord([]Event{{Kind: ServerUp, Server: server(t, name, area)}})
		content := decodeMessage(t, body).Content
		if told != 1 || strings.ContainsFunc(content, clean.IsHidden) || utf8.RuneCountInString(content) > maxContent {
			t.Errorf("name %q, map %q: %q", name, area, content)
		}
		// Without the escaped characters, only our own marks are left.
		plain := content
		for i := strings.IndexByte(plain, '\\'); i >= 0; i = strings.IndexByte(plain, '\\') {
			_, size := utf8.DecodeRuneInString(plain[i+1:])
			plain = plain[:i] + plain[i+1+size:]
		}
		if strings.Count(plain, "*") != 4 || strings.Count(plain, "`") != 2 || strings.ContainsAny(plain, "_~|<>#@[]") {
			t.Errorf("name %q, map %q: %q formats something", name, area, content)
		}
	})
}
