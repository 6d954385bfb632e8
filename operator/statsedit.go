package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/storage"
)

// SetStatBlock stores a block of any kind in place of the one with the same id and returns it
// without data. Clients see it at once.
var SetStatBlock = New(Operation{
	Name: "stats set", Route: "PUT /stats/block", What: "Store data for a player in place of the present data", About: noun.Stats,
}, func(ctx context.Context, l *Local, in NewStatBlock) (storage.StatBlock, error) {
	b := storage.StatBlockID{Game: in.Game, Profile: in.Profile, Kind: in.Kind, Index: in.Index}
	g, ok := l.Catalogue.Catalog().Lookup(b.Game)
	if !ok {
		return storage.StatBlock{}, fmt.Errorf("%w: unknown game %q", ErrBadRequest, b.Game)
	}
	b.Game = g.Name
	ctx = aboutStats(ctx, l, b.Profile, blockText(b))
	// The limit of players does not apply to operators.
	stored, err := l.Store.EditStatBlock(ctx, b, storage.MaxStatBytes, time.Now(), func([]byte) ([]byte, error) { return in.Data, nil })
	if err != nil {
		return stored, fmt.Errorf("%s: %w", blockText(b), err)
	}
	return stored, nil
})

// aboutStats is about for a change of the statistics of a profile.
func aboutStats(ctx context.Context, l *Local, id storage.ProfileID, detail string) context.Context {
	p, _ := l.Store.GetProfile(ctx, id) // without nick if there is none
	return aboutID(ctx, uint32(id), p.Nick, detail)
}

// DeleteStats deletes blocks and scores of a profile and returns how many there were.
var DeleteStats = New(Operation{
	Name: "stats delete", Route: "DELETE /players/{id}/stats", What: "Delete the data and scores of a player, of a game, or one block", About: noun.Stats, Destroys: true,
}, func(ctx context.Context, l *Local, q StatsSelection) (Removed, error) {
	q.Game = storage.Fold(q.Game)
	switch block := q.Kind != nil || q.Index != nil; {
	case q.Game == "" && block:
		return Removed{}, fmt.Errorf("%w: a block without game", ErrBadRequest)
	case block:
		id, err := q.id()
		if err != nil {
			return Removed{}, err
		}
		if err := l.Store.DeleteStatBlock(aboutStats(ctx, l, q.Profile, blockText(id)), id); err != nil {
			return Removed{}, blockError(id, err)
		}
		return Removed{1}, nil
	case q.Game != "":
		n, err := deleteGameStats(ctx, l, q.Profile, q.Game)
		return Removed{n}, err
	}
	if _, err := l.Store.GetProfile(ctx, q.Profile); err != nil {
		return Removed{}, profileError(q.Profile, err)
	}
	n, err := l.Store.DeleteStats(aboutStats(ctx, l, q.Profile, "all games"), q.Profile)
	return Removed{n}, err
})

// deleteGameStats deletes the blocks and scores of a profile in a game, one after the
// other, under one entry of the audit log.
func deleteGameStats(ctx context.Context, l *Local, id storage.ProfileID, game string) (n int, err error) {
	s, err := stored(ctx, l, id)
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
	if err := addAudit(ctx, l, uint32(id), s.Nick, game); err != nil {
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
func stored(ctx context.Context, l *Local, id storage.ProfileID) (StoredStats, error) {
	p, err := l.Store.GetProfile(ctx, id)
	if err != nil {
		return StoredStats{}, profileError(id, err)
	}
	s := StoredStats{Profile: id, Nick: clean.UTF8(p.Nick)}
	if s.Blocks, err = storage.Collect(l.Store.StatBlocks(ctx, id)); err != nil {
		return StoredStats{}, profileError(id, err)
	}
	if s.Scores, err = storage.Collect(l.Store.ScoresOf(ctx, id)); err != nil {
		return StoredStats{}, profileError(id, err)
	}
	return s, nil
}

// eachStored calls f for every profile with blocks or scores and returns the number of
// profiles and accounts that could not be read.
func eachStored(ctx context.Context, l *Local, f func(StoredStats) error) (leftOut int, err error) {
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
			s, err := stored(ctx, l, list[i].ID)
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

// ExportStats writes the blocks and scores of all profiles that have any, one StoredStats in JSON on
// each line. Reported games are not part of it.
var ExportStats = NewStream(Operation{
	Name: "stats export", Route: "GET /stats/export", What: "Write the data and scores of all players, one line of JSON each",
	Help: "Write the data and scores of all players, one line of JSON each; - is standard output", About: noun.Stats, Type: Lines,
}, func(ctx context.Context, l *Local, _ None, w io.Writer) (leftOut int, err error) {
	out := json.NewEncoder(w)
	return eachStored(ctx, l, func(s StoredStats) error {
		s.setProfile(0)
		return out.Encode(s)
	})
})

// setProfile puts a profile into all blocks and scores.
func (s *StoredStats) setProfile(id storage.ProfileID) {
	for i := range s.Blocks {
		s.Blocks[i].Profile = id
	}
	for i := range s.Scores {
		s.Scores[i].Profile = id
	}
}

// StatsImport are players to be imported, at most MaxStatsImport.
type StatsImport struct {
	Players []StoredStats `json:"players"`
}

// ImportStats stores blocks and scores of profiles and returns a result for each. A profile that has
// any already is left as it is.
var ImportStats = New(Operation{
	Name: "stats import", Route: "POST /stats/import", What: "Add the data and scores of an export to profiles that have none", About: noun.Stats, AtMost: MaxStatsImport,
}, func(ctx context.Context, l *Local, in StatsImport) ([]ImportedStats, error) {
	if len(in.Players) > MaxStatsImport {
		return nil, fmt.Errorf("%w: more than %d players at once", ErrBadRequest, MaxStatsImport)
	}
	if err := addAudit(ctx, l, 0, playersText(len(in.Players)), ""); err != nil {
		return nil, err
	}
	out := make([]ImportedStats, 0, len(in.Players))
	for _, s := range in.Players {
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
})

func playersText(n int) string {
	if n == 1 {
		return "1 player"
	}
	return fmt.Sprintf("%d players", n)
}
