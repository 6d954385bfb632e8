package legacylist

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/views"
	"github.com/respawnd/respawnd/qr2"
)

// three lists a server of each of three origins and one of another game.
func three(t testing.TB, reg *master.Registry) []string {
	t.Helper()
	put(t, reg, "gmtest", "192.0.2.10:6500", qr2.Origin, "hostname", "Alpha", "numplayers", "5", "groupid", "2157")
	put(t, reg, "gmtest", "192.0.2.11:7778", qr2.OldOrigin, "hostname", `B\e\final\ta`, "numplayers", "0", "mapname", "Deck")
	put(t, reg, "gmtest", "192.0.2.12:27910", master.Static, "hostname", "Final", "numplayers", "3", "groupid", "2157")
	put(t, reg, "open", "192.0.2.13:6500", qr2.Origin, "hostname", "not mine")
	return []string{"192.0.2.10:6500", "192.0.2.11:7778", "192.0.2.12:27910"}
}

func TestListModes(t *testing.T) {
	f := start(t, nil)
	want := three(t, f.reg)
	put(t, f.reg, "gmtest", "[2001:db8::1]:6500", qr2.Origin, "hostname", "of another family")
	put(t, f.reg, "gmtest", "192.0.2.14:27015", master.Static, "hostname", "of A2S", master.RuleAppID, "10", master.RuleServerType, "dedicated")
	for enctype := range 3 {
		t.Run(fmt.Sprintf("plain, enctype %d", enctype), func(t *testing.T) {
			got := addressesOf(t, f.connect(t).ask(request(func(r *Request) { r.Enctype = enctype })))
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("servers (-want +got):\n%s", d)
			}
		})
		t.Run(fmt.Sprintf("cmp, enctype %d", enctype), func(t *testing.T) {
			list := f.connect(t).ask(request(func(r *Request) { r.Enctype, r.Mode = enctype, Compact }))
			servers, err := ParseCompact([]byte(list))
			if d := cmp.Diff(want, sorted(servers)); d != "" || err != nil {
				t.Errorf("servers, %v (-want +got):\n%s", err, d)
			}
			if got, want := strings.HasSuffix(list, `\final\`), enctype != 1; got != want {
				t.Errorf("list %q: end mark: %v, want %v", list, got, want)
			}
		})
		t.Run(fmt.Sprintf("info2, enctype %d", enctype), func(t *testing.T) {
			got := tableOf(t, f.connect(t).ask(request(func(r *Request) { r.Enctype, r.Mode = enctype, Info })))
			names := make(map[string]string)
			for ip, row := range got {
				names[ip] = row["hostname"] + ", " + row["numplayers"] + ", " + row["mapname"]
			}
			if d := cmp.Diff(map[string]string{
				want[0]: "Alpha, 5, ", want[1]: "B.e.final.ta, 0, Deck", want[2]: "Final., 3, ",
			}, names); d != "" {
				t.Errorf("table (-want +got):\n%s", d)
			}
		})
	}
}

func TestRooms(t *testing.T) {
	f := start(t, func(o *Options) {
		o.Rooms = func(game string) []games.Room {
			return []games.Room{{ID: 9, Name: "Room of " + game}, {ID: 2158, Name: "twice"}}
		}
		o.Waiting = func(id uint32) int { return map[uint32]int{9: 12}[id] }
	})
	three(t, f.reg)
	got := f.connect(t).ask(request(func(r *Request) { r.Mode = Groups }))
	want := `\fieldcount\8\groupid\hostname\numplayers\maxwaiting\numwaiting\numservers\password\` + "other" +
		`\2157\Lobby . 1\8\50\0\2\1\` + "\x01roomtype\x01casual\x01lang\x01de" +
		`\2158\final.\0\100\0\0\\` +
		`\9\Room of gmtest\0\100\12\0\\\final\`
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rooms (-want +got):\n%s", d)
	}
	got = f.connect(t).ask(request(func(r *Request) { r.Mode, r.Filter = Groups, "numservers > 0 and roomtype = 'casual'" }))
	if rows := tableOf(t, got); len(rows) != 1 || rows["2157"] == nil {
		t.Errorf("rooms with servers: %v, want 2157 alone", rows)
	}
}

func TestListWithoutEntriesIsTheEndMarkAlone(t *testing.T) {
	f := start(t, nil)
	three(t, f.reg)
	for name, change := range map[string]func(*Request){
		"no servers":              func(r *Request) { r.Game = "empty" },
		"no rooms":                func(r *Request) { r.Game = "empty"; r.Mode = Groups },
		"unknown game":            func(r *Request) { r.Game = "never heard of" },
		"filter fits none":        func(r *Request) { r.Filter = "numplayers > 100" },
		"filter fits no room":     func(r *Request) { r.Filter = "groupid = 1"; r.Mode = Groups },
		"table, filter fits none": func(r *Request) { r.Filter = "numplayers > 100"; r.Mode = Info },
	} {
		for _, mode := range []Mode{Plain, Compact} {
			for enctype := range 3 {
				got := f.connect(t).ask(request(func(r *Request) { r.Mode, r.Enctype = mode, enctype; change(r) }))
				if got != `\final\` {
					t.Errorf("%s, mode %q, enctype %d: got %q, want the end mark alone", name, mode, enctype, got)
				}
			}
		}
	}
}

func TestAddressLikeTheEndMark(t *testing.T) {
	f := start(t, nil)
	a := netip.AddrPortFrom(netip.AddrFrom4([4]byte([]byte(`\fin`))), uint16('a')<<8|'l')
	put(t, f.reg, "gmtest", a.String(), qr2.Origin)
	put(t, f.reg, "gmtest", netip.AddrPortFrom(a.Addr(), a.Port()+2).String(), qr2.Origin)
	list := f.connect(t).ask(request(func(r *Request) { r.Mode = Compact }))
	if servers, err := ParseCompact([]byte(list)); err != nil || len(servers) != 1 {
		t.Errorf("list %q: %v, %v, want the other port alone", list, servers, err)
	}
}

func TestFilter(t *testing.T) {
	f := start(t, nil)
	three(t, f.reg)
	for text, want := range map[string][]string{
		"(numplayers > 0)":               {"192.0.2.10:6500", "192.0.2.12:27910"},
		"hostname like 'a%'":             {"192.0.2.10:6500"},
		"country = 'DE' and mapname<>''": {"192.0.2.11:7778"},
		"numplayers >":                   {"192.0.2.10:6500", "192.0.2.11:7778", "192.0.2.12:27910"}, // ignored
	} {
		got := addressesOf(t, f.connect(t).ask(request(func(r *Request) { r.Filter = text })))
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("filter %s (-want +got):\n%s", text, d)
		}
	}
	if got := metrictest.Value(t, f.metrics, "respawnd_legacylist_filters_ignored_total"); got != 1 {
		t.Errorf("%v filters ignored, want 1", got)
	}
}

func TestGreeting(t *testing.T) {
	f := start(t, nil)
	seen := make(map[string]bool)
	for range 20 {
		c := f.connect(t)
		if strings.Trim(c.challenge, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			t.Errorf("challenge %q, want capitals", c.challenge)
		}
		seen[c.challenge] = true
		// Nothing may follow: clients read fixed offsets. The next bytes are the list.
		if list := c.ask(request(nil)); list != `\final\` {
			t.Errorf("behind the greeting: %q, want an empty list", list)
		}
	}
	if len(seen) < 20 {
		t.Errorf("%d different challenges of 20", len(seen))
	}
}

func TestValidation(t *testing.T) {
	const right, wrong = "right", "12345678"
	tests := map[string]struct {
		strict  bool
		engine  string
		secret  string // to answer with
		answer  string
		enctype int
		wanted  string
		refused string // reason; empty: served
	}{
		"right":                             {false, "gmtest", testSecret, right, 0, "gmtest", ""},
		"right with another known secret":   {false, "gmtest", "tG3j8c", right, 2, "gmtest", ""},
		"constant of a tool":                {false, "gamespy2", "", wrong, 0, "gmtest", ""},
		"tool that is not in the catalogue": {false, "nosuchtool", "", wrong, 0, "gmtest", ""},
		"no answer":                         {false, "gmtest", "", "", 0, "gmtest", ""},
		"enctype 1, wrong":                  {false, "gmtest", "", wrong, 1, "gmtest", "validation"},
		"enctype 2, wrong":                  {false, "gmtest", "", wrong, 2, "gmtest", "validation"},
		"enctype 1, right":                  {true, "gmtest", testSecret, right, 1, "gmtest", ""},
		"enctype 2, seven characters":       {false, "unreal2", "Yel30yU", right, 2, "gmtest", ""},
		"enctype 2, six of seven":           {false, "unreal2", "Yel30y", right, 2, "gmtest", ""},
		"enctype 2, game without secret":    {false, "nokey", "", wrong, 2, "gmtest", "no_secret"},
		"enctype 2, unknown game":           {false, "nosuchtool", "", wrong, 2, "gmtest", "no_secret"},
		"strict service":                    {true, "gamespy2", "", wrong, 0, "gmtest", "validation"},
		"strict service, right":             {true, "gamespy2", "d4kZca", right, 0, "gmtest", ""},
		"strict service, open game":         {true, "gamespy2", "", wrong, 0, "open", ""},
		"strict game":                       {false, "gamespy2", "", wrong, 0, "locked", "validation"},
		"strict game, right":                {false, "gamespy2", "d4kZca", right, 0, "locked", ""},
		"open game, enctype 1":              {false, "gmtest", "", wrong, 1, "open", "validation"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := start(t, func(o *Options) { o.StrictValidate = tt.strict })
			put(t, f.reg, tt.wanted, "192.0.2.10:6500", qr2.Origin)
			c := f.connect(t)
			if tt.answer == right {
				tt.answer = string(gamespy.AppendValidate(nil, tt.enctype, tt.secret, c.challenge))
			}
			c.say(fmt.Sprintf(`\gamename\%s\validate\%s\enctype\%d\final\\queryid\1.1\\list\\gamename\%s\final\`, tt.engine, tt.answer, tt.enctype, tt.wanted))
			got := c.rest()
			if tt.refused != "" {
				want := `\fatal\1\error\Validation error\final\`
				if tt.enctype == 0 {
					want = `\final\`
				}
				if got != want || metrictest.Dropped(t, f.metrics, tt.refused) != 1 {
					t.Errorf("got %q, counted as %s: %d, want %q and once", got, tt.refused, metrictest.Dropped(t, f.metrics, tt.refused), want)
				}
				return
			}
			list, err := Request{Enctype: tt.enctype, Secret: tt.secret}.Decode(c.challenge, []byte(got))
			if err != nil || string(list) != `\ip\192.0.2.10:6500\final\` {
				t.Errorf("got %q, %v, want the list", list, err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	hello := `\gamename\gmtest\enctype\1\validate\` + "VALIDATE" + `\final\\queryid\1.1\`
	tests := map[string]struct {
		text, said, reason string
	}{
		"enctype 3":            {`\gamename\gmtest\enctype\3\final\\list\\gamename\gmtest\final\`, "Unknown enctype", "bad_enctype"},
		"enctype of a word":    {`\gamename\gmtest\enctype\x\final\\list\\gamename\gmtest\final\`, "Unknown enctype", "bad_enctype"},
		"negative enctype":     {`\gamename\gmtest\enctype\-1\final\\list\\gamename\gmtest\final\`, "Unknown enctype", "bad_enctype"},
		"broken filter":        {hello + `\list\cmp\gamename\gmtest\where\a = = 1\final\`, "Query error", "bad_filter"},
		"filter of 1025 bytes": {hello + `\list\cmp\gamename\gmtest\where\` + strings.Repeat("x", 1025) + `\final\`, "Query error", "bad_filter"},
		"filter of 64 KiB":     {hello + `\list\cmp\gamename\gmtest\where\` + strings.Repeat("x", 64<<10) + `\final\`, "Request too long", "too_long"},
		"endless text":         {hello + strings.Repeat("x", 10_000), "Request too long", "too_long"},
		"endless messages":     {hello + strings.Repeat(`\x\y\final\`, 1000), "Request too long", "too_long"},
		"endless NULs":         {hello + strings.Repeat("\x00", 10_000), "Request too long", "too_long"},
		"as it is":             {strings.Replace(hello, `\enctype\1`, "", 1) + strings.Repeat("x", 10_000), "", "too_long"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := start(t, func(o *Options) { o.LenientFilter = false })
			three(t, f.reg)
			c := f.connect(t)
			c.say(strings.Replace(tt.text, "VALIDATE", string(gamespy.AppendValidate(nil, 1, testSecret, c.challenge)), 1))
			want := `\final\`
			if tt.said != "" {
				want = `\fatal\1\error\` + tt.said + want
			}
			if got := c.rest(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if got := metrictest.Dropped(t, f.metrics, tt.reason); got != 1 {
				t.Errorf("%s counted %d times, want once", tt.reason, got)
			}
		})
	}
}

func TestFilterTooLong(t *testing.T) {
	f := start(t, nil)
	got := f.connect(t)
	got.say(`\list\cmp\gamename\gmtest\where\` + strings.Repeat("x", 1025) + `\final\`)
	if got := got.rest(); got != `\final\` || metrictest.Dropped(t, f.metrics, "bad_filter") != 1 {
		t.Errorf("got %q, counted %d times, want a refusal", got, metrictest.Dropped(t, f.metrics, "bad_filter"))
	}
}

func TestTooExpensiveFilterIsRefused(t *testing.T) {
	f := start(t, nil)
	long := strings.Repeat("a", 30_000)
	for i := range 200 {
		put(t, f.reg, "gmtest", fmt.Sprintf("192.0.2.%d:6500", i), qr2.Origin, "hostname", long)
	}
	for range 2 { // the second one at once, without trying
		c := f.connect(t)
		c.say(`\list\cmp\gamename\gmtest\where\` + strings.Repeat("hostname like '%a%b' or ", 20) + `1=2\final\`)
		if got := c.rest(); got != `\final\` {
			t.Errorf("got %.60q, want a refusal", got)
		}
	}
	if got := metrictest.Dropped(t, f.metrics, "too_expensive"); got != 2 {
		t.Errorf("counted %d times, want 2", got)
	}
	if got := addressesOf(t, f.connect(t).ask(request(nil))); len(got) != 200 {
		t.Errorf("%d servers without filter, want 200", len(got))
	}
}

func TestListWhileBusy(t *testing.T) {
	f := start(t, nil)
	three(t, f.reg)
	other := &view{views.Text{Bytes: make([]byte, views.TextOptions(nil).SendingBytes)}}
	if err := f.srv.views.Begin(other); err != nil {
		t.Fatal(err)
	}
	c := f.connect(t)
	c.say(`\list\cmp\gamename\gmtest\final\`)
	if got := c.rest(); got != `\final\` || metrictest.Dropped(t, f.metrics, "busy") != 1 {
		t.Errorf("got %q, counted %d times, want a refusal", got, metrictest.Dropped(t, f.metrics, "busy"))
	}
	f.srv.views.End(other)
	if got := addressesOf(t, f.connect(t).ask(request(nil))); len(got) != 3 {
		t.Errorf("%d servers when there is room again, want 3", len(got))
	}
}

func TestTextOf5000BytesIsRead(t *testing.T) {
	f := start(t, nil)
	three(t, f.reg)
	const ask = `\list\\gamename\gmtest\final\`
	fits := strings.Repeat("x", maxText-len(ask)) + ask
	c := f.connect(t)
	c.say(fits)
	if got := addressesOf(t, c.rest()); len(got) != 3 {
		t.Errorf("%d servers for %d bytes, want 3", len(got), len(fits))
	}
	c = f.connect(t)
	c.say("x" + fits)
	if got := c.rest(); got != `\final\` {
		t.Errorf("%d bytes: got %q, want a refusal", len(fits)+1, got)
	}
}

func TestBannedAddressGetsNoGreeting(t *testing.T) {
	f := start(t, func(o *Options) { o.Banned = func(a netip.Addr) bool { return a.IsLoopback() } })
	c, err := f.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if got, err := io.ReadAll(c); len(got) > 0 || err != nil {
		t.Errorf("read %q, %v, want the connection closed", got, err)
	}
	if got := metrictest.Dropped(t, f.metrics, "banned"); got != 1 {
		t.Errorf("counted %d times, want once", got)
	}
}

func TestSecondList(t *testing.T) {
	f := start(t, nil)
	three(t, f.reg)
	put(t, f.reg, "unreal", "192.0.2.99:6500", qr2.OldOrigin)
	c := f.connect(t)
	c.say(`\gamename\gmtest\final\` + strings.Repeat(`\list\\gamename\gmtest\final\\list\cmp\gamename\unreal\final\`, 5))
	if got := addressesOf(t, c.rest()); len(got) != 3 {
		t.Errorf("servers %v, want the first list alone", got)
	}
	if got := metrictest.Dropped(t, f.metrics, "pipelined_list"); got != 1 {
		t.Errorf("counted %d times, want once", got)
	}
}

// TestBytesAfterRequest checks that data after the request does not destroy the
// list: the system discards sent data when a socket with unread data is closed.
func TestBytesAfterRequest(t *testing.T) {
	racetest.Skip(t, "fills a list")
	f := start(t, nil)
	fill(t, f.reg, 20_000)
	c := f.connect(t)
	c.say(`\gamename\gmtest\final\\list\cmp\gamename\gmtest\final\` + strings.Repeat("x", 20_000))
	if got := len(c.rest()); got != 20_000*compactSize+len(gamespy.Final) {
		t.Errorf("got %d bytes, want the list of 20,000 servers", got)
	}
}

func TestClientThatClosesItsSideIsAnswered(t *testing.T) {
	f := start(t, nil)
	three(t, f.reg)
	put(t, f.reg, "unreal", "192.0.2.99:6500", qr2.OldOrigin)
	for text, want := range map[string]int{
		`\gamename\gmtest\final\\list\\gamename\gmtest`: 3,
		`\gamename\unreal\final\`:                       1,
	} {
		c := f.connect(t)
		c.say(text)
		if err := c.conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got := addressesOf(t, c.rest()); len(got) != want {
			t.Errorf("%s: servers %v, want %d", text, got, want)
		}
	}
	c := f.connect(t)
	c.say(`\gamename\gmtest\final\`)
	if err := c.conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got := c.rest(); got != "" || metrictest.Dropped(t, f.metrics, "no_request") != 1 {
		t.Errorf("got %q, counted %d times, want a connection without a request", got, metrictest.Dropped(t, f.metrics, "no_request"))
	}
}

// TestSharedList checks that a game and its other name have one list, which each
// client reads with the secret of its own game.
func TestSharedList(t *testing.T) {
	f := start(t, nil)
	put(t, f.reg, "gmtest", "192.0.2.10:6500", qr2.Origin)
	put(t, f.reg, "open", "192.0.2.11:6500", qr2.OldOrigin)
	ask := func(game, secret string) []string {
		return addressesOf(t, f.connect(t).ask(request(func(r *Request) { r.Engine, r.Game, r.Secret, r.Enctype = game, game, secret, 2 })))
	}
	both := []string{"192.0.2.10:6500", "192.0.2.11:6500"}
	for _, tt := range []struct {
		groups     [][]string
		game, open []string
	}{
		{nil, both[:1], both[1:]},
		{[][]string{{"gmtest", "open"}}, both, both},
		{nil, both[:1], both[1:]},
	} {
		f.reg.Share(tt.groups)
		var d string
		for began := time.Now(); time.Since(began) < 600*views.MaxHold; { // a list is used on for up to views.MaxHold
			if d = cmp.Diff([][]string{tt.game, tt.open}, [][]string{ask("gmtest", testSecret), ask("open", "fedcba")}); d == "" {
				break
			}
		}
		if d != "" {
			t.Errorf("lists when %v share theirs (-want +got):\n%s", tt.groups, d)
		}
	}
}
