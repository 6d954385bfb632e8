package operator

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// PlayedQuery chooses the reports on a game; without one all are listed.
type PlayedQuery struct {
	Game string `query:"game" arg:"[GAME]"`
}

// ListPlayed returns what players reported of games, in the order of days.
var ListPlayed = New(Operation{
	Name: "played list", Route: "GET /played", What: "Show what players reported of a game, or of all: how far they got, and what services saw of them",
}, func(_ context.Context, l *Local, in PlayedQuery) ([]storage.PlayReport, error) {
	return l.Played.List(l.reportedAs(in.Game)), nil
})

// reportedAs returns the name under which reports on a game are kept.
func (l *Local) reportedAs(game string) string {
	game = storage.Fold(game)
	if base, known := l.Catalogue.Catalog().Base(game); known && base.Name != "" {
		return base.Name
	}
	return game
}

// PlayedRef names a report: DAY/GAME/REPORTER, as lists show it.
type PlayedRef struct {
	ID string `query:"id" arg:"ID"`
}

// strike strikes a report out, or undoes that.
func (l *Local) strike(ctx context.Context, in PlayedRef, struck bool) (Done, error) {
	id, err := storage.ParsePlayReportID(in.ID)
	if err != nil {
		return Done{}, err
	}
	p, ok := l.Played.Get(id)
	if !ok {
		return Done{}, fmt.Errorf("report %q: %w", in.ID, storage.ErrNotFound)
	}
	p.Struck = struck
	return Done{1}, l.Played.Write(about(ctx, id.String(), p.Step), p)
}

// StrikePlayed strikes a report out: it does not count from now on. storage.ErrNotFound: there
// is none.
var StrikePlayed = New(Operation{
	Name: "played strike", Route: "DELETE /played", What: "Strike a report of a player out: it counts no more, and stays in the list",
}, func(ctx context.Context, l *Local, in PlayedRef) (Done, error) { return l.strike(ctx, in, true) })

// RestorePlayed undoes StrikePlayed.
var RestorePlayed = New(Operation{
	Name: "played restore", Route: "POST /played/restore", What: "Count a report again that was struck out",
}, func(ctx context.Context, l *Local, in PlayedRef) (Done, error) { return l.strike(ctx, in, false) })

// NewPlayed is a report that an operator writes by hand.
type NewPlayed struct {
	Game    string `json:"game" arg:"GAME"`
	Source  string `json:"source" flag:"source" needed:"true" doc:"where it is known from"`
	Step    string `json:"step,omitzero" flag:"step" default:"played" doc:"the last step that worked: nothing, server found, signed in, list shown, lobby, joined or played"`
	Copy    string `json:"copy,omitzero" flag:"copy" doc:"the copy: retail, gog, steam, console or other"`
	Version string `json:"version,omitzero" flag:"version" doc:"the version of the game"`
	Day     string `json:"day,omitzero" flag:"day" doc:"the day, as in 2026-11-28; by default today"`
}

// AddPlayed adds a report with a source in place of what a service saw. There is one of each
// source, copy, version, game and day.
var AddPlayed = New(Operation{
	Name: "played add", Route: "PUT /played", What: "Add a report on a game with a source",
}, func(ctx context.Context, l *Local, in NewPlayed) (Done, error) {
	game := l.reportedAs(in.Game)
	if _, known := l.Catalogue.Catalog().Lookup(game); !known {
		return Done{}, fmt.Errorf("%w: there is no game %q", ErrBadRequest, in.Game)
	}
	if strings.TrimSpace(in.Source) == "" {
		return Done{}, fmt.Errorf("%w: a report needs a source", ErrBadRequest)
	}
	sum := sha256.Sum256([]byte(in.Source + "\x00" + in.Copy + "\x00" + in.Version))
	p := storage.PlayReport{
		PlayReportID: storage.PlayReportID{
			Day: cmp.Or(in.Day, time.Now().UTC().Format(time.DateOnly)), Game: game, Reporter: "operator-" + hex.EncodeToString(sum[:6]),
		},
		Copy: in.Copy, Version: in.Version, Step: cmp.Or(in.Step, storage.Played), Source: in.Source,
	}
	return Done{1}, l.Played.Write(about(ctx, p.String(), in.Source), p)
})

// ExportPlayed writes the sums of the reports that count as lines of a table: the game, the
// edition, how often it was played, when last, the version, and the step after which it
// stopped in the last reports. It names no reporter.
var ExportPlayed = NewStream(Operation{
	Name: "played export", Route: "GET /played/export", What: "Write the sums of the reports, a line for each edition of a game, for the catalogue's evidence",
	Type: "text/tab-separated-values",
}, func(_ context.Context, l *Local, _ None, w io.Writer) (leftOut int, err error) {
	if _, err = io.WriteString(w, "# game\tcopies\tplayed\tlast\tversion\tstopped after\n"); err != nil {
		return 0, err
	}
	for g := range l.Catalogue.Catalog().Each() {
		reports := l.Played.Of(g.Name)
		for _, e := range slices.Concat(g.Copies(), g.OtherCopies(reports)) {
			r := reports(e.Copies)
			if r.Times == 0 && r.StoppedAt == "" {
				continue
			}
			if _, err := fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", g.Name, strings.Join(e.Copies, ","), r.Times, r.Last, r.Version, r.StoppedAt); err != nil {
				return 0, err
			}
		}
	}
	return 0, nil
})
