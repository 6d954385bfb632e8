package bfhq

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// Names of boards. Those of kits, vehicles and weapons have a number behind.
const (
	boardScore     = "score"
	boardCommander = "commander"
	boardTeam      = "team"
	boardCombat    = "combat"
	boardKit       = "kit-"
	boardVehicle   = "vehicle-"
	boardWeapon    = "weapon-"
	boardWeek      = "week-" // score of a week, whose number is behind
)

const (
	sweepEvery = time.Hour
	// sweptWeeks is how many weeks back boards are looked for that are over.
	sweptWeeks = 60
	weekSecs   = 7 * 24 * 60 * 60
	// mondayOffset makes weeks begin on Monday: 1 January 1970 was a Thursday.
	mondayOffset = 3 * 24 * 60 * 60
)

// weekOf returns the number of the week of a time.
func weekOf(unix int64) int64 { return (unix + mondayOffset) / weekSecs }

func weekBoard(week int64) string { return boardWeek + strconv.FormatInt(week, 10) }

// creditsOf returns a player's credits on boards for a round that is sent now.
func creditsOf(game string, round *Round, p *Participant, now time.Time) (credits []storage.Credit) {
	add := func(board string, n int64) {
		if n != 0 || board == boardScore {
			credits = append(credits, storage.Credit{
				ScoreID: storage.ScoreID{Game: game, Board: board, Profile: p.Profile}, How: storage.ScoreSum, Value: float64(n),
			})
		}
	}
	by := round.rules
	add(boardScore, p.values[by.score])
	add(boardCommander, p.values[by.commander])
	add(boardTeam, p.values[by.team])
	add(boardCombat, by.combat(p))
	add(weekBoard(weekOf(min(int64(round.End), now.Unix()))), p.values[by.score])
	for _, b := range by.boards {
		for _, i := range b.numbers {
			n := strconv.Itoa(i)
			add(b.board+n, max(p.values[b.key+n], 0))
		}
	}
	return credits
}

// boardWeapons is how many weapons of Battlefield 2 have a board.
const boardWeapons = 9

// sweep removes the boards of weeks that are over.
func (k *roundCounter) sweep(ctx context.Context, now time.Time) {
	week := weekOf(now.Unix())
	for _, g := range k.games() {
		for w := week - 2; w >= week-sweptWeeks && ctx.Err() == nil; w-- {
			if err := k.clear(ctx, g.Name, weekBoard(w)); err != nil {
				k.troubled(ctx, err)
				return
			}
		}
	}
}

// clear removes all scores of a board.
func (k *roundCounter) clear(ctx context.Context, game, board string) error {
	for {
		page, err := k.opt.Store.Ranking(ctx, game, board, 0, storage.MaxRankingPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, s := range page {
			if err := k.opt.Store.DeleteScore(ctx, s.ScoreID); err != nil && !errors.Is(err, storage.ErrNotFound) {
				return err
			}
		}
	}
}

// sizeFor is how long the length of a board is remembered.
const sizeFor = 30 * time.Second

// maxSizes bounds the lengths that are remembered: there are up to 53 boards of a game.
const maxSizes = 256

// sizes remembers the lengths of boards.
type sizes struct {
	mu    sync.Mutex // guards known
	known map[[2]string]sized
}

type sized struct {
	n  int
	at time.Time
}

func (s *sizes) get(game, board string, now time.Time) (n int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.known[[2]string{game, board}]
	return k.n, ok && now.Sub(k.at) < sizeFor
}

func (s *sizes) put(game, board string, n int, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxSizes {
		s.known = make(map[[2]string]sized)
	}
	s.known[[2]string{game, board}] = sized{n, now}
}

// size returns how many players a board has. It looks for the last one by halving.
func (r *Backend) size(ctx context.Context, game, board string) (int, error) {
	now := time.Now()
	if n, ok := r.sizes.get(game, board, now); ok {
		return n, nil
	}
	has := func(i int) (bool, error) {
		page, err := r.opt.Store.Ranking(ctx, game, board, i, 1)
		return len(page) > 0, err
	}
	low, high := 0, 1 // the board has low players or more
	for high < storage.MaxAccountID {
		more, err := has(high - 1)
		if err != nil {
			return 0, err
		}
		if !more {
			break
		}
		low, high = high, 2*high
	}
	for low+1 < high {
		middle := (low + high) / 2
		more, err := has(middle - 1)
		if err != nil {
			return 0, err
		}
		if more {
			low = middle
		} else {
			high = middle
		}
	}
	r.sizes.put(game, board, low, now)
	return low, nil
}
