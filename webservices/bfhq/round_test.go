package bfhq

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

func TestRoundTotals(t *testing.T) {
	w := newWorld(t, nil)
	w.mustPost(snapshot(0,
		soldier(1, 30, "kills", "5", "deaths", "2", "cpc", "3", "ks", "4", "ds", "2", "drs", "6", "tlw", "-5", "te1", "10", "te2", "20", "te5", "30", "ke3", "1", "de6", "2",
			"ta0", "1200", "mvns", "2", "mvks", "3", "mvns", "3", "mvks", "2"),
		append(soldier(2, -5, "mvns", "1", "mvks", "2"), "t", "2", "a", "1")))
	w.mustPost(snapshot(1, soldier(1, 20, "kk1", "4", "dk1", "1", "ks", "3", "ss", "9", "tk1", "60", "mvns", "3", "mvks", "9")))
	for column, want := range map[string]string{
		"scor": "50", "kill": "9", "deth": "3", "cpcp": "3", "bksk": "4", "wdsk": "2", "dsab": "6", "tlwf": "0", "bbrs": "30", "time": "2400",
		"cmsc": "19", "wins": "2", "loss": "0", "mode0": "2", "mode1": "0", "klpr": "4.50", "klpm": "0.23", "wtm-11": "60", "wkl-12": "1", "de-6": "2",
		"atm-0": "1200", "awn-0": "2", "abr-0": "30", "mtm-4": "2400", "mwn-4": "2", "mls-4": "0", "fmap": "4", "fkit": "1", "kkd-1": "4:1",
		"tvcr": "3", "mvks": "11", "mvns": "Ben", "topr": "2", "vmks": "2", "vmns": "Ann", "lbtl": fmt.Sprint(testRound + 3600 + 1800), "smoc": "0",
	} {
		if got := w.info(1, column); got != want {
			t.Errorf("%s is %s, want %s", column, got, want)
		}
	}
	for column, want := range map[string]string{"scor": "-5", "wins": "0", "loss": "1", "alo-1": "1", "abr-1": "0", "topr": "1", "vmks": "3"} {
		if got := w.info(2, column); got != want {
			t.Errorf("other player: %s is %s, want %s", column, got, want)
		}
	}
	if got := w.counters("rounds_total"); got != "counted 2" {
		t.Errorf("rounds: %s", got)
	}
	if noted := w.verdicts.Of(listed.Addr()); len(noted) != 1 || noted[0].Verdict != verdicts.RoundCounted {
		t.Errorf("noted %+v", noted)
	}
}

func TestRoundCountsOnce(t *testing.T) {
	w := newWorld(t, nil)
	first := snapshot(0, soldier(1, 30), soldier(2, 7))
	w.mustPost(first)
	w.mustPost(first)
	w.mustPost(snapshot(0, soldier(1, 1000))) // the same round with other results
	w.start(nil)
	w.mustPost(first)
	w.mustPost(snapshot(1, soldier(1, 3)))
	if got := w.info(1, "scor") + " " + w.info(2, "scor") + " " + w.value("getleaderboard.aspx?type=score&id=overall&pid=1", "score"); got != "33 7 33" {
		t.Errorf("scores %s", got)
	}
	if got := w.counters("rounds_total"); got != "counted 1, repeated 1" {
		t.Errorf("rounds %s", got)
	}
	reports := 0
	for r, err := range w.store.Reports(t.Context(), testGame, 0) {
		if reports++; err != nil || !r.Done || r.Server.Port() != 16567 || r.Server.Addr() != listed.Addr() {
			t.Errorf("report %+v, %v", r, err)
		}
	}
	if reports != 2 {
		t.Errorf("%d reports, want 2", reports)
	}
	// Another server with the same round is another round.
	code, _ := w.request(netip.MustParseAddrPort("192.0.2.99:1"), "POST", "/ASP/bf2statistics.php", first)
	if w.settle(); code != 200 || w.info(1, "scor") != "63" {
		t.Errorf("another server: %d, score %s", code, w.info(1, "scor"))
	}
}

// The report of a round may be gone when it is sent once more.
func TestRoundCountsOnceWithoutReport(t *testing.T) {
	w := newWorld(t, nil)
	first := snapshot(0, soldier(1, 30))
	w.mustPost(first)
	w.dropReports()
	w.mustPost(first)
	if got := w.info(1, "scor") + " " + w.value("getleaderboard.aspx?type=score&id=overall&pid=1", "score"); got != "30 30" {
		t.Errorf("scores %s", got)
	}
}

// A run that ends between the report and the totals leaves nothing out.
func TestMakeUp(t *testing.T) {
	w := newWorld(t, nil)
	w.mustPost(snapshot(0, soldier(1, 5)))
	if code, _ := w.post(snapshot(1, soldier(1, 30, "kills", "0", "kk1", "4", "mvns", "2", "mvks", "3"), soldier(2, 7))); code != 200 || w.info(1, "scor") != "5" {
		t.Fatal(code, w.info(1, "scor"))
	}
	w.start(nil)
	w.backend.makeUp(t.Context(), makeUpSince)
	w.backend.makeUp(t.Context(), makeUpSince)
	if got := w.info(1, "scor") + " " + w.info(2, "scor") + " " + w.info(1, "kill") + " " + w.info(2, "topr") + " " + w.info(1, "awn-0"); got != "35 7 0 1 2" {
		t.Errorf("totals %s", got)
	}
	if got := w.counters("round_players_total"); got != "counted 2" {
		t.Errorf("players %s", got)
	}
}

// So does one that ends between the boards and the totals.
func TestMakeUpTotals(t *testing.T) {
	w := newWorld(t, nil)
	if code, _ := w.post(snapshot(0, soldier(1, 30), soldier(2, 7))); code != 200 {
		t.Fatal(code)
	}
	c := <-w.backend.waiting
	credits, err := w.backend.admit(t.Context(), c.game, c.round)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.backend.put(t.Context(), c.game, c.round, true, credits); err != nil {
		t.Fatal(err)
	}
	board := func() string { return w.value("getleaderboard.aspx?type=score&id=overall&pid=1", "score") }
	if got := w.info(1, "scor") + " " + board(); got != "0 30" {
		t.Errorf("totals and board %s", got)
	}
	w.start(nil)
	w.backend.makeUp(t.Context(), makeUpSince)
	if got := w.info(1, "scor") + " " + w.info(2, "scor") + " " + board(); got != "30 7 30" {
		t.Errorf("totals and board %s", got)
	}
}

// Totals change behind the answer, and wait until the store is there.
func TestServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.start(func(o *Options) { o.Store = &brokenStore{Store: w.store, edits: 2} })
		ctx, cancel := context.WithCancel(t.Context())
		go w.backend.Serve(ctx)
		if code, text := w.post(snapshot(0, soldier(1, 30))); code != 200 {
			t.Error(code, text)
		}
		time.Sleep(2*retryAfter - time.Second)
		if got := w.info(1, "scor"); got != "0" {
			t.Errorf("score %s without a store", got)
		}
		time.Sleep(2 * time.Second)
		if got := w.info(1, "scor"); got != "30" {
			t.Errorf("score %s", got)
		}
		cancel()
		synctest.Wait()
	})
}

func TestRoundRefused(t *testing.T) {
	w := newWorld(t, nil)
	good := snapshot(0, soldier(1, 30))
	var crowd strings.Builder
	head, _, _ := strings.Cut(good, `\pID_0`)
	crowd.WriteString(head)
	for i := range 100_000 {
		fmt.Fprintf(&crowd, `\pID_%d\1`, i)
	}
	crowd.WriteString(`\EOF\1`)
	players := func(n int) string {
		all := make([]testPlayer, n)
		for i := range all {
			all[i] = testPlayer{"pID", "1"}
		}
		return snapshot(0, all...)
	}
	for name, test := range map[string]struct {
		from   netip.AddrPort
		list   string
		status int
		result string
	}{
		"not listed":       {unlisted, good, http.StatusForbidden, "not_listed 1"},
		"no end":           {listed, strings.TrimSuffix(good, `\EOF\1`), 400, "incomplete 1"},
		"end in a name":    {listed, strings.Replace(strings.TrimSuffix(good, `\EOF\1`), "My", `a\EOF\1`, 1), 400, "incomplete 1"},
		"empty":            {listed, "", 400, "incomplete 1"},
		"only the end":     {listed, `\EOF\1`, 400, "malformed 1"},
		"no begin":         {listed, strings.Replace(good, "mapstart", "mapstar", 1), 400, "malformed 1"},
		"ends early":       {listed, strings.Replace(good, `mapend\1`, `mapend\0`, 1), 400, "malformed 1"},
		"100,000 players":  {listed, crowd.String(), http.StatusRequestEntityTooLarge, "too_large 1"},
		"257 players":      {listed, players(maxPlayers + 1), 400, "too_large 1"},
		"256 players":      {listed, players(maxPlayers), 200, "counted 1"},
		"too many keys":    {listed, good[:len(good)-6] + strings.Repeat(`\a\`, maxPairs) + `\EOF\1`, 400, "too_large 1"},
		"long to keep":     {listed, good[:len(good)-6] + `\x_0\` + strings.Repeat("y", storage.MaxReportPairs) + `\EOF\1`, 200, "counted 1"},
		"too long to keep": {listed, good[:len(good)-6] + `\x\` + strings.Repeat("y", storage.MaxReportPairs) + `\EOF\1`, 400, "too_large 1"},
	} {
		w.start(nil)
		code, text := w.request(test.from, "POST", "/ASP/bf2statistics.php", test.list)
		if got := w.counters("rounds_total"); code != test.status || got != test.result {
			t.Errorf("%s: %d %q, counted %s; want %d, %s", name, code, text, got, test.status, test.result)
		}
		if _, err := ParseAnswer(text); err != nil || text[0] != 'O' && code == 200 || text[0] != 'E' && code != 200 {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if code, _ := w.request(listed, "GET", "/ASP/bf2statistics.php", ""); code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", code)
	}
}

func TestRoundPlayers(t *testing.T) {
	w := newWorld(t, nil)
	w.mustPost(snapshot(0,
		soldier(1, 1), append(soldier(2, 1), "ai", "1"), append(soldier(3, 1), "name", "Tester"),
		testPlayer{"pID", "77", "name", "x", "rs", "5"}, testPlayer{"pID", "0"}, testPlayer{"name", "y"}, testPlayer{"pID", "4", "rs", "9"},
		soldier(1, 10, "t", "2")))
	if got := w.counters("round_players_total"); got != "counted 2, other_name 1, robot 1, unknown 1" {
		t.Errorf("players: %s", got)
	}
	if got := w.info(1, "scor") + " " + w.info(1, "loss") + " " + w.info(2, "scor") + " " + w.info(3, "scor") + " " + w.info(4, "scor"); got != "11 1 0 0 9" {
		t.Errorf("scores and losses %s", got)
	}
}

// Rounds that were forgotten do not count again, nor do earlier ones.
func TestOldRounds(t *testing.T) {
	w := newWorld(t, nil)
	for i := 1; i <= maxRounds+1; i++ {
		w.mustPost(snapshot(i, soldier(1, 1)))
	}
	w.dropReports()
	for _, i := range []int{0, 1, 2, maxRounds + 1} {
		w.mustPost(snapshot(i, soldier(1, 1)))
	}
	if got := w.info(1, "scor"); got != fmt.Sprint(maxRounds+1) {
		t.Errorf("score %s, want %d", got, maxRounds+1)
	}
	if got := w.counters("round_players_total"); got != fmt.Sprintf("counted %d, repeated 2, too_old 2", maxRounds+1) {
		t.Errorf("players: %s", got)
	}
}

// brokenStore is a store that is not available for a while.
type brokenStore struct {
	Store
	edits, reports int // how many fail
}

func (s *brokenStore) EditStatBlock(ctx context.Context, id storage.StatBlockID, limit int64, at time.Time, edit func([]byte) ([]byte, error)) (storage.StatBlock, error) {
	if s.edits--; s.edits >= 0 {
		return storage.StatBlock{}, storage.ErrUnavailable
	}
	return s.Store.EditStatBlock(ctx, id, limit, at, edit)
}

func (s *brokenStore) PutReport(ctx context.Context, r storage.Report, c []storage.Credit, l storage.ReportLimits) (storage.ReportResult, error) {
	if s.reports--; s.reports >= 0 {
		return storage.ReportResult{}, storage.ErrUnavailable
	}
	return s.Store.PutReport(ctx, r, c, l)
}

func (s *brokenStore) Reports(ctx context.Context, game string, before uint64) iter.Seq2[storage.Report, error] {
	return s.Store.Reports(ctx, game, before)
}

func TestRoundWithoutStore(t *testing.T) {
	w := newWorld(t, nil)
	broken := &brokenStore{Store: w.store, reports: 1}
	w.start(func(o *Options) { o.Store = broken })
	list := snapshot(0, soldier(1, 30))
	if code, text := w.post(list); code != http.StatusServiceUnavailable || !strings.HasPrefix(text, "E\n") {
		t.Errorf("round: %d %q", code, text)
	}
	w.mustPost(list)
	if got := w.info(1, "scor") + ", " + w.counters("rounds_total"); got != "30, counted 1, failed 1" {
		t.Errorf("score and rounds %s", got)
	}
}

func TestTake(t *testing.T) {
	w := newWorld(t, nil)
	_, list, _ := strings.Cut(snapshot(0, soldier(1, 30)), `\gameport`)
	pairs, err := stats.ParsePairs([]byte(`\gameport` + list))
	if err != nil {
		t.Fatal(err)
	}
	good := stats.Snapshot{Game: testGame, Server: listed, Done: true, Trusted: true, Pairs: pairs}
	for name, test := range map[string]struct {
		edit  func(*stats.Snapshot)
		taken bool
	}{
		"other game":   {func(s *stats.Snapshot) { s.Game = "other" }, false},
		"unknown game": {func(s *stats.Snapshot) { s.Game = "x" }, false},
		"not listed":   {func(s *stats.Snapshot) { s.Server = unlisted }, false},
		"disk log":     {func(s *stats.Snapshot) { s.Trusted = false }, false},
		"no round":     {func(s *stats.Snapshot) { s.Pairs = nil }, false},
		"not over":     {func(s *stats.Snapshot) { s.Done = false }, true},
	} {
		s := good
		test.edit(&s)
		if taken, err := w.backend.Take(t.Context(), &s); taken != test.taken || err != nil {
			t.Errorf("%s: taken %v, %v", name, taken, err)
		}
	}
	if taken, err := w.backend.Take(t.Context(), &good); !taken || err != nil {
		t.Errorf("taken %v, %v", taken, err)
	}
	w.settle()
	w.mustPost(snapshot(0, soldier(1, 30))) // the same round, posted too
	if got := w.info(1, "scor"); got != "30" {
		t.Errorf("score %s", got)
	}
}

func TestSweep(t *testing.T) {
	w := newWorld(t, nil)
	now := time.Now()
	week := weekOf(now.Unix())
	for w1 := week - 4; w1 <= week; w1++ {
		for id := range storage.ProfileID(3) {
			if err := w.store.PutScore(t.Context(), storage.Score{ScoreID: storage.ScoreID{Game: testGame, Board: weekBoard(w1), Profile: id + 1}, Value: 5}); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.backend.sweep(t.Context(), now)
	var left []int64
	for w1 := week - 4; w1 <= week; w1++ {
		if n, err := w.backend.size(t.Context(), testGame, weekBoard(w1)); err != nil {
			t.Fatal(err)
		} else if n > 0 {
			left = append(left, week-w1)
		}
	}
	if fmt.Sprint(left) != "[1 0]" {
		t.Errorf("boards of %d weeks ago are left", left)
	}
	if a, _ := ParseAnswer(w.get("getleaderboard.aspx?type=risingstar")); len(a.Tables[1].Rows) != 3 || a.Tables[0].Rows[0][0] != "3" {
		t.Errorf("rising stars %+v", a)
	}
	monday := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC).Unix()
	if weekOf(monday) != weekOf(monday-1)+1 {
		t.Error("weeks do not begin on Monday")
	}
}

func TestBoardSizes(t *testing.T) {
	w := newWorld(t, nil)
	for n := range 5 {
		board := fmt.Sprint("size", n)
		for id := range n {
			if err := w.store.PutScore(t.Context(), storage.Score{ScoreID: storage.ScoreID{Game: testGame, Board: board, Profile: storage.ProfileID(id + 1)}}); err != nil {
				t.Log(err) // there are four profiles
			}
		}
		if got, err := w.backend.size(t.Context(), testGame, board); got != min(n, 4) || err != nil {
			t.Errorf("size() of %d players = %d, %v", n, got, err)
		}
	}
}

func TestDamagedTotals(t *testing.T) {
	w := newWorld(t, nil)
	damage := func([]byte) ([]byte, error) { return []byte(`\scor\x`), nil }
	if _, err := w.store.EditStatBlock(t.Context(), blockOf(testGame, 1), storage.MaxStatBytes, time.Now(), damage); err != nil {
		t.Fatal(err)
	}
	if code, text := w.request(home, "GET", "/ASP/getrankinfo.aspx?pid=1", ""); code != 503 || !strings.HasPrefix(text, "E\t120\n") {
		t.Errorf("page: %d %q", code, text)
	}
	w.mustPost(snapshot(0, soldier(1, 5), soldier(2, 6)))
	if got := w.info(2, "scor") + ", " + w.counters("round_players_total"); got != "6, counted 1, failed 1" {
		t.Errorf("score of the other and players: %s", got)
	}
}

func TestSnapshotNames(t *testing.T) {
	list := strings.Replace(snapshot(0, soldier(1, 30), soldier(2, 4)), `name_0\=TAG= Tester\t_0`, `name_0\a\b\c Tester\t_0`, 1)
	pairs, err := parseSnapshot(battlefield2, list)
	if err != nil {
		t.Fatal(err)
	}
	round, err := newRound(battlefield2, listed.Addr(), pairs)
	if err != nil || len(round.Players) != 2 || round.Players[0].Name != `a\b\c Tester` || !round.Players[0].named("tester") || round.Players[1].values["rs"] != 4 {
		t.Errorf("%+v, %v", round, err)
	}
	if round.value("mapname") != "strike_at_karkand" || round.Map != 4 {
		t.Errorf("map %s %d", round.value("mapname"), round.Map)
	}
}

func TestRecordLimits(t *testing.T) {
	var foes []Foe
	for i := range storage.ProfileID(maxFoes + 10) {
		foes = addFoe(foes, i+1, int64(i)+1)
	}
	if len(foes) != maxFoes || most(foes).Profile != maxFoes+10 {
		t.Errorf("%d opponents, most with %d", len(foes), most(foes).Profile)
	}
	r, err := parseRecord(nil)
	if err != nil {
		t.Fatal(err)
	}
	r.add("scor", 1<<40)
	for i := range maxAwards + 1 {
		r.award(3_000_000+i, 1, 5)
	}
	r.award(2_000_001, 1, 5)
	if r.Totals["scor"] != 1<<31-1 || len(r.Awards) != maxAwards {
		t.Errorf("score %d, %d awards", r.Totals["scor"], len(r.Awards))
	}
	for _, bad := range []string{`x`, `\scor\1.5`, `\\1`, `\unlocks\12`, `\unlocks\11,11`, `\award\1.2.3`, `\victims\0.1`, `\killers\1.0`, `\rounds\12`, `\rounds\` + strings.Repeat("g", markLen)} {
		if _, err := parseRecord([]byte(bad)); !errors.Is(err, errRecord) {
			t.Errorf("parseRecord(%q) = %v", bad, err)
		}
	}
}

func TestPagesConfig(t *testing.T) {
	c := PagesConfig{SnapshotServers: make([]netip.Prefix, maxServers)}
	if err := c.CheckPages(); err != nil {
		t.Error(err)
	}
	c.SnapshotServers = append(c.SnapshotServers, netip.Prefix{})
	if err := c.CheckPages(); err == nil || !strings.HasPrefix(err.Error(), "webservices.snapshot_servers: 257 entries") {
		t.Error(err)
	}
	c.SnapshotServers = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	for a, want := range map[string]bool{"192.0.2.1": true, "::ffff:192.0.2.1": true, "192.0.3.1": false} {
		if c.lists(netip.MustParseAddr(a)) != want {
			t.Errorf("lists(%s) = %v", a, !want)
		}
	}
}

func FuzzSnapshot(f *testing.F) {
	f.Add(snapshot(0, soldier(1, 30, "mvns", "2", "mvks", "3", "kcb", "1"), soldier(2, 4)))
	f.Add(snapshot(0, soldier(1, 30, "t", "2"), soldier(1, 3, "t", "0", "rank", "0", "a", "0", "kills", "0", "kk1", "3")))
	f.Add(`\gameport\1\EOF\1`)
	f.Fuzz(func(t *testing.T, list string) {
		pairs, err := parseSnapshot(battlefield2, list)
		if err != nil {
			return
		}
		round, err := newRound(battlefield2, listed.Addr(), pairs)
		if err != nil {
			return
		}
		if len(round.Players) > maxPlayers {
			t.Fatalf("%d players", len(round.Players))
		}
		record, _ := parseRecord(nil)
		for _, p := range round.Players {
			record.addRound(round, p, testRound)
		}
		data := record.appendTo(nil)
		again, err := parseRecord(data)
		if err != nil || string(again.appendTo(nil)) != string(data) {
			t.Errorf("%q: %v", data, err)
		}
		kept, err := stats.ParsePairs(round.kept())
		if err != nil {
			t.Fatal(err)
		}
		other, err := newRound(battlefield2, listed.Addr(), kept)
		if err != nil || other.Mark != round.Mark {
			t.Fatalf("kept as %q: %v", round.kept(), err)
		}
		same, _ := parseRecord(nil)
		for _, p := range other.Players {
			same.addRound(other, p, testRound)
		}
		if got := same.appendTo(nil); string(got) != string(data) && len(round.kept()) < storage.MaxReportPairs/2 {
			t.Errorf("kept as %q: totals %q, want %q", round.kept(), got, data)
		}
	})
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`\scor\5\ktm-3\-9\unlocks\11,22\award\1031406.2.1700000000.0\victims\2.3,3.1\killers\2.1\rounds\0123456789abcdef6553f100`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRecord(data)
		if err != nil {
			return
		}
		text := r.appendTo(nil)
		again, err := parseRecord(text)
		if err != nil || string(again.appendTo(nil)) != string(text) {
			t.Errorf("%q becomes %q: %v", data, text, err)
		}
	})
}
