package competition

import (
	"context"
	"errors"
	"math"
	"strconv"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
)

// Ratings of Elo, as public servers of Red Alert 3 have them.
const (
	firstRating = 1200 // of a player without matches
	leastRating = 100
	eliteRating = 2400

	newcomerGames = 30 // below it a rating moves fast
	newcomerStep  = 40
	usualStep     = 20
	eliteStep     = 10
	leaverFactor  = 1.5 // of the step, for losing by disconnecting

	// gamesBoard is behind the name of a board on that of how many matches it is made of.
	gamesBoard = "-games"
)

// rated is a player of a match that changes ratings.
type rated struct {
	profile storage.ProfileID
	team    uint32
	result  Result
	rating  float64
	games   float64
}

// ratings returns the new ratings of the players of a match on the boards that it counts for:
// those whose key is one of the match and not 0. There are up to most credits.
func (backend *Backend) ratings(ctx context.Context, m *storage.Match, r *Report, most int) (out []storage.Credit, err error) {
	for _, b := range backend.boards(m.Game) {
		if b.How != games.BoardElo || !r.counts(b.Key) {
			continue
		}
		players, err := backend.rated(ctx, m, r, b.Name)
		if err != nil {
			return nil, err
		}
		for i := range players {
			p := &players[i]
			id := storage.ScoreID{Game: m.Game, Board: b.Name, Profile: p.profile}
			played := storage.ScoreID{Game: m.Game, Board: b.Name + gamesBoard, Profile: p.profile}
			if value, ok := p.after(players); ok && len(out)+2 <= most {
				// The store adds the step: another match of the player may be settled meanwhile, on any node.
				out = append(out, storage.Credit{ScoreID: id, How: storage.ScoreSum, Value: value - p.rating, Start: firstRating},
					storage.Credit{ScoreID: played, How: storage.ScoreSum, Value: 1})
			}
		}
	}
	return out, nil
}

// counts reports whether the match has a key that is not 0.
func (r *Report) counts(key string) bool {
	id, err := strconv.ParseUint(key, 10, 16)
	return err == nil && r.value(uint16(id)) != 0
}

// rated returns the players of a match with their ratings so far, each once.
func (backend *Backend) rated(ctx context.Context, m *storage.Match, r *Report, board string) (all []rated, err error) {
	seen := make(map[storage.ProfileID]bool)
	for i := range r.Players {
		p := &r.Players[i]
		side := sideOf(m, p.Conn.String())
		if side == nil || side.Profile == 0 || seen[side.Profile] {
			continue
		}
		seen[side.Profile] = true
		now := rated{profile: side.Profile, team: p.Team, result: p.Result, rating: firstRating}
		for name, into := range map[string]*float64{board: &now.rating, board + gamesBoard: &now.games} {
			s, err := backend.opt.Store.RankOf(ctx, storage.ScoreID{Game: m.Game, Board: name, Profile: side.Profile})
			if err == nil {
				*into = s.Value
			} else if !errors.Is(err, storage.ErrNotFound) {
				return nil, err
			}
		}
		all = append(all, now)
	}
	return all, nil
}

// after returns the rating of a player after a match against those of other teams, ok is
// false if it does not change.
func (p *rated) after(all []rated) (rating float64, ok bool) {
	sum, n := 0.0, 0.0
	for i := range all {
		if all[i].team != p.team {
			sum, n = sum+all[i].rating, n+1
		}
	}
	actual, step := 0.0, float64(usualStep)
	switch {
	case p.rating >= eliteRating:
		step = eliteStep
	case p.games < newcomerGames:
		step = newcomerStep
	}
	switch p.result {
	case Win:
		actual = 1
	case Draw:
		actual = 0.5
	case Disconnect:
		step *= leaverFactor
	case Loss:
	case Desync, None:
		return 0, false
	}
	if n == 0 {
		return 0, false
	}
	expected := 1 / (1 + math.Pow(10, (sum/n-p.rating)/400))
	return max(leastRating, math.Round(p.rating+step*(actual-expected))), true
}
