package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// scoreChange is a change of one score. The zero values of had and has mean that there
// is no score before and after it.
type scoreChange struct {
	id        storage.ScoreID
	old, next storage.Score
	had, has  bool
}

// downOf is the value of the column down.
func downOf(value float64) float64 { return 0 - value } // not -0

// stampOf returns the text of a time in a column: microseconds, as timestamptz has
// them, would not be exact.
func stampOf(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// openStamp is the reverse of stampOf.
func openStamp(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: time %q", storage.ErrDamaged, text)
	}
	return t.UTC(), nil
}

// scanScore reads the columns profile, game, board, down, updated.
func scanScore(row pgx.Row, score *storage.Score) error {
	var id int64
	var down float64
	var updated string
	if err := row.Scan(&id, &score.Game, &score.Board, &down, &updated); err != nil {
		return err
	}
	score.Profile, score.Value = storage.ProfileID(id), downOf(down)
	var err error
	score.Updated, err = openStamp(updated)
	return err
}

// scoreBooks are the rows that a change of scores depends on, locked until the end of the step.
type scoreBooks struct {
	sizes  map[storage.ProfileID]statSize
	scores map[storage.ScoreID]storage.Score
}

// lockScores locks the scores of profiles and reads some of them.
func lockScores(ctx context.Context, q querier, ids []storage.ScoreID) (scoreBooks, error) {
	books := scoreBooks{make(map[storage.ProfileID]statSize), make(map[storage.ScoreID]storage.Score)}
	profiles := make([]storage.ProfileID, len(ids))
	games, boards := make([]string, len(ids)), make([]string, len(ids))
	for i, id := range ids {
		profiles[i], games[i], boards[i] = id.Profile, id.Game, id.Board
	}
	var b pgx.Batch
	var there []storage.ProfileID
	lockProfiles(&b, profiles, &there)
	lockSizes(&b, profiles, books.sizes)
	b.Queue(`SELECT s.profile, s.game, s.board, s.down, s.updated
		FROM (SELECT DISTINCT * FROM unnest($1::bigint[], $2::text[], $3::text[]) AS x (profile, game, board)) AS x
		JOIN scores AS s USING (profile, game, board)`,
		bigints(profiles), games, boards).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var score storage.Score
			if err := scanScore(rows, &score); err != nil {
				return err
			}
			books.scores[score.ScoreID] = score
		}
		return rows.Err()
	})
	return books, q.SendBatch(ctx, &b).Close()
}

// credit applies the credits of a report and returns how many there were. Those for
// profiles that cannot have a score are skipped.
func credit(ctx context.Context, q querier, credits []storage.Credit, at time.Time, outgrown *[]chunk) (n int, err error) {
	if len(credits) == 0 {
		return 0, nil
	}
	ids := make([]storage.ScoreID, len(credits))
	for i := range credits {
		ids[i] = credits[i].ScoreID
	}
	books, err := lockScores(ctx, q, ids)
	if err != nil {
		return 0, err
	}
	changes := make(map[storage.ScoreID]*scoreChange)
	for _, cr := range credits {
		change := changes[cr.ScoreID]
		if change == nil {
			if change = books.begin(cr.ScoreID); change == nil {
				continue
			}
			changes[cr.ScoreID] = change
		}
		change.next = storage.Score{ScoreID: cr.ScoreID, Value: cr.How.Apply(change.next.Value, cr.Value, !change.has), Updated: at}
		change.has = true
		n++
	}
	all := make([]scoreChange, 0, len(changes))
	for _, change := range changes {
		all = append(all, *change)
	}
	return n, putScores(ctx, q, all, outgrown)
}

// begin returns a change of a score that has not changed yet, nil if the profile does
// not exist or has no room for another score.
func (books *scoreBooks) begin(id storage.ScoreID) *scoreChange {
	size, ok := books.sizes[id.Profile]
	if !ok {
		return nil
	}
	old, had := books.scores[id]
	if !had {
		if size.scores >= storage.MaxScores {
			return nil
		}
		size.scores++
		books.sizes[id.Profile] = size
	}
	return &scoreChange{id: id, old: old, had: had, next: old, has: had}
}

// putScores writes changes of scores that are locked. Parts of rankings that have
// become too long or too short are added to outgrown if that is not nil, see arrange.
func putScores(ctx context.Context, q querier, changes []scoreChange, outgrown *[]chunk) error {
	if len(changes) == 0 {
		return nil
	}
	slices.SortFunc(changes, func(a, b scoreChange) int {
		return cmp.Or(cmp.Compare(a.id.Profile, b.id.Profile), cmp.Compare(a.id.Game, b.id.Game), cmp.Compare(a.id.Board, b.id.Board))
	})
	var b pgx.Batch
	queueScores(&b, changes)
	queuePlaces(&b, changes, outgrown)
	return q.SendBatch(ctx, &b).Close()
}

// scoreColumns are the columns of scores.
type scoreColumns struct {
	profiles      []int64
	games, boards []string
	downs         []float64
	updated       []string
}

func (c *scoreColumns) add(id storage.ScoreID, score *storage.Score) {
	c.profiles, c.games, c.boards = append(c.profiles, int64(id.Profile)), append(c.games, id.Game), append(c.boards, id.Board)
	c.downs, c.updated = append(c.downs, downOf(score.Value)), append(c.updated, stampOf(score.Updated))
}

// queueScores writes the scores and how many a profile has.
func queueScores(b *pgx.Batch, changes []scoreChange) {
	var put, drop scoreColumns
	more := make(map[int64]int64)
	for i := range changes {
		x := &changes[i]
		id := int64(x.id.Profile)
		switch {
		case x.has:
			put.add(x.id, &x.next)
			if !x.had {
				more[id]++
			}
		case x.had:
			drop.add(x.id, &x.old)
			more[id]--
		}
	}
	if len(drop.profiles) > 0 {
		b.Queue(`DELETE FROM scores AS s USING unnest($1::bigint[], $2::text[], $3::text[]) AS x (profile, game, board)
			WHERE s.profile = x.profile AND s.game = x.game AND s.board = x.board`, drop.profiles, drop.games, drop.boards)
	}
	if len(put.profiles) > 0 {
		b.Queue(`INSERT INTO scores (profile, game, board, down, updated)
			SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::float8[], $5::text[])
			ON CONFLICT (profile, game, board) DO UPDATE SET down = excluded.down, updated = excluded.updated`,
			put.profiles, put.games, put.boards, put.downs, put.updated)
	}
	if len(more) > 0 {
		profiles := slices.Sorted(maps.Keys(more))
		by := make([]int64, len(profiles))
		for i, id := range profiles {
			by[i] = more[id]
		}
		b.Queue(`UPDATE stat_sizes AS s SET scores = s.scores + x.n FROM unnest($1::bigint[], $2::bigint[]) AS x (profile, n)
			WHERE s.profile = x.profile`, profiles, by)
	}
}

// PutScore is described in [storage.Stats].
func (s *Store) PutScore(ctx context.Context, score storage.Score) error {
	score, err := score.Canonical()
	if err != nil {
		return err
	}
	var outgrown []chunk
	err = s.write(ctx, func(ctx context.Context, c *change) error {
		outgrown = nil
		books, err := lockScores(ctx, c, []storage.ScoreID{score.ScoreID})
		if err != nil {
			return err
		}
		next := books.begin(score.ScoreID)
		switch {
		case next != nil:
			next.next, next.has = score, true
			return putScores(ctx, c, []scoreChange{*next}, &outgrown)
		case len(books.sizes) == 0:
			return fmt.Errorf("profile %d: %w", score.Profile, storage.ErrNotFound)
		}
		return fmt.Errorf("scores of profile %d: %w", score.Profile, storage.ErrFull)
	})
	if err != nil {
		return err
	}
	s.arrange(ctx, outgrown)
	return nil
}

// DeleteScore is described in [storage.Stats].
func (s *Store) DeleteScore(ctx context.Context, id storage.ScoreID) error {
	if err := id.Check(); err != nil {
		return err
	}
	var outgrown []chunk
	err := s.write(ctx, func(ctx context.Context, c *change) error {
		outgrown = nil
		books, err := lockScores(ctx, c, []storage.ScoreID{id})
		if err != nil {
			return err
		}
		old, ok := books.scores[id]
		if !ok {
			return storage.ErrNotFound
		}
		return putScores(ctx, c, []scoreChange{{id: id, old: old, had: true}}, &outgrown)
	})
	if err != nil {
		return err
	}
	s.arrange(ctx, outgrown)
	return nil
}

// queueScoresOf reads all scores of a profile, whose stat_sizes row is locked.
func queueScoresOf(b *pgx.Batch, id storage.ProfileID) *[]storage.Score {
	all := new([]storage.Score)
	b.Queue(`SELECT profile, game, board, down, updated FROM scores WHERE profile = $1`, int64(id)).Query(func(rows pgx.Rows) error {
		*all = nil
		for rows.Next() {
			var score storage.Score
			if err := scanScore(rows, &score); err != nil && !errors.Is(err, storage.ErrDamaged) {
				return err
			}
			*all = append(*all, score)
		}
		return rows.Err()
	})
	return all
}

// ScoresOf is described in [storage.Stats].
func (s *Store) ScoresOf(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.Score, error] {
	return iterate(ctx, s, func(ctx context.Context, q querier, last *storage.Score) ([]item[storage.Score], error) {
		if last == nil {
			last = &storage.Score{}
		}
		rows, err := q.Query(ctx, `SELECT profile, game, board, down, updated FROM scores
			WHERE profile = $1 AND (game, board) > ($2, $3) ORDER BY game, board LIMIT $4`,
			int64(id), last.Game, last.Board, pageRecords)
		return collect(rows, err, scanScore)
	})
}
