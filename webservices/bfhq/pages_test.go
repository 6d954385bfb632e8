package bfhq

import (
	"bytes"
	"flag"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

var update = flag.Bool("update", false, "write the dialogues of testdata")

// The dialogues were made by this package from the layouts, and read through.
func TestDialogues(t *testing.T) {
	w := newWorld(t, nil)
	w.mustPost(snapshot(0, soldier(1, 900, "kills", "7", "deaths", "3", "kk0", "7", "dk0", "3", "tk0", "1200", "ss", "14", "ts", "5", "kw2", "6", "bw2", "2",
		"sw2", "200", "hw2", "31", "tw2", "900", "mvns", "2", "mvks", "4", "mvns", "3", "mvks", "3", "kcb", "2", "ph", "1", "rank", "2"),
		soldier(2, 150, "kills", "3", "deaths", "4", "mvns", "1", "mvks", "3"), soldier(3, 20, "deaths", "3")))
	file := "testdata/dialogues.txt"
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for line := range strings.Lines(string(want)) {
		if line[0] == '#' {
			got.WriteString(line)
			continue
		}
		path, ok := strings.CutPrefix(line, "> ")
		if !ok {
			continue
		}
		got.WriteString("\n" + line)
		method, target, _ := strings.Cut(strings.TrimSuffix(path, "\n"), " ")
		code, text := w.request(home, method, target, "")
		if code != http.StatusOK {
			t.Errorf("%s: status %d", path, code)
		}
		if _, err := ParseAnswer(text); err != nil {
			t.Errorf("%s: %v: %q", path, err, text)
		}
		created := w.joined(t)
		text = strings.ReplaceAll(fixed(text), created, "1600000000")
		got.WriteString("< " + strings.NewReplacer("\t", "⇥", "\n", "\n< ").Replace(text) + "\n")
	}
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("dialogues:\n%s\nwant\n%s", &got, want)
	}
}

// joined returns when the profiles were made; in a slow test that is not the present second.
func (w *world) joined(t *testing.T) string {
	t.Helper()
	p, err := w.store.GetProfile(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if p.Created.IsZero() {
		return "never"
	}
	return (&player{Record: &Record{}, joined: p.Created.Unix()}).value("jond")
}

func TestFind(t *testing.T) {
	w := newWorld(t, nil)
	for target, want := range map[string]int{
		"/ASP/getrankinfo.aspx?pid=1": 200, "/asp/GETRANKINFO.ASPX?pid=1": 200, "/ASP/VerifyPlayer.aspx?pid=1&SoldierNick=Tester": 200,
		"/ASP/getrankinfo.php?pid=1": 404, "/ASP/other.aspx": 404, "/ASP/": 404, "/getrankinfo.aspx": 404, "/asp2/getrankinfo.aspx": 404,
	} {
		if code, text := w.request(home, "GET", target, ""); code != want {
			t.Errorf("GET %s: %d %q, want %d", target, code, text, want)
		}
	}
	if code, _ := w.request(home, "PUT", "/ASP/getrankinfo.aspx?pid=1", ""); code != http.StatusMethodNotAllowed {
		t.Errorf("PUT: %d", code)
	}
	if _, text := w.request(home, "POST", "/ASP/getrankinfo.aspx", "pid=1"); !strings.HasPrefix(text, "O\n") {
		t.Errorf("a form: %q", text)
	}
	if code, _ := w.request(home, "POST", "/ASP/getrankinfo.aspx", strings.Repeat("x", maxForm+1)); code != http.StatusBadRequest {
		t.Errorf("a form over the limit: %d", code)
	}
	if !slices.Contains(Names(), "bfhq.getplayerinfo") || len(Names()) != 20 {
		t.Errorf("Names() = %v", Names())
	}
}

// A player without rounds has a page with all columns.
func TestEmptyPlayer(t *testing.T) {
	w := newWorld(t, nil)
	a, err := ParseAnswer(w.get("getplayerinfo.aspx?pid=2&info=" + ownPage))
	if err != nil || a.Failed || len(a.Tables) != 2 {
		t.Fatal(a, err)
	}
	columns, values := a.Tables[1].Columns, a.Tables[1].Rows[0]
	if len(columns) != 236 || columns[0] != "pid" || columns[57] != "fwea" || columns[58] != "tnv" || columns[59] != "tgm" || columns[235] != "de-8" {
		t.Errorf("%d columns %q, want 236", len(columns), columns)
	}
	for i, c := range columns {
		switch v := values[i]; c {
		case "pid", "jond":
		case "nick":
			if v != "Ann" {
				t.Errorf("nick %q", v)
			}
		case "mvns", "vmns":
			if v != noName {
				t.Errorf("%s is %q", c, v)
			}
		default:
			if v != "0" && v != "0.00" && v != "0:0" {
				t.Errorf("%s is %q", c, v)
			}
		}
	}
	for _, page := range []string{"getrankinfo", "getawardsinfo", "getunlocksinfo"} {
		if a, err := ParseAnswer(w.get(page + ".aspx?pid=2")); err != nil || a.Failed {
			t.Errorf("%s: %+v, %v", page, a, err)
		}
	}
}

func TestColumns(t *testing.T) {
	w := newWorld(t, nil)
	for query, want := range map[string]string{
		"info=rank":           "pid nick rank",
		"info=rank,rank,nick": "pid nick rank",
		"info=ktm-,vtm-,wtm-,mtm-&kit=2&vehicle=3&weapon=11&map=602": "pid nick ktm-2 vtm-3 wtm-11 mtm-602",
		"info=rank,vac-":                     "pid nick rank vac-0 vac-1 vac-2 vac-3 vac-4 vac-5 vac-6",
		"info=mvn*,new,vmr*":                 "pid nick mvns mvrs new vmns vmrs",
		"info=":                              "E 112",
		"info=a,,b":                          "E 112",
		"info=" + strings.Repeat("a", 17):    "E 112",
		"info=A":                             "E 112",
		"info=" + strings.Repeat("a,", 2048): "E 112",
		"info=ktm-&kit=7":                    "E 114",
		"info=mtm-&map=7":                    "E 115",
		"info=vtm-&vehicle=x":                "E 117",
		"info=wtm-&weapon=-1":                "E 118",
	} {
		a, err := ParseAnswer(w.get("getplayerinfo.aspx?pid=1&" + query))
		if err != nil {
			t.Errorf("%.60s: %v", query, err)
			continue
		}
		got := "E " + number3(a.Code)
		if !a.Failed {
			got = strings.Join(a.Tables[1].Columns, " ")
		}
		if got != want {
			t.Errorf("%.60s: %s, want %s", query, got, want)
		}
	}
	many := make([]string, 0, maxColumns)
	for i := range maxColumns {
		many = append(many, "a"+number3(i))
	}
	if _, ok := columnsOf(strings.Join(many[:maxColumns-2], ","), nil); !ok {
		t.Errorf("%d columns are refused", maxColumns)
	}
	if _, ok := columnsOf(strings.Join(many[:maxColumns-1], ","), nil); ok {
		t.Errorf("%d columns are accepted", maxColumns+1)
	}
}

func number3(n int) string {
	return string([]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)})
}

func TestErrors(t *testing.T) {
	w := newWorld(t, nil)
	for target, want := range map[string]string{
		"getrankinfo.aspx":                                   "E\t107\n",
		"getrankinfo.aspx?pid=0":                             "E\t107\n",
		"getrankinfo.aspx?pid=99999999999":                   "E\t107\n",
		"getrankinfo.aspx?pid=77":                            "E\nH\tasof\terr\nD\t1700000000\tPlayer Not Found!\n",
		"getplayerinfo.aspx?pid=77&info=rank":                "E\nH\tasof\terr\nD\t1700000000\tPlayer Not Found!\n",
		"searchforplayers.aspx":                              "E\t102\n",
		"getplayerid.aspx":                                   "E\t102\n",
		"getplayerid.aspx?nick=Unknown":                      "E\n",
		"getleaderboard.aspx":                                "E\t108\n",
		"getleaderboard.aspx?type=kit&id=7":                  "E\t101\n",
		"getleaderboard.aspx?type=score&id=x":                "E\t101\n",
		"getleaderboard.aspx?type=score&id=overall&pos=0":    "E\t103\n",
		"getleaderboard.aspx?type=score&id=overall&before=x": "E\t104\n",
		"getleaderboard.aspx?type=score&id=overall&after=-1": "E\t105\n",
		"getleaderboard.aspx?type=score&id=overall&pid=x":    "E\t107\n",
		"getmapinfo.aspx":                                    "E\n",
		"getclaninfo.aspx?type=0":                            "E\n",
		"selectunlock.aspx?pid=1&id=12":                      "E\t121\n",
		"selectunlock.aspx?id=11":                            "E\t107\n",
		"VerifyPlayer.aspx?SoldierNick=Tester":               "E\t107\n",
	} {
		if got := w.get(target); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
}

func TestVerifyPlayer(t *testing.T) {
	w := newWorld(t, nil)
	u, err := w.store.GetUser(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	u.Ban = storage.AccountBan{Added: u.Created, Reason: "x"}
	u.Ban.Added = u.Ban.Added.Add(1)
	if _, err := w.store.UpdateUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][2]string{
		"pid=1&SoldierNick=Tester":   {"1 Tester 1", "Ok"},
		"pid=1&SoldierNick=tESTER":   {"1 tESTER 1", "Ok"},
		"pid=1&SoldierNick=Ann":      {"1 Tester 1", "InvalidReportedNick"},
		"pid=1":                      {"1 Tester 1", "InvalidReportedNick"},
		"pid=77&SoldierNick=Tester":  {"0 - 77", "InvalidAuthProfileID"},
		"pid=3&SoldierNick=Ben":      {"0 - 3", "InvalidAuthProfileID"},
		"pid=1&SoldierNick=a%09b%0A": {"1 Tester 1", "InvalidReportedNick"},
	} {
		a, err := ParseAnswer(w.get("VerifyPlayer.aspx?auth=x&" + query))
		if err != nil || len(a.Tables) != 2 {
			t.Fatalf("%s: %+v, %v", query, a, err)
		}
		if got := [2]string{strings.Join(a.Tables[0].Rows[0][:3], " "), a.Tables[1].Rows[0][0]}; got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

func TestSelectUnlock(t *testing.T) {
	w := newWorld(t, nil)
	choose := func(from netip.AddrPort, id string) string {
		_, text := w.request(from, "POST", "/ASP/selectunlock.aspx", "pid=1&id="+id)
		return text[:1]
	}
	if got := choose(home, "22"); got != "E" {
		t.Errorf("a weapon without a rank: %s", got)
	}
	w.mustPost(snapshot(0, soldier(1, 850))) // rank 3, two points
	if free := w.value("getunlocksinfo.aspx?pid=1", "enlisted"); free != "2" {
		t.Errorf("%s points, want 2", free)
	}
	for _, step := range []struct {
		from     netip.AddrPort
		id, want string
	}{{unlisted, "22", "E"}, {home, "88", "E"}, {home, "22", "O"}, {home, "22", "O"}, {listed, "88", "O"}, {home, "11", "E"}} {
		if got := choose(step.from, step.id); got != step.want {
			t.Errorf("weapon %s from %v: %s, want %s", step.id, step.from, got, step.want)
		}
	}
	w.start(nil) // the choices survive a restart
	a, err := ParseAnswer(w.get("getunlocksinfo.aspx?pid=1"))
	if err != nil || a.Tables[1].Rows[0][0] != "0" {
		t.Fatal(a, err)
	}
	var taken []string
	for _, row := range a.Tables[2].Rows {
		if row[1] == "s" {
			taken = append(taken, row[0])
		}
	}
	if !slices.Equal(taken, []string{"22", "88"}) || len(a.Tables[2].Rows) != 8 {
		t.Errorf("weapons %v of %v", taken, a.Tables[2].Rows)
	}
	if got := w.counters("unlocks_total"); got != "" {
		t.Errorf("a new backend counted %s", got)
	}
}

func TestUnlockPolicies(t *testing.T) {
	for policy, want := range map[string][3]int{unlocksNone: {7, 0, 0}, unlocksRank: {7, 0, 1}, unlocksAll: {14, 14, 0}} {
		w := newWorld(t, func(o *Options) { o.Config.Unlocks = policy })
		w.mustPost(snapshot(0, soldier(1, 500)))
		a, err := ParseAnswer(w.get("getunlocksinfo.aspx?pid=1"))
		if err != nil {
			t.Fatal(err)
		}
		taken := 0
		for _, row := range a.Tables[2].Rows {
			if row[1] == "s" {
				taken++
			}
		}
		if got := [3]int{len(a.Tables[2].Rows), taken, int(a.Tables[1].Rows[0][0][0] - '0')}; got != want {
			t.Errorf("%s: weapons, taken, points %v, want %v", policy, got, want)
		}
		_, text := w.request(home, "GET", "/ASP/selectunlock.aspx?pid=1&id=11", "")
		if ok := policy != unlocksNone; strings.HasPrefix(text, "O") != ok {
			t.Errorf("%s: a choice: %q", policy, text)
		}
	}
}

func TestUnprovedChoiceIsNoted(t *testing.T) {
	w := newWorld(t, nil)
	_, _ = w.request(unlisted, "GET", "/ASP/selectunlock.aspx?pid=1&id=11", "")
	if got := w.counters("unlocks_total"); got != "not_signed_in 1" {
		t.Errorf("counted %q", got)
	}
	if noted := w.verdicts.Of(unlisted.Addr()); len(noted) != 1 || noted[0].Verdict != verdicts.UnlockUnproved {
		t.Errorf("noted %+v", noted)
	}
}

func TestRankNotification(t *testing.T) {
	w := newWorld(t, nil)
	w.mustPost(snapshot(0, soldier(1, 160)))
	chng := func() string { return w.value("getrankinfo.aspx?pid=1", "chng") }
	if rank := w.value("getrankinfo.aspx?pid=1", "rank"); rank != "1" || chng() != "1" {
		t.Errorf("rank %s, chng %s", rank, chng())
	}
	if _, text := w.request(unlisted, "GET", "/ASP/ranknotification.aspx?pid=1", ""); text[0] != 'O' || chng() != "1" {
		t.Errorf("from another address: %q, chng %s", text, chng())
	}
	if got := w.get("ranknotification.aspx?pid=1"); got[0] != 'O' || chng() != "0" {
		t.Errorf("%q, chng %s", got, chng())
	}
	w.mustPost(snapshot(1, soldier(1, 1, "rank", "8")))
	if rank := w.info(1, "rank"); rank != "8" || chng() != "1" {
		t.Errorf("rank %s that the server gave, chng %s", rank, chng())
	}
}

func TestSearch(t *testing.T) {
	w := newWorld(t, nil)
	w.mustPost(snapshot(0, soldier(1, 10), soldier(2, 30), soldier(3, 20)))
	for query, want := range map[string]string{
		"nick=e&where=a":        "Ben 20, Tester 10",
		"nick=E":                "Ben 20, Tester 10",
		"nick=e&where=a&sort=r": "Tester 10, Ben 20",
		"nick=te&where=b":       "Tester 10",
		"nick=n&where=e&sort=a": "Ann 30, Ben 20",
		"nick=ann&where=x":      "Ann 30",
		"nick=an&where=x":       "",
		"nick=Cid":              "Cid 0", // no round, but that is the name
		"nick=Ci":               "",
	} {
		a, err := ParseAnswer(w.get("searchforplayers.aspx?" + query))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range a.Tables[1].Rows {
			got = append(got, row[2]+" "+row[3])
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
	for nick, want := range map[string]string{"tester": "1", "CID": "4"} {
		if got := w.value("getplayerid.aspx?nick="+nick, "pid"); got != want {
			t.Errorf("getplayerid of %s: %s", nick, got)
		}
	}
	if text := w.get("getplayerid.aspx?nick=Benno"); text[0] != 'E' {
		t.Errorf("a name of other games: %q", text)
	}
}

func TestLeaderboards(t *testing.T) {
	w := newWorld(t, nil)
	w.mustPost(snapshot(0, soldier(1, 100, "cs", "5", "ts", "9", "kills", "4", "kk2", "4", "dk2", "2", "tk2", "60", "kv1", "3", "bv1", "1", "tv1", "7", "kw0", "2", "sw0", "10", "hw0", "5"),
		soldier(2, 300, "tco", "77", "cs", "8", "kk2", "1"), soldier(3, 200)))
	for query, want := range map[string]string{
		"type=score&id=overall":                        "2 Ann 300 1200 1 DE, 3 Ben 200 1200 1 XX, 1 Tester 100 1200 0 XX",
		"type=score&id=overall&pos=2&after=0":          "3 Ben 200 1200 1 XX",
		"type=score&id=overall&pos=3&before=1&after=5": "3 Ben 200 1200 1 XX, 1 Tester 100 1200 0 XX",
		"type=score&id=overall&pos=9":                  "",
		"type=score&id=overall&pid=1":                  "1 Tester 100 1200 0 XX",
		"type=score&id=overall&pid=4":                  "",
		"type=score&id=commander":                      "2 Ann 8 77 1 DE, 1 Tester 5 0 0 XX",
		"type=score&id=team":                           "1 Tester 9 1200 0 XX",
		"type=score&id=combat":                         "1 Tester 8 4 1200 0 XX, 2 Ann 2 1 1200 1 DE",
		"type=kit&id=2":                                "1 Tester 4 2 60 0 XX, 2 Ann 1 0 0 1 DE",
		"type=vehicle&id=1":                            "1 Tester 3 1 7 0 XX",
		"type=weapon&id=0":                             "1 Tester 2 0 0 50 0 XX",
		"type=weapon&id=8":                             "",
		"type=risingstar&id=0":                         "", // the rounds are years old
	} {
		a, err := ParseAnswer(w.get("getleaderboard.aspx?" + query))
		if err != nil || a.Failed {
			t.Fatalf("%s: %+v, %v", query, a, err)
		}
		var got []string
		for _, row := range a.Tables[1].Rows {
			got = append(got, strings.Join(row[1:], " "))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
	if a, _ := ParseAnswer(w.get("getleaderboard.aspx?type=score&id=overall&pid=1")); a.Tables[0].Rows[0][0] != "3" || a.Tables[1].Rows[0][0] != "3" {
		t.Errorf("size and place: %+v", a)
	}
	columns := map[string]string{
		"type=risingstar":      "n pid nick weeklyscore totaltime date playerrank countrycode",
		"type=vehicle&id=0":    "n pid nick killswith detahsby timeused playerrank countrycode",
		"type=weapon&id=0":     "n pid nick killswith detahsby timeused accuracy playerrank countrycode",
		"type=score&id=combat": "n pid nick score totalkills totaltime playerrank countrycode",
	}
	for query, want := range columns {
		if a, _ := ParseAnswer(w.get("getleaderboard.aspx?" + query)); len(a.Tables) != 2 || strings.Join(a.Tables[1].Columns, " ") != want {
			t.Errorf("%s: %+v, want %s", query, a.Tables, want)
		}
	}
}
