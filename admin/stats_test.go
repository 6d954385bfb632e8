package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func gmtestBlockID(id storage.ProfileID, kind storage.StatKind, index int32) storage.StatBlockID {
	return storage.StatBlockID{Game: "gmtest", Profile: id, Kind: kind, Index: index}
}

// gmtestBlock is a block of a profile in gmtest.
func gmtestBlock(id storage.ProfileID, kind storage.StatKind, index int32, data string) operator.NewStatBlock {
	return operator.NewStatBlock{Game: "gmtest", Profile: id, Kind: kind, Index: index, Data: []byte(data)}
}

// statsPlayers registers two players and stores something for the first of them.
func statsPlayers(t *testing.T, l *operator.Local, op operator.Conn) (ann, ben storage.Profile) {
	t.Helper()
	var made [2]storage.Profile
	for i, nick := range []string{"Ann", "Ben"} {
		p, err := operator.CreateAccount.Call(t.Context(), op, operator.NewAccount{Email: nick + "@example.com", Nick: nick, Password: "secret"})
		if err != nil {
			t.Fatal(err)
		}
		made[i] = p
	}
	ann, ben = made[0], made[1]
	for _, b := range []operator.NewStatBlock{
		gmtestBlock(ann.ID, 0, 0, "\x00\x01\xff"), gmtestBlock(ann.ID, 3, 0, "\\clan\\A\x00"),
	} {
		if _, err := operator.SetStatBlock.Call(t.Context(), op, b); err != nil {
			t.Fatal(err)
		}
	}
	score := storage.Score{ScoreID: storage.ScoreID{Game: "gmtest", Board: "kills", Profile: ann.ID}, Value: 12.5, Updated: time.Unix(1700000000, 0)}
	if err := l.Store.PutScore(t.Context(), score); err != nil {
		t.Fatal(err)
	}
	return ann, ben
}

func TestPlayerStats(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		ann, ben := statsPlayers(t, l, op)
		got, err := operator.GetPlayerStats.Call(t.Context(), op, operator.ProfileRef{ID: ann.ID})
		if err != nil {
			t.Fatal(err)
		}
		for i := range got.Blocks {
			if time.Since(got.Blocks[i].Modified).Abs() > time.Minute {
				t.Errorf("modified %v, want now", got.Blocks[i].Modified)
			}
			got.Blocks[i].Modified = time.Time{}
		}
		want := operator.PlayerStats{
			Profile: ann.ID, Nick: "Ann",
			Blocks: []operator.StatBlockInfo{
				{StatBlockID: gmtestBlockID(ann.ID, 0, 0), Bytes: 3},
				{StatBlockID: gmtestBlockID(ann.ID, 3, 0), Bytes: 8, Text: `\clan\A`},
			},
			Scores: []storage.Score{{
				ScoreID: storage.ScoreID{Game: "gmtest", Board: "kills", Profile: ann.ID}, Value: 12.5, Updated: time.Unix(1700000000, 0).UTC(), Rank: 1,
			}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("PlayerStats() (-want +got):\n%s", diff)
		}
		b, err := operator.GetStatBlock.Call(t.Context(), op, blockRef(want.Blocks[0].StatBlockID))
		if string(b.Data) != "\x00\x01\xff" || err != nil {
			t.Errorf("StatBlock() = %q, %v", b.Data, err)
		}
		if got, err := operator.GetPlayerStats.Call(t.Context(), op, operator.ProfileRef{ID: ben.ID}); err != nil || len(got.Blocks)+len(got.Scores) != 0 || got.Blocks == nil {
			t.Errorf("PlayerStats() without any = %+v, %v", got, err)
		}
		_, err = operator.GetPlayerStats.Call(t.Context(), op, operator.ProfileRef{ID: 999})
		_, missing := operator.GetStatBlock.Call(t.Context(), op, blockRef(gmtestBlockID(ann.ID, 3, 7)))
		for what, err := range map[string]error{"PlayerStats of no profile": err, "StatBlock": missing} {
			if !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("%s: %v, want ErrNotFound", what, err)
			}
		}
	})
}

func TestSetStatBlock_refused(t *testing.T) {
	forBoth(t, func(t *testing.T, _ *operator.Local, op operator.Conn) {
		unknown := gmtestBlock(1, 3, 0, "x")
		unknown.Game = "nogame"
		for name, tc := range map[string]struct {
			b    operator.NewStatBlock
			want error
		}{
			"profile": {gmtestBlock(999, 3, 0, "x"), storage.ErrNotFound},
			"game":    {unknown, operator.ErrBadRequest},
		} {
			if _, err := operator.SetStatBlock.Call(t.Context(), op, tc.b); !errors.Is(err, tc.want) {
				t.Errorf("%s: SetStatBlock() = %v, want %v", name, err, tc.want)
			}
		}
		for name, b := range map[string]operator.NewStatBlock{
			"kind": gmtestBlock(999, 4, 0, "x"), "index": gmtestBlock(1, 3, -1, "x"), "size": gmtestBlock(1, 3, 0, strings.Repeat("x", storage.MaxStatBlock+1)),
		} {
			_, err := operator.SetStatBlock.Call(t.Context(), op, b)
			if !errors.Is(err, storage.ErrInvalid) && !errors.Is(err, operator.ErrBadRequest) { // the client cannot tell them apart
				t.Errorf("%s: SetStatBlock() = %v, want a refusal", name, err)
			}
		}
	})
}

func TestDeleteStats(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		ann, ben := statsPlayers(t, l, op)
		remove := func(q operator.StatsSelection, want int, wantErr error) {
			t.Helper()
			if n, err := operator.DeleteStats.Call(t.Context(), op, q); n.Removed != want || !errors.Is(err, wantErr) {
				t.Errorf("DeleteStats(%+v) = %d, %v, want %d, %v", q, n, err, want, wantErr)
			}
		}
		left := func(want int) {
			t.Helper()
			s, err := operator.GetPlayerStats.Call(t.Context(), op, operator.ProfileRef{ID: ann.ID})
			if got := len(s.Blocks) + len(s.Scores); got != want || err != nil {
				t.Errorf("%d records, %v, want %d", got, err, want)
			}
		}
		kind, index := storage.StatKind(3), int32(1)
		readOnly, first := storage.StatKind(0), int32(0)
		remove(operator.StatsSelection{Profile: ann.ID, Kind: &kind, Index: &index}, 0, operator.ErrBadRequest)
		remove(operator.StatsSelection{Profile: ann.ID, Game: "gmtest", Kind: &kind, Index: &index}, 0, storage.ErrNotFound)
		remove(operator.StatsSelection{Profile: ann.ID, Game: "gmtest", Kind: &kind}, 0, operator.ErrBadRequest)
		remove(operator.StatsSelection{Profile: ann.ID, Game: "GMtest", Kind: &readOnly, Index: &first}, 1, nil)
		left(2)
		remove(operator.StatsSelection{Profile: ann.ID, Game: "other"}, 0, nil)
		left(2)
		remove(operator.StatsSelection{Profile: ann.ID, Game: "gmtest"}, 2, nil)
		left(0)
		remove(operator.StatsSelection{Profile: ann.ID}, 0, nil)
		remove(operator.StatsSelection{Profile: 999}, 0, storage.ErrNotFound)
		if _, err := operator.SetStatBlock.Call(t.Context(), op, gmtestBlock(ben.ID, 1, 0, "")); err != nil {
			t.Fatal(err)
		}
		remove(operator.StatsSelection{Profile: ben.ID}, 1, nil)
		var actions []string
		page, err := operator.ReadAudit.Call(t.Context(), op, operator.AuditQuery{})
		for _, e := range page.Entries {
			if strings.HasPrefix(e.Action, "stats.") {
				actions = append(actions, strings.Join([]string{e.Action, e.Subject, e.Detail}, "|"))
			}
		}
		want := []string{
			"stats.delete|Ben|all games", "stats.set|Ben|gmtest, kind 1, index 0",
			"stats.delete|Ann|gmtest", "stats.delete|Ann|gmtest, kind 0, index 0",
			"stats.set|Ann|gmtest, kind 3, index 0", "stats.set|Ann|gmtest, kind 0, index 0",
		}
		if diff := cmp.Diff(want, actions); err != nil || diff != "" {
			t.Errorf("audit log: %v (-want +got):\n%s", err, diff)
		}
	})
}

func TestExportStats(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		ann, ben := statsPlayers(t, l, op)
		export := func() (text string, list []operator.StoredStats) {
			t.Helper()
			var b bytes.Buffer
			if leftOut, err := operator.ExportStats.Call(t.Context(), op, operator.None{}, &b); leftOut != 0 || err != nil {
				t.Fatalf("ExportStats() = %d, %v", leftOut, err)
			}
			text = b.String()
			for line := range strings.Lines(text) {
				var s operator.StoredStats
				if err := json.Unmarshal([]byte(line), &s); err != nil {
					t.Fatal(err)
				}
				list = append(list, s)
			}
			return text, list
		}
		text, list := export()
		if len(list) != 1 || strings.Count(text, `"profile"`) != 1 {
			t.Fatalf("export %s, want one player, who is named once", text)
		}
		if _, err := operator.DeleteStats.Call(t.Context(), op, operator.StatsSelection{Profile: ann.ID}); err != nil {
			t.Fatal(err)
		}
		twice := list[0]
		twice.Profile, twice.Blocks = ben.ID, append(twice.Blocks[:1:1], twice.Blocks[0])
		results, err := operator.ImportStats.Call(t.Context(), op, operator.StatsImport{Players: []operator.StoredStats{list[0], list[0], {Profile: 999}, twice}})
		if err != nil || len(results) != 4 {
			t.Fatalf("ImportStats() = %v, %v", results, err)
		}
		for i, want := range []string{"", "already", "no such profile", "repeats"} {
			if got := results[i].Error; (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("import %d: %q, want %q", i, got, want)
			}
		}
		if again, _ := export(); again != text {
			t.Errorf("export after an import:\n%s\nwant\n%s", again, text)
		}
		if _, err := operator.ImportStats.Call(t.Context(), op, operator.StatsImport{Players: nil}); err != nil {
			t.Errorf("ImportStats() of nothing = %v", err)
		}
	})
}

func TestGameStats(t *testing.T) {
	forBoth(t, func(t *testing.T, l *operator.Local, op operator.Conn) {
		for i := range 12 {
			r := storage.Report{Game: "gmtest", Conn: uint64(i + 1), Started: time.Unix(1700000000, 0), Done: i%2 == 0, Trusted: true, Pairs: []byte(`\a\b`)}
			if i == 10 {
				r.Pairs, r.Profiles = []byte(`\player_0\Ann\pid_0\1\player_1\Ben\player_2\Eve`), []storage.ProfileID{1}
			}
			if _, err := l.Store.PutReport(t.Context(), r, nil, storage.ReportLimits{}); err != nil {
				t.Fatal(err)
			}
		}
		statsPlayers(t, l, op)
		board := games.Game{Name: "gmtest", Boards: []games.Board{{Name: "kills", Title: "Kills", Key: "kills", How: games.BoardSum}}}
		if err := l.Catalogue.Catalog().Replace([]games.Game{board}); err != nil {
			t.Fatal(err)
		}
		s, err := operator.GetGameStats.Call(t.Context(), op, operator.GameStatsQuery{Game: "GMTEST"})
		if err != nil || s.Game != "gmtest" || len(s.Reports) != 10 {
			t.Fatalf("GameStats() = %+v, %v, want 10 reports", s, err)
		}
		want := []operator.Board{{Name: "kills", Title: "Kills", Scores: []operator.RankedProfile{
			{Profile: 1, Nick: "Ann", Value: 12.5, Rank: 1, Updated: time.Unix(1700000000, 0).UTC()},
		}}}
		if diff := cmp.Diff(want, s.Boards); diff != "" {
			t.Errorf("boards (-want +got):\n%s", diff)
		}
		a, b := s.Reports[0], s.Reports[1]
		if a.ID <= b.ID || a.Done || !b.Done || a.Bytes != 4 {
			t.Errorf("reports %+v and %+v, want the newest first", a, b)
		}
		if a.PlayersText() != "0" || b.PlayersText() != "1 of 3 proved" {
			t.Errorf("players %q and %q, want 0 and 1 of 3 proved", a.PlayersText(), b.PlayersText())
		}
		if s, err := operator.GetGameStats.Call(t.Context(), op, operator.GameStatsQuery{Game: "gmtest", Reports: 3}); err != nil || len(s.Reports) != 3 {
			t.Errorf("GameStats() of 3 reports = %+v, %v", s, err)
		}
		if _, err := operator.GetGameStats.Call(t.Context(), op, operator.GameStatsQuery{Game: "nogame"}); !errors.Is(err, operator.ErrBadRequest) {
			t.Errorf("GameStats() of an unknown game = %v", err)
		}
	})
}

func blockRef(id storage.StatBlockID) operator.BlockRef {
	return operator.BlockRef{Profile: id.Profile, Game: id.Game, Kind: &id.Kind, Index: &id.Index}
}
