package operator

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/respawnd/respawnd/storage"
)

// MaxMatchesListed is how many matches one call lists.
const MaxMatchesListed = 100

// MatchQuery selects matches of a game.
type MatchQuery struct {
	Game   string
	Before uint32 // only ids below it; 0: all
}

// MatchOperator is the part of Operator about matches that games reported to the
// competition service.
type MatchOperator interface {
	// ListMatches returns up to MaxMatchesListed matches, the newest first, without the
	// reports themselves.
	ListMatches(ctx context.Context, q MatchQuery) ([]storage.Match, error)
	// Match returns a match with its reports. storage.ErrNotFound: there is none.
	Match(ctx context.Context, id uint32) (storage.Match, error)
	// DeleteMatch deletes a match. Scores stay.
	DeleteMatch(ctx context.Context, id uint32) error
}

// ListMatches implements MatchOperator.
func (l *Local) ListMatches(ctx context.Context, q MatchQuery) ([]storage.Match, error) {
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
}

// Match implements MatchOperator.
func (l *Local) Match(ctx context.Context, id uint32) (storage.Match, error) {
	m, err := l.Store.GetMatch(ctx, uint64(id))
	return m, matchError(id, err)
}

// DeleteMatch implements MatchOperator.
func (l *Local) DeleteMatch(ctx context.Context, id uint32) error {
	ctx = notedID(ctx, actMatchDelete, id, "match "+strconv.FormatUint(uint64(id), 10), "")
	return matchError(id, l.Store.DeleteMatch(ctx, uint64(id)))
}

// matchError says which match an error is about.
func matchError(id uint32, err error) error {
	if err != nil {
		return fmt.Errorf("match %d: %w", id, err)
	}
	return nil
}
