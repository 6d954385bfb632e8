package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of a part of the matches of a game.
const (
	defaultMatches = 20
	maxMatches     = 100
)

// matchesJSON is the answer of /api/v1/games/{name}/matches.
type matchesJSON struct {
	Game    string  `json:"game"`
	Matches []Match `json:"matches"`
	Next    int     `json:"next,omitzero"` // before of the next part; missing: this is the last
}

// Match is a match that the games of its players reported.
type Match struct {
	ID       uint64        `json:"id"`
	Outcome  string        `json:"outcome"`
	Counts   bool          `json:"counts"` // the results are valid
	Reported time.Time     `json:"reported"`
	Players  []MatchPlayer `json:"players"`
}

// MatchPlayer is a player of a match. A guest has no profile.
type MatchPlayer struct {
	Profile storage.ProfileID `json:"profile,omitzero"`
	Nick    string            `json:"nick,omitzero"`
	Team    uint32            `json:"team"`
	Result  string            `json:"result"`
}

// serveMatches answers /api/v1/games/{name}/matches.
func (s *API) serveMatches(w http.ResponseWriter, r *http.Request, p Params) error {
	before, errBefore := p.between("before", 0, 0, 1<<31-1)
	limit, errLimit := p.between("limit", defaultMatches, 1, maxMatches)
	if err := errors.Join(errBefore, errLimit); err != nil {
		return err
	}
	g, err := s.named(r)
	if err != nil {
		return err
	}
	out := matchesJSON{Game: g.Name}
	more := false
	if out.Matches, more, err = s.Matches(r.Context(), g.Name, uint64(before), limit); err != nil {
		return s.broken(err, "matches", g.Name)
	}
	if more {
		out.Next = int(out.Matches[limit-1].ID)
	}
	s.sendJSON(w, r, out)
	return nil
}

// Matches returns up to n matches of a game, the newest first, those below an id (0: all),
// and reports whether others follow.
func (s *scores) Matches(ctx context.Context, game string, before uint64, n int) (list []Match, more bool, err error) {
	list = []Match{}
	if s.stats == nil {
		return list, false, nil
	}
	for m, err := range s.stats.Matches(ctx, game, before) {
		switch {
		case errors.Is(err, storage.ErrDamaged):
			continue
		case err != nil:
			return nil, false, err
		case len(list) == n:
			return list, true, nil
		}
		list = append(list, newMatch(&m))
	}
	return list, false, nil
}

// newMatch returns a match without the fields that only operators see.
func newMatch(m *storage.Match) Match {
	out := Match{
		ID: m.ID, Outcome: string(m.Outcome), Counts: m.Outcome.Counts(), Reported: m.First.UTC().Truncate(time.Second),
		Players: make([]MatchPlayer, 0, len(m.Players)),
	}
	for _, p := range m.Players {
		out.Players = append(out.Players, MatchPlayer{p.Profile, clean.Text(p.Nick), p.Team, p.Result})
	}
	return out
}
