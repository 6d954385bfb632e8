package sake

import (
	"fmt"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
)

// career lets players of EA's games have totals in all modes.
func career(t *testing.T) *fixture {
	t.Helper()
	return newFixture(t, func(o *Options) {
		var list []games.Game
		for name, first := range map[string]int{"redalert3pc": 74, "cc3tibwars": 74, "cc3xp1": 119} {
			g := games.Game{Name: name, Secrets: []string{"HA6zkS"}}
			for i, board := range []string{"ranked-1v1", "ranked-2v2", "clan-1v1", "clan-2v2"} {
				g.Boards = append(g.Boards, games.Board{Name: board, Key: fmt.Sprint(first + i), How: games.BoardElo})
			}
			list = append(list, g)
			for board, value := range map[string]float64{
				"unranked-win": 1, "ranked-1v1-win": 3, "ranked-1v1-loss": 1, "ranked-1v1-seconds": 4000, "clan-2v2-disconnect": 2, "clan-2v2-desync": 5, "experience": 24,
			} {
				s := storage.Score{ScoreID: storage.ScoreID{Game: name, Board: board, Profile: 1}, Value: value}
				if err := o.Store.(interface {
					storage.Stats
				}).PutScore(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := o.Games.Replace(list); err != nil {
			t.Fatal(err)
		}
	})
}

// many asks for more fields than have names.
func many() string {
	var names []string
	for i := range maxNamed + 1 {
		names = append(names, fmt.Sprint("f", i))
	}
	return fieldsOf(names...)
}

// TestCareer reads the totals at their positions in each game.
func TestCareer(t *testing.T) {
	f := career(t)
	for game, tt := range map[string]struct {
		size int
		want map[int]string
	}{
		"cc3tibwars": {160, map[int]string{
			0: "intValue 0", 20: "intValue 1", 21: "intValue 4", 24: "intValue 7", 41: "intValue 1", 60: "intValue 1", 61: "intValue 3",
			80: "floatValue 100", 81: "floatValue 75", 82: "floatValue 0", 99: "floatValue 0", 101: "intValue 1000", 149: "floatValue 0", 154: "intValue 2", 159: "intValue 5",
		}},
		"redalert3pc": {190, map[int]string{21: "intValue 4", 85: "floatValue 0", 150: "intValue 0", 171: "intValue 4000", 184: "intValue 2", 189: "intValue 5"}},
		"cc3xp1": {420, map[int]string{
			24: "intValue 12", 25: "intValue 1", 26: "intValue 4", 29: "intValue 7", 104: "intValue 1", 180: "intValue 4", 258: "floatValue 33.333332",
			264: "floatValue 0", 335: "floatValue 0", 338: "intValue 1000", 342: "intValue 4000", 395: "floatValue 0", 396: "intValue 0", 408: "intValue 2", 419: "intValue 5",
		}},
	} {
		reply := f.send(game, body(1, "GetMyRecords", "MyStats", many()))
		var values []string
		for _, v := range strings.Split(reply, "<RecordValue><")[1:] {
			kind, rest, _ := strings.Cut(v, "><value>")
			text, _, _ := strings.Cut(rest, "<")
			values = append(values, kind+" "+text)
		}
		if len(values) != tt.size || strings.Count(reply, "<ArrayOfRecordValue>") != 1 {
			t.Fatalf("%s: %d values, want %d in one record: %.300s", game, len(values), tt.size, reply)
		}
		for at, want := range tt.want {
			if values[at] != want {
				t.Errorf("%s: value %d is %q, want %q", game, at, values[at], want)
			}
		}
	}
}

// TestCareerTables reads the tables that are not stored, and those that are.
func TestCareerTables(t *testing.T) {
	f := career(t)
	for name, tt := range map[string]struct{ method, table, rest, want string }{
		"by name":        {"GetMyRecords", "PlayerStats", fieldsOf("score", "Rank", "ownerid", "other"), list([]string{"intValue", "24", "intValue", "4", "intValue", "1", "intValue", "0"})},
		"multipliers":    {"GetSpecificRecords", "ScoringMultipliers", "", list([]string{"shortValue", "1", "shortValue", "2", "shortValue", "2", "shortValue", "5"})},
		"ticker":         {"GetSpecificRecords", "TickerMgmt", "", list([]string{"floatValue", "30", "shortValue", "10", "floatValue", "50", "floatValue", "25", "floatValue", "25"})},
		"news":           {"SearchForRecords", "NewsTicker", "", list([]string{"unicodeStringValue", "", "intValue", "0", "shortValue", "1"})},
		"rank":           {"SearchForRecords", "PlayerStats", "<filter>ownerid = 1</filter>", list([]string{"intValue", "4", "intValue", "1"})},
		"rank of no one": {"SearchForRecords", "PlayerStats", "<filter>ownerid=2</filter>", list([]string{"intValue", "1", "intValue", "2"})},
		"best":           {"SearchForRecords", "PlayerStats", "<max>5</max>", list([]string{"intValue", "1", "intValue", "4", "intValue", "24"})},
		"best of none":   {"SearchForRecords", "PlayerStats", "<max>0</max>", list()},
		"rating":         {"SearchForRecords", "RatingPlayer", "", list([]string{"unicodeStringValue", "", "intValue", "1", "intValue", "0", "intValue", "0"})},
	} {
		got := f.send("redalert3pc", body(1, tt.method, tt.table, tt.rest))
		if want := "<" + tt.method + "Result>Success</" + tt.method + "Result>" + tt.want; got != want {
			t.Errorf("%s:\n%s, want\n%s", name, got, want)
		}
	}
	if got := f.send("redalert3pc", body(1, "CreateRecord", "Levels", record("i", "intValue", "1"))); !strings.Contains(got, "NoPermission") {
		t.Errorf("a player makes a level: %s", got)
	}
	if got := f.send("redalert3pc", body(1, "SearchForRecords", "Levels", "")); strings.Count(got, "<intValue>") != 87 {
		t.Errorf("levels are %.300s", got)
	}
	f.send("redalert3pc", body(1, "CreateRecord", "own", record("i", "intValue", "5")))
	if got := f.send("redalert3pc", body(1, "GetMyRecords", "own", fieldsOf("i"))); !strings.HasSuffix(got, list([]string{"intValue", "5"})) {
		t.Errorf("a record of the player is %s", got)
	}
}
