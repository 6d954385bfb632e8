package storage

import (
	"cmp"
	"math"
	"time"
)

// Limits of scores.
const (
	MaxBoardName   = 32   // MaxBoardName is the longest name of a board in bytes.
	MaxScores      = 1000 // MaxScores is how many scores a profile may have, in all games.
	MaxRankingPage = 1000 // MaxRankingPage is how many scores Ranking returns.
	// MaxScore is the greatest score; -MaxScore is the least. Whole numbers are
	// exact up to it.
	MaxScore = 1 << 53
)

// ScoreRule is how a credit changes a score.
type ScoreRule uint8

// The rules.
const (
	ScoreSum  ScoreRule = 1 // the values are added
	ScoreMax  ScoreRule = 2 // the greatest value is kept
	ScoreLast ScoreRule = 3 // the last value is kept
)

// Apply returns the score after a credit. first is true if there is none yet.
func (r ScoreRule) Apply(old, value float64, first bool) float64 {
	switch {
	case first, r == ScoreLast:
	case r == ScoreMax:
		value = max(old, value)
	default:
		value += old
	}
	return min(max(value, -MaxScore), MaxScore)
}

// ScoreID identifies a Score.
type ScoreID struct {
	Game    string    `json:"game"`
	Board   string    `json:"board"` // name of the board in its game
	Profile ProfileID `json:"profile,omitzero"`
}

// Score is the result of a player on a board of a game.
type Score struct {
	ScoreID

	Value   float64   `json:"value"`
	Updated time.Time `json:"updated"`
	// Rank is 1 for the highest score of the board. Players with equal scores
	// have the same rank. It is not stored, and 0 where it was not determined.
	Rank int `json:"rank,omitzero"`
}

// Check returns an error that matches ErrInvalid for an id that cannot be stored.
func (id ScoreID) Check() error {
	if id.Profile == 0 || id.Profile > MaxAccountID {
		return invalid("%d is not the id of a profile", id.Profile)
	}
	return checkBoard(id.Game, id.Board)
}

func checkBoard(game, board string) error {
	return cmp.Or(checkName("game of a score", game, MaxGameName), checkName("name of a board", board, MaxBoardName))
}

// checkScore returns an error for a value that is out of range.
func checkScore(v float64) error {
	if math.IsNaN(v) || v < -MaxScore || v > MaxScore {
		return invalid("a score must be within %d and -%d", int64(MaxScore), int64(MaxScore))
	}
	return nil
}

// CheckRanking returns an error that matches ErrInvalid for a page that Ranking
// cannot return.
func CheckRanking(game, board string, from, n int) error {
	if from < 0 || n < 0 || n > MaxRankingPage {
		return invalid("page of %d scores from %d, at most %d are allowed", n, from, MaxRankingPage)
	}
	return checkBoard(game, board)
}

// Canonical returns s as it is stored: checked, with its time in UTC and without
// rank. The error matches ErrInvalid.
func (s Score) Canonical() (Score, error) {
	s.Updated, s.Rank = s.Updated.Round(0).UTC(), 0
	return s, cmp.Or(s.Check(), checkScore(s.Value))
}
