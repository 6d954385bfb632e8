package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/storage"
)

// SetStatBlock implements StatsOperator.
func (l *Local) SetStatBlock(ctx context.Context, b NewStatBlock) (storage.StatBlock, error) {
	g, ok := l.Catalogue.Catalog().Lookup(b.Game)
	if !ok {
		return storage.StatBlock{}, fmt.Errorf("%w: unknown game %q", ErrBadRequest, b.Game)
	}
	b.Game = g.Name
	ctx = l.notedStats(ctx, actStatsSet, b.Profile, blockText(b.StatBlockID))
	// The limit of players does not apply to operators.
	stored, err := l.Store.EditStatBlock(ctx, b.StatBlockID, storage.MaxStatBytes, time.Now(), func([]byte) ([]byte, error) { return b.Data, nil })
	if err != nil {
		return stored, fmt.Errorf("%s: %w", blockText(b.StatBlockID), err)
	}
	return stored, nil
}

// notedStats is noted for a change of the statistics of a profile.
func (l *Local) notedStats(ctx context.Context, action string, id storage.ProfileID, detail string) context.Context {
	p, _ := l.Store.GetProfile(ctx, id) // without nick if there is none
	return notedID(ctx, action, uint32(id), p.Nick, detail)
}

// DeleteStats implements StatsOperator.
func (l *Local) DeleteStats(ctx context.Context, q StatsSelection) (int, error) {
	q.Game = storage.Fold(q.Game)
	switch {
	case q.Game == "" && q.Block:
		return 0, fmt.Errorf("%w: a block without game", ErrBadRequest)
	case q.Block:
		id := storage.StatBlockID{Game: q.Game, Profile: q.Profile, Kind: q.Kind, Index: q.Index}
		if err := l.Store.DeleteStatBlock(l.notedStats(ctx, actStatsDelete, q.Profile, blockText(id)), id); err != nil {
			return 0, blockError(id, err)
		}
		return 1, nil
	case q.Game != "":
		return l.deleteGameStats(ctx, q.Profile, q.Game)
	}
	if _, err := l.Store.GetProfile(ctx, q.Profile); err != nil {
		return 0, profileError(q.Profile, err)
	}
	return l.Store.DeleteStats(l.notedStats(ctx, actStatsDelete, q.Profile, "all games"), q.Profile)
}

// deleteGameStats deletes the blocks and scores of a profile in a game, one after the
// other, under one entry of the audit log.
func (l *Local) deleteGameStats(ctx context.Context, id storage.ProfileID, game string) (n int, err error) {
	s, err := l.stored(ctx, id)
	if err != nil {
		return 0, err
	}
	var steps []func() error
	for _, b := range s.Blocks {
		if b.Game == game {
			steps = append(steps, func() error { return l.Store.DeleteStatBlock(ctx, b.StatBlockID) })
		}
	}
	for _, score := range s.Scores {
		if score.Game == game {
			steps = append(steps, func() error { return l.Store.DeleteScore(ctx, score.ScoreID) })
		}
	}
	if len(steps) == 0 {
		return 0, nil
	}
	e, _ := storage.AuditOf(l.notedStats(ctx, actStatsDelete, id, game))
	if _, err := l.Store.AddAudit(ctx, e); err != nil {
		return 0, err
	}
	for _, step := range steps {
		switch err := step(); {
		case errors.Is(err, storage.ErrNotFound): // deleted meanwhile
		case err != nil:
			return n, profileError(id, err)
		default:
			n++
		}
	}
	return n, nil
}

// stored returns the stored data of a profile, with its id everywhere.
func (l *Local) stored(ctx context.Context, id storage.ProfileID) (StoredStats, error) {
	p, err := l.Store.GetProfile(ctx, id)
	if err != nil {
		return StoredStats{}, profileError(id, err)
	}
	s := StoredStats{Profile: id, Nick: clean.UTF8(p.Nick)}
	for b, err := range l.Store.StatBlocks(ctx, id) {
		if err != nil {
			return StoredStats{}, profileError(id, err)
		}
		s.Blocks = append(s.Blocks, b)
	}
	for score, err := range l.Store.ScoresOf(ctx, id) {
		if err != nil {
			return StoredStats{}, profileError(id, err)
		}
		s.Scores = append(s.Scores, score)
	}
	return s, nil
}

// eachStored calls f for every profile with blocks or scores and returns the number of
// profiles and accounts that could not be read.
func (l *Local) eachStored(ctx context.Context, f func(StoredStats) error) (leftOut int, err error) {
	for u, err := range l.Store.Users(ctx, 0) {
		var list []storage.Profile
		if err == nil {
			list, err = l.Store.ProfilesOf(ctx, u.ID)
		}
		if errors.Is(err, storage.ErrDamaged) {
			leftOut++
			continue
		}
		if err != nil {
			return leftOut, err
		}
		for i := range list {
			s, err := l.stored(ctx, list[i].ID)
			switch {
			case errors.Is(err, storage.ErrNotFound): // deleted meanwhile
			case errors.Is(err, storage.ErrDamaged):
				leftOut++
			case err != nil:
				return leftOut, err
			case len(s.Blocks)+len(s.Scores) > 0:
				if err := f(s); err != nil {
					return leftOut, err
				}
			}
		}
	}
	return leftOut, nil
}

// ExportStats implements StatsOperator.
func (l *Local) ExportStats(ctx context.Context, w io.Writer) (leftOut int, err error) {
	out := json.NewEncoder(w)
	return l.eachStored(ctx, func(s StoredStats) error {
		s.setProfile(0)
		return out.Encode(s)
	})
}

// setProfile puts a profile into all blocks and scores.
func (s *StoredStats) setProfile(id storage.ProfileID) {
	for i := range s.Blocks {
		s.Blocks[i].Profile = id
	}
	for i := range s.Scores {
		s.Scores[i].Profile = id
	}
}

// ImportStats implements StatsOperator.
func (l *Local) ImportStats(ctx context.Context, list []StoredStats) ([]ImportedStats, error) {
	if len(list) > MaxStatsImport {
		return nil, fmt.Errorf("%w: more than %d players at once", ErrBadRequest, MaxStatsImport)
	}
	if _, err := l.Store.AddAudit(ctx, entry(ctx, actStatsImport, playersText(len(list)), "")); err != nil {
		return nil, err
	}
	out := make([]ImportedStats, 0, len(list))
	for _, s := range list {
		s.setProfile(s.Profile)
		done := ImportedStats{Profile: s.Profile}
		err := l.Store.ImportStats(ctx, s.Profile, s.Blocks, s.Scores)
		switch {
		case errors.Is(err, storage.ErrTaken):
			done.Error = "there are statistics of this profile already"
		case errors.Is(err, storage.ErrNotFound):
			done.Error = "there is no such profile"
		case errors.Is(err, storage.ErrInvalid), errors.Is(err, storage.ErrFull):
			done.Error = clean.Cut(err.Error(), clean.MaxEcho)
		case err != nil:
			return out, profileError(s.Profile, err)
		}
		out = append(out, done)
	}
	return out, nil
}

func playersText(n int) string {
	if n == 1 {
		return "1 player"
	}
	return fmt.Sprintf("%d players", n)
}
