package operator

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/respawnd/respawnd/internal/games"
)

// MaxReported is how many games, differences and reasons a GameImport names; further
// ones are only counted.
const MaxReported = 100

// GameImport is the result of an import of games.
type GameImport struct {
	Format games.Format `json:"format"`
	// Records is the number of records in the list: Games, Merged and Refused.
	Records int `json:"records"`
	Games   int `json:"games"`
	Merged  int `json:"merged"` // records of a game that an earlier record had named
	Refused int `json:"refused"`
	// Stored games are New or Changed, or stated in YAML as they are here.
	Stored  int `json:"stored"`
	New     int `json:"new"`
	Changed int `json:"changed"`

	Taken     []TakenGame     `json:"taken"`
	Differ    []DifferentGame `json:"differ"`
	DifferBy  map[string]int  `json:"differ_by"`   // how many games differ, by field
	LeftOut   []string        `json:"left_out"`    // records and parts of records, with the reason
	LeftOutOf int             `json:"left_out_of"` // how many LeftOut would name
}

// TakenGame is a game of which something was stored.
type TakenGame struct {
	Game   string   `json:"game"`
	New    bool     `json:"new"`
	Fields []string `json:"fields"` // of a game that was known
}

// DifferentGame is a field of a game that has another value in an imported list.
type DifferentGame struct {
	Game string `json:"game"`
	games.Difference
	Taken bool `json:"taken"` // the list's value is in force now
}

// GameFile is a list of games in any format of games.Import.
type GameFile struct {
	Name string `query:"name"` // of the file; it may tell the format
	Data []byte
}

func (*GameFile) contentType() string { return "" }

func (f *GameFile) encode() []byte { return f.Data }

func (f *GameFile) decode(doc []byte) error { f.Data = doc; return nil }

// ImportFile is ImportGames for a list that is not read yet.
var ImportFile = New(Operation{
	Name: "game import", Route: "POST /games/import", What: "Add the games of a list (gslist.cfg, game_list.tsv or our YAML)",
}, func(ctx context.Context, l *Local, f GameFile) (GameImport, error) {
	list, report, err := games.Import(bytes.NewReader(f.Data), f.Name)
	if err != nil {
		return GameImport{}, fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	return ImportGames(ctx, l, list, report)
})

// ImportGames stores the additions of a list of games, as games.Import returned it, to the catalogue, and
// reports the games that it took, that differ and that it left out. Of a list in YAML it stores every record:
// that format can also remove and replace.
func ImportGames(ctx context.Context, c Conn, list []games.Game, report games.Report) (GameImport, error) {
	known, err := ListGames.Call(ctx, c, None{})
	if err != nil {
		return GameImport{}, err
	}
	catalog, err := games.NewCatalog(known)
	if err != nil {
		return GameImport{}, err
	}
	out := GameImport{
		Format: report.Format, Records: report.Read, Games: len(list), Merged: report.Merged, Refused: report.Refused,
		Taken: []TakenGame{}, Differ: []DifferentGame{}, DifferBy: map[string]int{}, LeftOut: []string{}, LeftOutOf: report.TotalProblems,
	}
	for _, p := range report.Problems {
		out.LeftOut = append(out.LeftOut, p.String())
	}
	store := make([]games.Game, 0, len(list))
	for _, g := range list {
		a := catalog.Addition(g)
		if report.Format == games.FormatYAML {
			a = whole(catalog, g)
		}
		if out.note(a); a.New || len(a.Fields) > 0 || report.Format == games.FormatYAML {
			store = append(store, a.Record)
		}
	}
	if out.Stored = len(store); out.Stored == 0 {
		return out, nil
	}
	_, err = PutGames.Call(ctx, c, store)
	return out, err
}

// whole returns a record that is stored as it is.
func whole(catalog *games.Catalog, g games.Game) games.Addition {
	here, known := catalog.Lookup(g.Name)
	a := games.Addition{Record: g, New: !known}
	if known {
		for _, d := range here.Differences(g) {
			a.Fields = append(a.Fields, d.Field)
			a.Differ = append(a.Differ, d)
		}
	}
	return a
}

func (r *GameImport) note(a games.Addition) {
	switch {
	case a.New:
		r.New++
	case len(a.Fields) > 0:
		r.Changed++
	}
	if (a.New || len(a.Fields) > 0) && len(r.Taken) < MaxReported {
		r.Taken = append(r.Taken, TakenGame{Game: a.Record.Name, New: a.New, Fields: append([]string{}, a.Fields...)})
	}
	for _, d := range a.Differ {
		r.DifferBy[d.Field]++
		if len(r.Differ) < MaxReported {
			r.Differ = append(r.Differ, DifferentGame{a.Record.Name, d, slices.Contains(a.Fields, d.Field)})
		}
	}
	for _, reason := range a.LeftOut {
		if r.LeftOutOf++; len(r.LeftOut) < MaxReported {
			r.LeftOut = append(r.LeftOut, "game "+a.Record.Name+": "+reason)
		}
	}
}

// Differing returns how many fields differ.
func (r *GameImport) Differing() (n int) {
	for _, of := range r.DifferBy {
		n += of
	}
	return n
}
