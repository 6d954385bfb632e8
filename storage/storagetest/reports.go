package storagetest

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// report returns an update of a game on a connection.
func report(conn uint64, pairs string) storage.Report {
	return storage.Report{
		Game: "gmtest", Conn: conn, Session: -7, Server: netip.MustParseAddrPort("192.0.2.7:6500"), Trusted: true,
		Started: moment(), Updated: moment(), Profiles: []storage.ProfileID{3, 5}, Pairs: []byte(pairs),
	}
}

// putReport stores a report and returns its id. want.ID is ignored.
func putReport(t tester, s storage.Store, r storage.Report, want storage.ReportResult, credits ...storage.Credit) uint64 {
	t.Helper()
	got, err := s.PutReport(context.Background(), r, credits, storage.ReportLimits{})
	want.ID = got.ID
	if got != want || err != nil {
		t.Errorf("PutReport(%q of %d) = %+v, %v, want %+v", r.Pairs, r.Conn, got, err, want)
	}
	return got.ID
}

func pairsOf(reports []storage.Report) string {
	var all []string
	for _, r := range reports {
		all = append(all, string(r.Pairs))
	}
	return strings.Join(all, " ")
}

func testReportLife(t *testing.T, s storage.Store) {
	stored, ignored := storage.ReportResult{Stored: true}, storage.ReportResult{}
	begin := report(1, "")
	begin.New = true
	id := putReport(t, s, begin, stored)
	update := report(1, "\\hostname\\A\x00\xff")
	update.Started, update.Updated = moment().Add(time.Hour), moment().Add(time.Minute)
	putReport(t, s, update, stored)
	if again := putReport(t, s, begin, ignored); again != id {
		t.Errorf("the beginning of a game that runs is report %d, want %d", again, id)
	}
	want := update
	want.ID, want.Started = id, moment()
	got := must(s.GetReport(t.Context(), id))(t)
	differ(t, "report", got, want)

	log := report(1, "final")
	log.Done, log.Trusted = true, false
	putReport(t, s, log, stored)
	late := report(1, "late")
	if after := putReport(t, s, late, ignored); after != id {
		t.Errorf("an update of a final report is of %d, want %d", after, id)
	}
	if got, err := s.GetReport(t.Context(), id); err != nil || string(got.Pairs) != "final" || got.Trusted || !got.Done {
		t.Errorf("GetReport() = %+v, %v, want the final one, not trusted", got, err)
	}
	second := putReport(t, s, begin, stored)
	putReport(t, s, report(1, "second"), stored)
	putReport(t, s, report(2, "other connection"), stored)
	elsewhere := report(1, "other game")
	elsewhere.Game = "gmtest2"
	putReport(t, s, elsewhere, stored)
	if got := pairsOf(collect(t, s.Reports(t.Context(), "gmtest", 0))); second == id || got != "other connection second final" {
		t.Errorf("Reports() = %s", got)
	}
	if got := pairsOf(collect(t, s.Reports(t.Context(), "gmtest", second))); got != "final" {
		t.Errorf("Reports() below %d = %s, want final", second, got)
	}
	wantErr(t, s.DeleteReport(t.Context(), second), nil, "DeleteReport()")
	wantErr(t, errOf(s.GetReport(t.Context(), second)), storage.ErrNotFound, "GetReport() after deletion")
	wantErr(t, s.DeleteReport(t.Context(), second), storage.ErrNotFound, "DeleteReport() again")
	if again := putReport(t, s, report(1, "third"), stored); again <= second {
		t.Errorf("a report after a deletion got id %d, want one above %d", again, second)
	}
}

// testReportCredits checks that scores change exactly once, by trusted final
// reports.
func testReportCredits(t *testing.T, s storage.Store) {
	_, a := createUser(t, s, user("a@b.c"), profile("A"))
	credit := func(p storage.ProfileID, board string, how storage.ScoreRule, value float64) storage.Credit {
		return storage.Credit{ScoreID: storage.ScoreID{Game: "gmtest", Board: board, Profile: p}, How: how, Value: value}
	}
	credits := func(v float64) []storage.Credit {
		return []storage.Credit{
			credit(a.ID, "kills", storage.ScoreSum, v), credit(a.ID, "best", storage.ScoreMax, v),
			credit(a.ID, "last", storage.ScoreLast, v), credit(a.ID+1, "kills", storage.ScoreSum, v),
		}
	}
	for i, step := range []struct {
		done, trusted bool
		conn          uint64
		value         float64
		stored        bool
		credited      int
		want          string
	}{
		{false, true, 1, 5, true, 0, ""},
		{true, true, 1, 5, true, 3, "best=5 kills=5 last=5"},
		{true, true, 1, 5, false, 0, "best=5 kills=5 last=5"},
		{true, false, 2, 50, true, 0, "best=5 kills=5 last=5"},
		{true, true, 2, 50, false, 0, "best=5 kills=5 last=5"},
		{true, true, 3, 2, true, 3, "best=5 kills=7 last=2"},
		{false, false, 4, 9, true, 0, "best=5 kills=7 last=2"},
		{true, true, 4, 9, true, 0, "best=5 kills=7 last=2"}, // not trusted before
	} {
		r := report(step.conn, "x")
		r.Done, r.Trusted = step.done, step.trusted
		putReport(t, s, r, storage.ReportResult{Stored: step.stored, Credited: step.credited}, credits(step.value)...)
		var got []string
		for _, score := range collect(t, s.ScoresOf(t.Context(), a.ID)) {
			got = append(got, fmt.Sprintf("%s=%v", score.Board, score.Value))
		}
		if got := strings.Join(got, " "); got != step.want {
			t.Errorf("step %d: scores %s, want %s", i, got, step.want)
		}
	}
}

func testReportLimits(t *testing.T, s storage.Store) {
	put := func(game string, conn uint64, limits storage.ReportLimits) storage.ReportResult {
		t.Helper()
		r := report(conn, strings.Repeat("x", 1000))
		r.Game = game
		got := must(s.PutReport(t.Context(), r, nil, limits))(t)
		return got
	}
	three := storage.ReportLimits{PerGame: 3}
	for i := range uint64(3) {
		if got := put("gmtest", i, three); got.Dropped != 0 {
			t.Errorf("report %d dropped %d", i, got.Dropped)
		}
	}
	oldest := put("gmtest", 0, three)
	put("other", 0, three)
	if got := put("gmtest", 3, three); got.Dropped != 1 {
		t.Errorf("a fourth report dropped %d, want 1", got.Dropped)
	}
	wantErr(t, errOf(s.GetReport(t.Context(), oldest.ID)), storage.ErrNotFound, "GetReport() of the oldest")
	if got := put("gmtest", 3, storage.ReportLimits{PerGame: 1}); got.Dropped != 2 {
		t.Errorf("a lower limit dropped %d, want 2", got.Dropped)
	}
	for i := range uint64(10) {
		put("other", i+10, storage.ReportLimits{})
	}
	if got := put("gmtest", 9, storage.ReportLimits{Bytes: 4000}); got.Dropped != 10 {
		t.Errorf("a limit of 4000 bytes dropped %d of 13, want 10", got.Dropped)
	}
	totals, err := s.StatTotals(t.Context())
	if err != nil || totals.Reports != 3 || totals.ReportBytes > 4000 {
		t.Errorf("StatTotals() = %+v, %v, want 3 reports", totals, err)
	}
	if got := put("gmtest", 11, storage.ReportLimits{Bytes: 1}); got.Dropped != 3 {
		t.Errorf("a limit that the report itself exceeds dropped %d, want 3", got.Dropped)
	}
	if got := len(collect(t, s.Reports(t.Context(), "gmtest", 0))); got != 1 {
		t.Errorf("%d reports are left, want the new one", got)
	}
}

func testReportSweep(t *testing.T, s storage.Store) {
	for i := range 150 {
		r := report(uint64(i), "x")
		r.Started = moment().Add(time.Duration(i) * time.Minute)
		putReport(t, s, r, storage.ReportResult{Stored: true})
	}
	differ(t, "SweepReports()", must(s.SweepReports(t.Context(), moment().Add(120*time.Minute)))(t), 120)
	differ(t, "SweepReports() again", must(s.SweepReports(t.Context(), moment().Add(120*time.Minute)))(t), 0)
	if got := len(collect(t, s.Reports(t.Context(), "gmtest", 0))); got != 30 {
		t.Errorf("%d reports are left, want 30", got)
	}
}

func testReportInvalid(t *testing.T, s storage.Store) {
	edge := report(1, strings.Repeat("x", storage.MaxReportPairs))
	edge.Profiles = make([]storage.ProfileID, storage.MaxReportProfiles)
	putReport(t, s, edge, storage.ReportResult{Stored: true})
	for name, change := range map[string]func(*storage.Report){
		"no game":           func(r *storage.Report) { r.Game = "" },
		"pairs too long":    func(r *storage.Report) { r.Pairs = make([]byte, storage.MaxReportPairs+1) },
		"too many profiles": func(r *storage.Report) { r.Profiles = make([]storage.ProfileID, storage.MaxReportProfiles+1) },
	} {
		r := edge
		change(&r)
		wantErr(t, errOf(s.PutReport(t.Context(), r, nil, storage.ReportLimits{})), storage.ErrInvalid, "%s: PutReport()", name)
	}
	good := storage.Credit{ScoreID: scoreOf(1, 0).ScoreID, How: storage.ScoreSum, Value: storage.MaxScore}
	many := make([]storage.Credit, storage.MaxCredits)
	for i := range many {
		many[i] = good
	}
	final := report(2, "final")
	putReport(t, s, final, storage.ReportResult{Stored: true}, many...)
	rule, value := good, good
	rule.How, value.Value = storage.ScoreLast+1, 2*storage.MaxScore
	for name, credits := range map[string][]storage.Credit{"too many credits": append(many, good), "rule": {rule}, "value": {value}} {
		wantErr(t, errOf(s.PutReport(t.Context(), final, credits, storage.ReportLimits{})), storage.ErrInvalid, "%s: PutReport()", name)
	}
}
