package storage

import (
	"context"
	"iter"
	"time"
)

// Limits of a Game.
const (
	MaxGameName = 64       // MaxGameName is the longest name in bytes.
	MaxGameDoc  = 64 << 10 // MaxGameDoc is the longest document in bytes.

	MaxGamesAtOnce = 100 // MaxGamesAtOnce is the maximum number of games in one call of SetGames.
)

// Game is an operator's own description of a game, which overrides the one of
// the embedded catalogue. The catalogue interprets the document.
type Game struct {
	Name    string    `json:"name"`
	Doc     []byte    `json:"doc,omitempty"` // YAML
	Changed time.Time `json:"changed,omitzero"`
	Rev     Rev       `json:"rev"`
}

// Check returns an error, which matches ErrInvalid, if g exceeds a limit.
func (g *Game) Check() error {
	if len(g.Doc) > MaxGameDoc {
		return invalid("game document is longer than %d bytes", MaxGameDoc)
	}
	return checkName("game name", g.Name, MaxGameName)
}

// CheckGames returns an error, which matches ErrInvalid, if a list for SetGames
// exceeds a limit.
func CheckGames(list []Game) error {
	if len(list) > MaxGamesAtOnce {
		return invalid("more than %d games at once", MaxGamesAtOnce)
	}
	for i := range list {
		if err := list[i].Check(); err != nil {
			return err
		}
	}
	return nil
}

// Games keeps the operator's game descriptions, unique by name. Names are
// compared byte by byte.
type Games interface {
	// SetGames stores up to MaxGamesAtOnce games in one step, each with a new Rev
	// in place of the one with the same name.
	SetGames(ctx context.Context, list []Game) error

	// GetGame returns the game of that name or ErrNotFound.
	GetGame(ctx context.Context, name string) (Game, error)

	// DeleteGame removes the game of that name or returns ErrNotFound.
	DeleteGame(ctx context.Context, name string) error

	// Games yields all games in the order of their names.
	Games(ctx context.Context) iter.Seq2[Game, error]
}
