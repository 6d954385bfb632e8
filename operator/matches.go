package operator

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/storage"
)

// MaxMatchesListed is how many matches one call lists.
const MaxMatchesListed = 100

// MatchQuery selects matches of a game.
type MatchQuery struct {
	Game   string `path:"name" arg:"GAME"`
	Before uint32 `query:"before"` // only ids below it; 0: all
}

// ListMatches returns up to MaxMatchesListed matches, the newest first, without the reports
// themselves.
var ListMatches = New(Operation{
	Name: "matches list", Route: "GET /games/{name}/matches", What: "Show the last 100 matches of a game", About: noun.Stats,
}, func(ctx context.Context, l *Local, q MatchQuery) ([]storage.Match, error) {
	g, ok := l.Catalogue.Catalog().Lookup(q.Game)
	if !ok {
		return nil, fmt.Errorf("%w: unknown game %q", ErrBadRequest, q.Game)
	}
	list := []storage.Match{} // never null as JSON
	for m, err := range l.Store.Matches(ctx, g.Name, uint64(q.Before)) {
		if errors.Is(err, storage.ErrDamaged) {
			continue // the start of the daemon reports it
		}
		if err != nil {
			return nil, err
		}
		m.Versions = nil
		if list = append(list, m); len(list) == MaxMatchesListed {
			break
		}
	}
	return list, nil
})

// MatchRef names a match.
type MatchRef struct {
	ID uint32 `path:"id" arg:"ID" doc:"the id of a match: 'respawnd matches list GAME' shows them"`
}

// GetMatch returns a match with its reports. storage.ErrNotFound: there is none.
var GetMatch = New(Operation{
	Name: "matches show", Route: "GET /matches/{id}", What: "Show the reports of a match", About: noun.Stats,
}, func(ctx context.Context, l *Local, in MatchRef) (storage.Match, error) {
	m, err := l.Store.GetMatch(ctx, uint64(in.ID))
	return m, matchError(in.ID, err)
})

// DeleteMatch deletes a match. Scores stay.
var DeleteMatch = New(Operation{
	Name: "matches delete", Route: "DELETE /matches/{id}", What: "Delete a match; scores stay", Action: "match.delete", About: noun.Stats, Destroys: true,
}, func(ctx context.Context, l *Local, in MatchRef) (Removed, error) {
	ctx = aboutID(ctx, in.ID, "match "+strconv.FormatUint(uint64(in.ID), 10), "")
	return Removed{1}, matchError(in.ID, l.Store.DeleteMatch(ctx, uint64(in.ID)))
})

func matchError(id uint32, err error) error {
	return subject(err, "match %d", id)
}
