package admin

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func TestPageStats(t *testing.T) {
	x := newSite(t, nil)
	ann, ben := statsPlayers(t, x.l, x.l)
	b := x.operator(t)
	if _, err := operator.SetStatBlock.Call(t.Context(), x.l, gmtestBlock(ann.ID, 2, 1, "<script>")); err != nil {
		t.Fatal(err)
	}
	wantParts := func(path string, want, not []string) {
		t.Helper()
		p := b.get(path)
		for _, text := range want {
			if !strings.Contains(p.body, text) {
				t.Errorf("%s lacks %q", path, text)
			}
		}
		for _, text := range not {
			if strings.Contains(p.body, text) {
				t.Errorf("%s has %q", path, text)
			}
		}
	}
	wantParts("/accounts/1", []string{
		"Statistics of <bdi>Ann</bdi> (profile 1)", "kills", "12.5", `<bdi>\clan\A</bdi>`, "<i>binary</i>", "private, read-only", "&lt;script&gt;",
	}, []string{"<script>", "profile 2"})
	wantParts("/accounts/2", []string{"Ben"}, []string{"Statistics of"})

	post := func(account string, fields ...string) page { return b.post("/accounts/"+account+"/stats", fields...) }
	wantRefused(t, "other account", post("2", "profile", "1"), http.StatusBadRequest, "not one of this account")
	wantRefused(t, "no profile", post("1"), http.StatusBadRequest, "profile is not a number")
	wantRefused(t, "no kind", post("1", "profile", "1", "game", "gmtest", "index", "0"), http.StatusBadRequest, "kind is not a number")
	wantRefused(t, "no such block", post("1", "profile", "1", "game", "gmtest", "kind", "3", "index", "9"), http.StatusNotFound, "")
	wantRefused(t, "index below 0", post("1", "profile", "1", "game", "gmtest", "kind", "0", "index", "-5"), http.StatusBadRequest, "index is not a number from 0")
	b.wantDone(t, post("1", "profile", "1", "game", "gmtest", "kind", "0", "index", "0"), "Deleted from profile 1: 1 of")
	wantParts("/accounts/1", []string{`<bdi>\clan\A</bdi>`}, []string{"<i>binary</i>"})
	b.wantDone(t, post("1", "profile", "1"), "Deleted from profile 1: 3 of")
	wantParts("/accounts/1", nil, []string{"Statistics of"})

	wantParts("/games/gmtest", nil, []string{"Board", "Reported games"})
	board := games.Game{Name: "gmtest", Boards: []games.Board{{Name: "kills", Title: "<Kills>", Key: "kills", How: games.BoardSum}}}
	if err := operator.PutGames.Exec(t.Context(), x.l, []games.Game{board}); err != nil {
		t.Fatal(err)
	}
	wantParts("/games/gmtest", []string{"&lt;Kills&gt;", "No player has a score"}, []string{"Reported games"})
	score := storage.Score{ScoreID: storage.ScoreID{Game: "gmtest", Board: "kills", Profile: ben.ID}, Value: 77, Updated: time.Unix(1700000000, 0)}
	if err := x.l.Store.PutScore(t.Context(), score); err != nil {
		t.Fatal(err)
	}
	report := storage.Report{Game: "gmtest", Conn: 1, Server: netip.MustParseAddrPort("192.0.2.7:6500"), Started: time.Unix(1700000000, 0)}
	if _, err := x.l.Store.PutReport(t.Context(), report, nil, storage.ReportLimits{}); err != nil {
		t.Fatal(err)
	}
	wantParts("/games/gmtest", []string{"<bdi>Ben</bdi>", "77", "Reported games", "192.0.2.7:6500", "running, reported afterwards"}, nil)
	if s, err := operator.GetGameStats.Call(t.Context(), x.l, operator.GameStatsQuery{Game: "gmtest"}); err != nil || len(s.Boards) != 1 {
		t.Errorf("GameStats() = %+v, %v, want the stored board", s, err)
	}
}
