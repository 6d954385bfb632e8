package ssq

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	wire "github.com/respawnd/respawnd/internal/ssq"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/valvemaster"
	"github.com/respawnd/respawnd/zanmaster"
)

func TestSelections(t *testing.T) {
	f := newFixture(t)
	f.threeServers()
	const (
		one, two, three = "192.0.2.9:27015", "192.0.2.9:27016", "192.0.2.10:27015"
		awkward         = "back\\slash\nand line"
	)
	for name, tc := range map[string]struct {
		query string
		want  wire.Table
	}{
		"in order of the address": {"SELECT hostip,hostname", wire.Table{
			Columns: []string{"hostip", "hostname"}, Rows: [][]string{{one, "My Server"}, {two, "Empty"}, {three, awkward}},
		}},
		"all of info": {
			`SELECT hostip,hostname,numplayers,maxplayers,map,game,ip,port,x-gameport,x-password,x-country,x-region,x-origin,x-natneg,x-reachable,x-restored,x-first WHERE hostip="` + one + `"`,
			wire.Table{
				Columns: []string{"hostip", "hostname", "numplayers", "maxplayers", "map", "game", "ip", "port", "x-gameport", "x-password", "x-country", "x-region", "x-origin", "x-natneg", "x-reachable", "x-restored", "x-first"},
				Rows:    [][]string{{one, "My Server", "2", "16", "de_dust", "gmtest", "192.0.2.9", "27015", "7777", "1", "DE", "4", "qr2", "1", "1", "0", "E1777636800"}},
			},
		},
		"players counted if not told": {"SELECT numplayers,maxplayers WHERE game=gmother", wire.Table{
			Columns: []string{"numplayers", "maxplayers"}, Rows: [][]string{{"1", "0"}},
		}},
		"case and other names": {"select MAX,Players,HOSTIP where PLAYERS > 0 and MAX > 0", wire.Table{
			Columns: []string{"max", "players", "hostip"}, Rows: [][]string{{"16", "2", one}},
		}},
		"procedure info": {"SP info WHERE hostip = " + two, wire.Table{
			Columns: wire.ProcedureFields("info"), Rows: [][]string{{"Empty", two, "0", "8", ""}},
		}},
		"procedure players of one server": {`SP players WHERE hostip = "` + one + `"`, wire.Table{
			Columns: wire.ProcedureFields("players"), Rows: [][]string{{"Bob", "200", "20", "10"}, {"Ann", "35", "9", ""}},
		}},
		"procedure rules of one server": {`SP rules WHERE hostip = "` + two + `"`, wire.Table{
			Columns: wire.ProcedureFields("rules"), Rows: [][]string{{"hostname", "Empty"}, {"numplayers", "0"}, {"maxplayers", "8"}},
		}},
		"players beside their server": {`SELECT hostname,playername,playertime,x-playerteam WHERE name != "bob"`, wire.Table{
			Columns: []string{"hostname", "playername", "playertime", "x-playerteam"}, Rows: [][]string{{"My Server", "Ann", "", "1"}, {awkward, "Cid", "003300", ""}},
		}},
		"server by its player": {`SELECT hostip WHERE playername = "BOB"`, wire.Table{Columns: []string{"hostip"}, Rows: [][]string{{one}}}},
		"the draft's expression": {`SELECT name,ping,frags WHERE ping > 10 and name != "bob"`, wire.Table{
			Columns: []string{"name", "ping", "frags"}, Rows: [][]string{{"Ann", "35", "9"}, {"Cid", "50", "9"}},
		}},
		"numbers, not text":   {"SELECT name WHERE ping > 40 and ping < 1000", wire.Table{Columns: []string{"name"}, Rows: [][]string{{"Bob"}, {"Cid"}}}},
		"text without case":   {`SELECT hostip WHERE map = "dE_dUST"`, wire.Table{Columns: []string{"hostip"}, Rows: [][]string{{one}, {three}}}},
		"text by its letters": {`SELECT hostip WHERE hostname > "backz"`, wire.Table{Columns: []string{"hostip"}, Rows: [][]string{{one}, {two}}}},
		"and before or": {`SELECT hostip WHERE game = gmother or game = gmtest and numplayers = 0`, wire.Table{
			Columns: []string{"hostip"}, Rows: [][]string{{two}, {three}},
		}},
		"all of an address": {"SELECT port WHERE hostip = 192.0.2.9", wire.Table{Columns: []string{"port"}, Rows: [][]string{{"27015"}, {"27016"}}}},
		"behind an address": {"SELECT port WHERE hostip > 192.0.2.9:27015", wire.Table{Columns: []string{"port"}, Rows: [][]string{{"27016"}, {"27015"}}}},
		"not an address":    {"SELECT port WHERE ip != 192.0.2.9", wire.Table{Columns: []string{"port"}, Rows: [][]string{{"27015"}}}},
		"reported rules":    {"SELECT x-secure,x-timelimit,x-nowhere", wire.Table{Columns: []string{"x-secure", "x-timelimit"}, Rows: [][]string{{"1", "10"}, {"", ""}, {"", "9"}}}},
		"reported numbers":  {"SELECT hostip WHERE x-timelimit > 9", wire.Table{Columns: []string{"hostip"}, Rows: [][]string{{one}}}},
		"values of rules":   {"SELECT hostip WHERE rulename = timelimit and rulevalue < 10", wire.Table{Columns: []string{"hostip"}, Rows: [][]string{{three}}}},
		"unknown is unequal": {"SELECT name WHERE deaths != 10", wire.Table{
			Columns: []string{"name"}, Rows: [][]string{{"Ann"}, {"Cid"}},
		}},
		"unknown is not less": {"SELECT name WHERE deaths < 100", wire.Table{Columns: []string{"name"}, Rows: [][]string{{"Bob"}}}},
		"durations":           {"SELECT name,playertime WHERE playertime > 003259", wire.Table{Columns: []string{"name", "playertime"}, Rows: [][]string{{"Bob", "003321"}, {"Cid", "003300"}}}},
		"times":               {"SELECT port WHERE x-first > 20260501T000000 and x-first = E1777636800 and x-first < 20260501T120001 and hostip = " + one, wire.Table{Columns: []string{"port"}, Rows: [][]string{{"27015"}}}},
		"switches":            {"SELECT port WHERE x-password = 1 and x-natneg = 1 and x-restored = 0", wire.Table{Columns: []string{"port"}, Rows: [][]string{{"27015"}}}},
		"teams":               {"SP x-teams", wire.Table{Columns: []string{"hostip", "x-teamname", "x-teamscore"}, Rows: [][]string{{one, "Red", "5"}, {one, "Blue", "-3"}}}},
		"reported of teams":   {"SELECT x-team-team WHERE x-team-score < 0", wire.Table{Columns: []string{"x-team-team"}, Rows: [][]string{{"Blue"}}}},
		"reported of players": {"SELECT x-player-score", wire.Table{Columns: []string{"x-player-score"}, Rows: [][]string{{"20"}, {"9"}, {""}}}},
		"games": {"SP x-games", wire.Table{
			Columns: []string{"x-gamename", "x-gametitle", "x-gameservers", "x-gameplayers"}, Rows: [][]string{{"gmother", "gmother", "1", "1"}, {"gmtest", "Test game", "2", "2"}},
		}},
		"some games":      {"SELECT x-gametitle WHERE x-gameservers > 1", wire.Table{Columns: []string{"x-gametitle"}, Rows: [][]string{{"Test game"}}}},
		"nothing there":   {"SELECT nothing,x-nothing", wire.Table{}},
		"nothing matches": {"SELECT hostip WHERE port = 1", wire.Table{Columns: []string{"hostip"}}},
		"never a trick":   {"SELECT x-error,port", wire.Table{Columns: []string{"port"}, Rows: [][]string{{"27015"}, {"27016"}, {"27015"}}}},
		"null header":     {"SELECT port X-HEADER NULL X-LIMIT 1", wire.Table{Columns: []string{"port"}, Rows: [][]string{{"27015"}}, More: 1}},
		"some rows":       {"SELECT port X-OFFSET 1 X-LIMIT 1", wire.Table{Columns: []string{"port"}, Rows: [][]string{{"27016"}}, More: 2}},
		"the last rows":   {"SELECT port X-OFFSET 1 X-LIMIT 2", wire.Table{Columns: []string{"port"}, Rows: [][]string{{"27016"}, {"27015"}}}},
		"behind the last": {"SELECT port X-OFFSET 3", wire.Table{Columns: []string{"port"}}},
		"an empty value":  {`SELECT port WHERE map = ""`, wire.Table{Columns: []string{"port"}, Rows: [][]string{{"27016"}}}},
		"our own list":    {"SP x-servers WHERE map=de_dust and port=27015 and numplayers=1", wire.Table{Columns: ownProcedure("x-servers"), Rows: [][]string{{three, "gmother", awkward, "DE_Dust", "1", "0"}}}},
		"who plays where": {"SP x-online WHERE frags = 9", wire.Table{Columns: ownProcedure("x-online"), Rows: [][]string{{one, "Ann", "35", "9", ""}, {three, "Cid", "50", "9", ""}}}},
		"settings of a kind": {"SP x-settings WHERE rulename = mapname", wire.Table{
			Columns: ownProcedure("x-settings"), Rows: [][]string{{one, "mapname", "de_dust"}, {three, "mapname", "DE_Dust"}},
		}},
	} {
		if diff := cmp.Diff(tc.want, f.ask(tc.query)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.query, diff)
		}
	}
}

func TestHeaderForms(t *testing.T) {
	f := newFixture(t)
	f.threeServers()
	const fields = "SELECT port,nowhere,map "
	for query, want := range map[string]string{
		fields + "X-LIMIT 3 WHERE port=27016":              "port\x00map\x00\n\x0027016\x00\x00\n\x00",
		fields + "WHERE port=27016 X-HEADER compact":       "1\x000\x001\x00\n\x0027016\x00\x00\n\x00",
		fields + "WHERE port=27016 X-HEADER null":          "1\x000\x001\x00\n\x0027016\x00\x00\n\x00",
		"SELECT port,map WHERE port=27016 X-HEADER null":   "\x00\n\x0027016\x00\x00\n\x00",
		"SELECT port,map X-LIMIT 1 X-HEADER compact":       "1\x001\x00x-more=1\x00\n\x0027015\x00de_dust\x00\n\x00",
		"SELECT nowhere,nothing X-HEADER compact":          "\n\x00",
		"SELECT nowhere,nothing WHERE port = 1":            "\n\x00",
		"SELECT hostname WHERE game=gmother X-HEADER null": "\x00\n\x00back\\\\slash\\nand line\x00\n\x00",
	} {
		f.query(trustedClient, query)
		if got := string(f.answer()); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	f := newFixture(t)
	f.threeServers()
	for query, want := range map[string]string{
		"SELECT port WHERE nowhere = 1":                "no column",
		"SELECT port WHERE x-nowhere = 1":              "no column",
		"SELECT port WHERE x-source = 192.0.2.9":       "no column", // private
		"SELECT port WHERE port = many":                `port: want a number, got "many"`,
		"SELECT port WHERE hostip = example.org":       "want an address",
		"SELECT port WHERE x-first > yesterday":        "want a time",
		"SELECT port WHERE playertime > long":          "want a duration",
		"SELECT playername,rulename":                   "do not go together",
		"SELECT playername WHERE rulename = timelimit": "do not go together",
		"SELECT x-gamename,port":                       "do not go together",
		"SELECT port,x-gamename":                       "do not go together",
		"SP nowhere":                                   "no such procedure",
		"SP x-nowhere":                                 "no such procedure",
		"DROP TABLE servers":                           "want SELECT",
		`SELECT port WHERE map = "open`:                "quote without end",
	} {
		if got := f.refusal(query); !strings.Contains(got, want) {
			t.Errorf("%s is refused with %q, want %q", query, got, want)
		}
	}
}

// The first thing that the author of a tool gets wrong is the language.
func TestMistakesOfClientsWithAToken(t *testing.T) {
	f := newFixture(t)
	token := f.proof(stranger)
	wrong := "A" + token[1:]
	if wrong == token {
		wrong = "B" + token[1:]
	}
	for _, query := range []string{"FOO", "SP", "SELECT port WHERE", `SELECT port WHERE map = "open`, "SELECT port WHERE map like 1"} {
		want := f.refusal(query + " X-TOKEN " + token)
		f.query(stranger, query+" x-token  "+token+" \x00")
		if got := string(f.answer()); !strings.Contains(got, want) {
			t.Errorf("%s with a token is refused with %q, want %q", query, got, want)
		}
		f.query(stranger, query+" X-TOKEN "+wrong)
		if in := wire.HeaderLen + len(query) + len(" X-TOKEN ") + len(token); f.bytesSent() > in {
			t.Errorf("%s with a wrong token: %d bytes in, %d out", query, in, f.bytesSent())
		}
	}
}

func TestColumnListNamesEveryColumn(t *testing.T) {
	f := newFixture(t)
	f.threeServers()
	short, long := f.ask("CL"), f.ask("CL LONG")
	if len(short.Rows) != 1 || len(long.Rows) != 2 || short.More != 0 {
		t.Fatalf("%d and %d rows, want 1 and 2", len(short.Rows), len(long.Rows))
	}
	if diff := cmp.Diff(short.Rows[0], long.Rows[0]); diff != "" {
		t.Errorf("tables differ:\n%s", diff)
	}
	for i, c := range short.Columns {
		if short.Rows[0][i] == "" || long.Rows[1][i] == "" || slices.Index(short.Columns, c) != i {
			t.Errorf("column %q: table %q, meaning %q", c, short.Rows[0][i], long.Rows[1][i])
		}
		// Everything that it lists is there, but for private columns.
		if got := f.ask("SELECT " + c).Columns; len(got) != 1 && !strings.Contains(long.Rows[1][i], "private") && c != "x-player-ip" {
			t.Errorf("SELECT %s returns %q", c, got)
		}
	}
	for column, table := range map[string]string{
		"hostip": "info", "playername": "players", "rulevalue": "rules", "x-gametitle": "x-games", "x-source": "info",
		"x-secure": "info", "x-player-score": "players", "x-team-score": "x-teams",
	} {
		if i := slices.Index(short.Columns, column); i < 0 || short.Rows[0][i] != table {
			t.Errorf("column %s is not listed as one of %s", column, table)
		}
	}
	if slices.Contains(short.Columns, wire.ErrorColumn) {
		t.Error("a server's rule is listed as x-error")
	}
}

func TestLongColumnListsAreCutAndSaySo(t *testing.T) {
	f := newFixture(t)
	var rules []string
	for i := range 200 {
		rules = append(rules, fmt.Sprintf("a-rule-with-a-long-name-of-its-own-so-that-it-fills-much-of-an-answer-and-a-little-more-%d", i), "x")
	}
	f.list(game{source: "192.0.2.1:1000", rules: rules})
	got := f.ask("CL LONG")
	if got.More == 0 || got.More != len(got.Columns) || len(f.sent) > wire.MaxPackets {
		t.Errorf("%d columns in %d packets, more %d", len(got.Columns), len(f.sent), got.More)
	}
	if n := f.value("cut_answers"); n != 1 {
		t.Errorf("%v cut answers counted, want 1", n)
	}
}

func TestVersionAndPing(t *testing.T) {
	f := newFixture(t)
	want := wire.Table{Columns: []string{"PROTO", "GAME", "SERVER"}, Rows: [][]string{{"1", "list", "respawnd 1.2.3"}}}
	if diff := cmp.Diff(want, f.ask("version")); diff != "" {
		t.Errorf("VERSION (-want +got):\n%s", diff)
	}
	for _, query := range []string{"PING", "sp PING"} {
		f.query(stranger, query) // needs no proved address
		if got := string(f.answer()); got != "j\x00\n" {
			t.Errorf("%s: %q, want a pong", query, got)
		}
	}
}

func TestAnswersFollowTheList(t *testing.T) {
	f := newFixture(t)
	const query = "SELECT hostip"
	if got := f.ask(query).Rows; len(got) != 0 {
		t.Errorf("an empty list has rows: %q", got)
	}
	f.threeServers()
	if got := f.ask(query).Rows; len(got) != 3 {
		t.Errorf("rows %q, want 3", got)
	}
	public := f.registry.All()[0].Public
	f.registry.Hide(public)
	if got := f.ask(query).Rows; len(got) != 2 || strings.Contains(fmt.Sprint(got), public.String()) {
		t.Errorf("rows %q, want 2 without the hidden %v", got, public)
	}
	for _, h := range f.registry.All() {
		f.registry.Remove(h.Key)
	}
	if got := f.ask(query).Rows; len(got) != 0 {
		t.Errorf("rows %q after all servers left", got)
	}
}

// many lists servers on successive addresses.
func (f *fixture) many(n int) {
	f.t.Helper()
	for i := range n {
		f.list(game{
			source: fmt.Sprintf("10.%d.%d.%d:%d", 1+i>>14, i>>7&0x7F, 1+i&0x7F, 20000+i%7),
			rules: []string{
				"hostname", fmt.Sprintf("server number %d", i), "mapname", fmt.Sprintf("map%d", i%10),
				"numplayers", fmt.Sprint(i % 17), "maxplayers", "16", "gametype", "arena", "timelimit", fmt.Sprint(i % 30),
			},
		})
	}
}

func TestLongAnswersGoOnWhereTheyEnded(t *testing.T) {
	f := newFixture(t)
	const servers = 1500
	f.many(servers)
	for name, next := range map[string]func(wire.Table) string{
		"by number":  func(t wire.Table) string { return fmt.Sprintf("SELECT hostip,hostname X-OFFSET %d", t.More) },
		"by address": func(t wire.Table) string { return "SELECT hostip,hostname WHERE hostip > " + t.Rows[len(t.Rows)-1][0] },
	} {
		cut := f.value("cut_answers")
		seen := make(map[string]bool)
		answers := 1
		got := f.ask("SELECT hostip,hostname")
		for ; ; answers++ {
			for _, row := range got.Rows {
				if seen[row[0]] {
					t.Fatalf("%s: %s comes twice", name, row[0])
				}
				seen[row[0]] = true
			}
			if got.More == 0 {
				break
			}
			if len(f.sent) != wire.MaxPackets || len(got.Rows) < 100 {
				t.Fatalf("%s: a cut answer has %d packets and %d rows", name, len(f.sent), len(got.Rows))
			}
			got = f.ask(next(got))
		}
		if len(seen) != servers || answers < 3 {
			t.Errorf("%s: %d servers in %d answers, want %d in several", name, len(seen), answers, servers)
		}
		if n := f.value("cut_answers") - cut; n != float64(answers-1) {
			t.Errorf("%s: %v cut answers counted, want %d", name, n, answers-1)
		}
	}
}

func TestServersWithLongValues(t *testing.T) {
	f := newFixture(t)
	long := strings.Repeat("\\", 3000)
	var rules []string
	fields := []string{"hostip"}
	for i := range 20 {
		rules = append(rules, fmt.Sprintf("r%d", i), long)
		fields = append(fields, fmt.Sprintf("x-r%d", i))
	}
	f.list(game{source: "192.0.2.1:1000", rules: rules})
	f.list(game{source: "192.0.2.2:1000", rules: []string{"r1", "short"}})
	got := f.ask("SELECT hostip,x-r1")
	if len(got.Rows) != 2 || len(got.Rows[0][1]) != maxCell || f.value("cut_cells") != 1 {
		t.Errorf("rows %.80q; %v cells cut, want 1", got.Rows, f.value("cut_cells"))
	}
	got = f.ask("SELECT " + strings.Join(fields, ","))
	if len(got.Rows) != 1 || got.Rows[0][0] != "192.0.2.2:1000" || got.More != 0 || f.value("lost_rows") != 1 {
		t.Errorf("rows %.80q, more %d; %v rows lost, want 1", got.Rows, got.More, f.value("lost_rows"))
	}
}

func TestPrivateColumnsNeedAToken(t *testing.T) {
	f := newFixture(t)
	f.threeServers()
	for _, h := range f.registry.All() {
		f.book.Note("qr2", h.Key.Source, "gmtest", verdicts.ChallengeSent)
		f.book.Note("qr2", h.Key.Source, "gmtest", verdicts.Listed)
	}
	const query = "SELECT x-source,x-instance,x-local,x-via,x-verdict,port WHERE hostip = 192.0.2.9:27015"
	public := wire.Table{Columns: []string{"port"}, Rows: [][]string{{"27015"}}}
	if diff := cmp.Diff(public, f.ask(query)); diff != "" {
		t.Errorf("without token (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(public, f.ask(query+" IDENTIFIED wrong")); diff != "" {
		t.Errorf("with a wrong token (-want +got):\n%s", diff)
	}
	if got := f.ask("AUTH wrong"); got.Rows[0][0] != "" || got.Columns[0] != "token" {
		t.Errorf("AUTH wrong: %+v, want an empty token", got)
	}
	token := f.ask("AUTH " + password).Rows[0][0]
	if len(token) < 20 {
		t.Fatalf("token %q", token)
	}
	want := wire.Table{
		Columns: []string{"x-source", "x-instance", "x-local", "x-via", "x-verdict", "port"},
		Rows:    [][]string{{"192.0.2.9:7000", "4711", "192.168.1.5:7000,10.1.1.1:7000", "192.0.2.254", "listed", "27015"}},
	}
	if diff := cmp.Diff(want, f.ask(query+" IDENTIFIED "+token)); diff != "" {
		t.Errorf("with a token (-want +got):\n%s", diff)
	}
	if got := f.ask("SELECT port WHERE x-source = 192.0.2.9:7000 IDENTIFIED " + token); len(got.Rows) != 1 {
		t.Errorf("a private column is not compared: %+v", got)
	}
	if got := f.ask("SELECT x-player-ip IDENTIFIED " + token); len(got.Rows) != 3 || got.Rows[0][0] != "198.51.100.1" {
		t.Errorf("addresses of players: %+v", got)
	}
	if got := f.ask("SELECT x-player-ip"); len(got.Columns) != 0 {
		t.Errorf("addresses of players without token: %+v", got)
	}

	f.config.Password = "another-horse"
	f.server.Reload(&f.config)
	if diff := cmp.Diff(public, f.ask(query+" IDENTIFIED "+token)); diff != "" {
		t.Errorf("after a change of the password (-want +got):\n%s", diff)
	}
	f.config.Password = ""
	f.server.Reload(&f.config)
	for _, guess := range []string{"wrong", `""`} {
		f.query(trustedClient, "AUTH "+guess)
		if got, err := wire.ParseTable(f.answer(), nil); err != nil || got.Columns[0] == "token" && got.Rows[0][0] != "" {
			t.Errorf("AUTH %s without a password in force: %+v, %v", guess, got, err)
		}
	}
}

func TestTimesOfServersMoveOn(t *testing.T) {
	f := newFixture(t)
	f.threeServers()
	got := f.ask("SELECT x-seen WHERE x-seen > 20200101T000000 X-LIMIT 1").Rows
	if len(got) != 1 || got[0][0] < fmt.Sprintf("E%d", time.Now().Add(-time.Minute).Unix()) {
		t.Errorf("x-seen = %q, want now", got)
	}
}

// Our own queries give the time of players in minutes, and those of A2S in seconds as
// well; values that others report are taken for seconds.
func TestTimesOfPlayers(t *testing.T) {
	minutes := [][]string{{"player_", "time_"}, {"Ann", "90"}}
	for name, tt := range map[string]struct {
		origin  *master.Origin
		players [][]string
		want    string
	}{
		"reports by itself":      {qr2.Origin, minutes, "000130"},
		"reports in text":        {qr2.OldOrigin, minutes, "000130"},
		"Zandronum":              {zanmaster.Origin, minutes, "013000"},
		"named by the operator":  {master.Static, minutes, "013000"},
		"on the local network":   {master.Found, minutes, "013000"},
		"A2S":                    {valvemaster.Origin, [][]string{{"player_", "time_", "seconds_"}, {"Ann", "90", "5432"}}, "013032"},
		"A2S, seconds not there": {valvemaster.Origin, [][]string{{"player_", "time_", "seconds_"}, {"Ann", "90", ""}}, "013000"},
		"no time":                {valvemaster.Origin, [][]string{{"player_"}, {"Ann"}}, ""},
	} {
		f := newFixture(t)
		f.list(game{source: "192.0.2.9:27016", origin: tt.origin, players: tt.players})
		if got := f.ask("SELECT playertime").Rows; len(got) != 1 || got[0][0] != tt.want {
			t.Errorf("%s: playertime %q, want %q", name, got, tt.want)
		}
	}
}
