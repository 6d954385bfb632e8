package operator_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
)

const importedTSV = "Test game\tgmtest\t8\taBcDeF\t\t\nFresh\tfresh\t9\taBcDeF\t\t\n\tnokey\t4\t\t\t\n\tbad name\t5\t\t\t\n"

func TestImportGames(t *testing.T) {
	for name, tc := range map[string]struct {
		file, text string
		want       operator.GameImport
	}{
		"TSV": {"list.tsv", importedTSV, operator.GameImport{
			Format: games.FormatTSV, Records: 4, Games: 3, Refused: 1, Stored: 3, New: 1, Changed: 2,
			Taken: []operator.TakenGame{
				{Game: "gmtest", Fields: []string{"secrets"}}, {Game: "fresh", New: true, Fields: []string{}}, {Game: "nokey", Fields: []string{"id"}},
			},
			Differ: []operator.DifferentGame{
				{Game: "gmtest", Difference: games.Difference{Field: "title", Here: "Test", Imported: "Test game"}},
				{Game: "gmtest", Difference: games.Difference{Field: "id", Here: "7", Imported: "8"}},
			},
			DifferBy:  map[string]int{"title": 1, "id": 1},
			LeftOut:   []string{`list.tsv:4: game "bad name": name must be 1 to 31 characters of a-z, 0-9, _ and -, and must not start with -`},
			LeftOutOf: 1,
		}},
		"YAML": {"own.yaml", "games: [{name: gmtest, title: Mine, id: 7}, {name: fresh}, {name: nokey}]", operator.GameImport{
			Format: games.FormatYAML, Records: 3, Games: 3, Stored: 3, New: 1, Changed: 1,
			Taken:    []operator.TakenGame{{Game: "gmtest", Fields: []string{"title"}}, {Game: "fresh", New: true, Fields: []string{}}},
			Differ:   []operator.DifferentGame{{Game: "gmtest", Difference: games.Difference{Field: "title", Here: "Test", Imported: "Mine"}, Taken: true}},
			DifferBy: map[string]int{"title": 1}, LeftOut: []string{},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLocal(t)
			list, report, err := games.Import(strings.NewReader(tc.text), tc.file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := operator.ImportGames(t.Context(), l, list, report)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if _, known := l.Catalogue.Catalog().Lookup("fresh"); !known {
				t.Error("the new game is not in the catalogue")
			}
		})
	}
	t.Run("bounded", func(t *testing.T) {
		l := newLocal(t)
		var list []games.Game
		for i := range operator.MaxReported + 20 {
			list = append(list, games.Game{Name: "g" + strings.Repeat("x", i%25) + string(rune('a'+i/25)), Title: "T"})
		}
		got, err := operator.ImportGames(t.Context(), l, list, games.Report{Format: games.FormatTSV})
		if err != nil || got.New != len(list) || len(got.Taken) != operator.MaxReported {
			t.Errorf("%d new, %d named, %v; want %d and %d", got.New, len(got.Taken), err, len(list), operator.MaxReported)
		}
	})
}
