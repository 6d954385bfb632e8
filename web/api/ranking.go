package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of a part of a ranking.
const (
	defaultRanks = 100
	maxRanks     = 500
	maxFromRank  = 100_000
)

// Stats are the scores, data and records that games keep for players; a storage.Store is one.
type Stats interface {
	// Ranking is that of storage.Stats; so are the next three methods.
	Ranking(ctx context.Context, game, board string, from, n int) ([]storage.Score, error)
	RankOf(ctx context.Context, id storage.ScoreID) (storage.Score, error)
	ScoresOf(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.Score, error]
	StatBlocks(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.StatBlock, error]
	// Matches is that of storage.Matches.
	Matches(ctx context.Context, game string, before uint64) iter.Seq2[storage.Match, error]
	// GetSakeTable is that of storage.Sake; so are the next two methods.
	GetSakeTable(ctx context.Context, table storage.SakeTableID) (storage.SakeTable, error)
	SakeRecords(ctx context.Context, table storage.SakeTableID, ids []uint32) ([]storage.SakeRecord, error)
	ScanSake(ctx context.Context, table storage.SakeTableID, scan storage.SakeScan, visit func(*storage.SakeRow) bool) error
	// GetProfile is that of storage.Accounts.
	GetProfile(ctx context.Context, id storage.ProfileID) (storage.Profile, error)
}

// rankingJSON is the answer of /api/v1/games/{name}/ranking.
type rankingJSON struct {
	Game   string       `json:"game"`
	Board  string       `json:"board"`
	Boards []BoardName  `json:"boards"` // all boards of the game
	From   int          `json:"from"`
	Scores []PlayerRank `json:"scores"`
	Next   int          `json:"next,omitzero"` // from of the next part; missing: this is the last
}

// BoardName is a board of a game.
type BoardName struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

// PlayerRank is a score of a player on a board.
type PlayerRank struct {
	Rank    int               `json:"rank"` // from 1; equal scores have equal ranks
	Profile storage.ProfileID `json:"profile"`
	Nick    string            `json:"nick"`
	Value   float64           `json:"value"`
	Updated time.Time         `json:"updated"`
}

// serveRanking answers /api/v1/games/{name}/ranking.
func (s *API) serveRanking(w http.ResponseWriter, r *http.Request, p Params) error {
	from, errFrom := p.between("from", 0, 0, maxFromRank)
	limit, errLimit := p.between("limit", defaultRanks, 1, maxRanks)
	if err := errors.Join(errFrom, errLimit); err != nil {
		return err
	}
	g, err := s.named(r)
	if err != nil {
		return err
	}
	out := rankingJSON{Game: g.Name, Board: p["board"], Boards: s.Boards(g), From: from}
	if len(out.Boards) == 0 {
		return notFound("this game has no boards")
	}
	if out.Board == "" {
		out.Board = out.Boards[0].Name
	}
	if !slices.ContainsFunc(out.Boards, func(b BoardName) bool { return b.Name == out.Board }) {
		return notFound("the game has no such board")
	}
	more := false
	if out.Scores, more, err = s.Ranking(r.Context(), g.Name, out.Board, from, limit); err != nil {
		return s.broken(err, "ranking", g.Name)
	}
	if more {
		out.Next = from + limit
	}
	s.sendJSON(w, r, out)
	return nil
}

// scores reads the scores, matches and records of players.
type scores struct {
	stats   Stats // nil: there are none
	catalog *games.Catalog
}

// Boards returns the boards of a game, none if there are no statistics.
func (s *scores) Boards(g games.Game) (list []BoardName) {
	if s.stats == nil {
		return nil
	}
	base, _ := s.catalog.Base(g.Name)
	for _, b := range base.Boards {
		list = append(list, BoardName{b.Name, cmp.Or(clean.Text(b.Title), b.Name)})
	}
	return list
}

// Ranking returns up to n scores of a board, the highest first, without the first from,
// and reports whether others follow. Players who were deleted meanwhile are left out.
func (s *scores) Ranking(ctx context.Context, game, board string, from, n int) (list []PlayerRank, more bool, err error) {
	scores, err := s.stats.Ranking(ctx, game, board, from, n+1)
	if err != nil {
		return nil, false, err
	}
	list = []PlayerRank{}
	for _, score := range scores[:min(len(scores), n)] {
		p, err := s.stats.GetProfile(ctx, score.Profile)
		switch {
		case errors.Is(err, storage.ErrNotFound):
		case err != nil:
			return nil, false, fmt.Errorf("profile %d: %w", score.Profile, err)
		default:
			list = append(list, PlayerRank{score.Rank, score.Profile, clean.Text(p.Nick), score.Value, score.Updated.UTC().Truncate(time.Second)})
		}
	}
	return list, len(scores) > n, nil
}
