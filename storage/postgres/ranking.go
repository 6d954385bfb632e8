package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// maxChunk is how many places of a ranking are counted together.
const maxChunk = 512

// chunk names a part of the ranking of a board: the places from down and profile on,
// up to the next part. The row of a part in score_chunks has the number of its places,
// so that a rank is found without counting all places above it.
//
// A step that changes places holds the advisory lock of the board for reading, and changes
// the numbers in the same step. The parts themselves change only under the lock for
// writing, see arrange.
type chunk struct {
	game, board string
	down        float64
	profile     int64
	n           int64
}

// boardLock is the number of the advisory lock of a board.
func boardLock(game, board string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("ranking\x00" + game + "\x00" + board)) // never fails
	return int64(binary.BigEndian.Uint64(h.Sum(nil)))
}

// places are changes of the numbers of places.
type places struct {
	locks         []int64
	games, boards []string
	downs         []float64
	profiles, by  []int64
}

func (p *places) add(id storage.ScoreID, down float64, by int64) {
	p.locks = append(p.locks, boardLock(id.Game, id.Board))
	p.games, p.boards = append(p.games, id.Game), append(p.boards, id.Board)
	p.downs, p.profiles, p.by = append(p.downs, down), append(p.profiles, int64(id.Profile)), append(p.by, by)
}

// placesOf are the places of x from which changes take, and to which they give.
const placesOf = `(SELECT x.game, x.board, c.down, c.profile, sum(x.n)::bigint AS n
	FROM unnest($1::text[], $2::text[], $3::float8[], $4::bigint[], $5::bigint[]) AS x (game, board, down, profile, n)
	CROSS JOIN LATERAL (SELECT down, profile FROM score_chunks AS c WHERE c.game = x.game AND c.board = x.board
		AND (c.down, c.profile) <= (x.down, x.profile) ORDER BY c.down DESC, c.profile DESC LIMIT 1) AS c
	GROUP BY 1, 2, 3, 4 HAVING sum(x.n) <> 0)`

// queuePlaces counts the places that change. Parts that have become too long or too
// short are added to outgrown if that is not nil.
func queuePlaces(b *pgx.Batch, changes []scoreChange, outgrown *[]chunk) {
	var p places
	for i := range changes {
		x := &changes[i]
		from, to := downOf(x.old.Value), downOf(x.next.Value)
		if x.had && x.has && from == to {
			continue
		}
		if x.had {
			p.add(x.id, from, -1)
		}
		if x.has {
			p.add(x.id, to, 1)
		}
	}
	if len(p.locks) == 0 {
		return
	}
	slices.Sort(p.locks)
	b.Queue(`SELECT pg_advisory_xact_lock_shared(x) FROM unnest($1::bigint[]) AS x`, slices.Compact(p.locks))
	b.Queue(`INSERT INTO score_chunks (game, board, down, profile, n)
		SELECT DISTINCT game, board, '-Infinity'::float8, 0, 0 FROM unnest($1::text[], $2::text[]) AS x (game, board) ORDER BY 1, 2
		ON CONFLICT DO NOTHING`, p.games, p.boards)
	if len(p.games) > 1 { // in one order, so that no two steps wait for each other
		b.Queue(`SELECT FROM score_chunks AS c JOIN `+placesOf+` AS d USING (game, board, down, profile)
			ORDER BY game, board, down, profile FOR NO KEY UPDATE OF c`, p.games, p.boards, p.downs, p.profiles, p.by)
	}
	b.Queue(`UPDATE score_chunks AS c SET n = c.n + d.n FROM `+placesOf+` AS d
		WHERE c.game = d.game AND c.board = d.board AND c.down = d.down AND c.profile = d.profile
		RETURNING c.game, c.board, c.down, c.profile, c.n`,
		p.games, p.boards, p.downs, p.profiles, p.by).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var c chunk
			if err := rows.Scan(&c.game, &c.board, &c.down, &c.profile, &c.n); err != nil {
				return err
			}
			if outgrown != nil && (c.n > maxChunk || c.short()) {
				*outgrown = append(*outgrown, c)
			}
		}
		return rows.Err()
	})
}

// short reports whether a part has just become so short that it may be joined to the
// one before it.
func (c *chunk) short() bool {
	return c.n <= maxChunk/4 && c.n&(c.n-1) == 0 && !math.IsInf(c.down, -1)
}

// arrange divides and joins parts of rankings. It is called after the step that changed
// them: their lengths matter for speed only, and a part that stays too long is tried
// again with the next change.
func (s *Store) arrange(ctx context.Context, parts []chunk) {
	for i := range parts {
		part := &parts[i]
		err := s.write(context.WithoutCancel(ctx), func(ctx context.Context, c *change) error {
			c.idle = true
			if _, err := c.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, boardLock(part.game, part.board)); err != nil {
				return err
			}
			if part.n > maxChunk {
				return part.split(ctx, c)
			}
			return part.join(ctx, c)
		})
		if err != nil {
			s.log.Debug().Err(err).Str("game", part.game).Str("board", part.board).Msg("ranking not arranged")
		}
	}
}

// split divides a part that is too long, and counts its places.
func (c *chunk) split(ctx context.Context, q querier) error {
	endDown, endProfile := math.Inf(1), int64(math.MaxInt64)
	var n int64
	err := q.QueryRow(ctx, `SELECT n, coalesce(next_down, 'Infinity'), coalesce(next_profile, $5) FROM (
			SELECT down, profile, n, lead(down) OVER w AS next_down, lead(profile) OVER w AS next_profile FROM (
				SELECT * FROM score_chunks WHERE game = $1 AND board = $2 AND (down, profile) >= ($3, $4)
				ORDER BY down, profile LIMIT 2) AS c WINDOW w AS (ORDER BY down, profile)) AS c
		WHERE down = $3 AND profile = $4`, c.game, c.board, c.down, c.profile, endProfile).Scan(&n, &endDown, &endProfile)
	if noRows(err) || err == nil && n <= maxChunk { // another node was quicker
		return nil
	}
	if err != nil {
		return err
	}
	_, err = q.Exec(ctx, `INSERT INTO score_chunks (game, board, down, profile, n)
		SELECT $1, $2, CASE part WHEN 0 THEN $3 ELSE down END, CASE part WHEN 0 THEN $4 ELSE profile END, n FROM (
			SELECT part, down, profile, count(*) OVER (PARTITION BY part) AS n,
				row_number() OVER (PARTITION BY part ORDER BY down, profile) AS i FROM (
				SELECT down, profile, (row_number() OVER (ORDER BY down, profile) - 1) / $7 AS part FROM scores
				WHERE game = $1 AND board = $2 AND (down, profile) >= ($3, $4) AND (down, profile) < ($5, $6)) AS p) AS p
		WHERE i = 1
		ON CONFLICT (game, board, down, profile) DO UPDATE SET n = excluded.n`,
		c.game, c.board, c.down, c.profile, endDown, endProfile, int64(maxChunk/2))
	return err
}

// join adds a short part to the one before it if both are short.
func (c *chunk) join(ctx context.Context, q querier) error {
	_, err := q.Exec(ctx, `WITH two AS (
			SELECT down, profile, n FROM score_chunks WHERE game = $1 AND board = $2 AND (down, profile) <= ($3, $4)
			ORDER BY down DESC, profile DESC LIMIT 2),
		gone AS (
			DELETE FROM score_chunks WHERE game = $1 AND board = $2 AND down = $3 AND profile = $4
			AND (SELECT count(*) = 2 AND sum(n) <= $5 FROM two) RETURNING n)
		UPDATE score_chunks AS c SET n = c.n + gone.n FROM gone, two
		WHERE c.game = $1 AND c.board = $2 AND c.down = two.down AND c.profile = two.profile AND (two.down, two.profile) < ($3, $4)`,
		c.game, c.board, c.down, c.profile, int64(maxChunk/2))
	return err
}

// rankOfDown is the rank of a score on the board $1, $2, whose column is in place of %s: it
// adds up the parts that are above it, and counts the places in its own.
const rankOfDown = `(SELECT 1 + (SELECT coalesce(sum(n), 0)::bigint FROM score_chunks AS a
		WHERE a.game = $1 AND a.board = $2 AND (a.down, a.profile) < (p.down, p.profile))
	+ (SELECT count(*) FROM scores AS a WHERE a.game = $1 AND a.board = $2
		AND (a.down, a.profile) >= (p.down, p.profile) AND a.down < %s)
	FROM score_chunks AS p WHERE p.game = $1 AND p.board = $2 AND (p.down, p.profile) <= (%s, 0::bigint)
	ORDER BY p.down DESC, p.profile DESC LIMIT 1)`

var (
	// start is the part with the first place of the page; the parts behind it are not read.
	sqlRanking = `WITH start AS (SELECT down, profile, above FROM (
			SELECT down, profile, n, (sum(n) OVER (ORDER BY down, profile))::bigint - n AS above
			FROM score_chunks WHERE game = $1 AND board = $2) AS p
			WHERE above + n > $3 ORDER BY down, profile LIMIT 1),
		page AS MATERIALIZED (SELECT s.* FROM start CROSS JOIN LATERAL (
			SELECT profile, down, updated FROM scores WHERE game = $1 AND board = $2 AND (down, profile) >= (start.down, start.profile)
			ORDER BY down, profile OFFSET $3 - start.above LIMIT $4) AS s)
		SELECT profile, $1, $2, page.down, updated, CASE WHEN row_number() OVER (ORDER BY page.down, profile) = 1 THEN ` +
		strings.ReplaceAll(rankOfDown, "%s", "page.down") + ` END FROM page ORDER BY page.down, profile`
	sqlRankOf = `SELECT s.down, s.updated, ` + strings.ReplaceAll(rankOfDown, "%s", "s.down") + `
		FROM scores AS s WHERE s.profile = $3 AND s.game = $1 AND s.board = $2`
)

// Ranking is described in [storage.Stats].
func (s *Store) Ranking(ctx context.Context, game, board string, from, n int) (page []storage.Score, err error) {
	if err := storage.CheckRanking(game, board, from, n); err != nil {
		return nil, err
	}
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, sqlRanking, game, board, int64(from), int64(n))
		if err != nil {
			return err
		}
		page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (score storage.Score, err error) {
			var id int64
			var down float64
			var updated string
			var rank *int
			if err = row.Scan(&id, &score.Game, &score.Board, &down, &updated, &rank); err != nil {
				return score, err
			}
			score.Profile, score.Value = storage.ProfileID(id), downOf(down)
			if rank != nil {
				score.Rank = *rank
			}
			score.Updated, err = openStamp(updated)
			return score, err
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ranking %q of %s: %w", board, game, err)
	}
	for i := 1; i < len(page); i++ {
		page[i].Rank = from + i + 1
		if page[i].Value == page[i-1].Value {
			page[i].Rank = page[i-1].Rank
		}
	}
	return page, nil
}

// RankOf is described in [storage.Stats].
func (s *Store) RankOf(ctx context.Context, id storage.ScoreID) (storage.Score, error) {
	if err := id.Check(); err != nil {
		return storage.Score{}, err
	}
	score := storage.Score{ScoreID: id}
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		var down float64
		var updated string
		if err := q.QueryRow(ctx, sqlRankOf, id.Game, id.Board, int64(id.Profile)).Scan(&down, &updated, &score.Rank); err != nil {
			return err
		}
		var err error
		score.Value = downOf(down)
		score.Updated, err = openStamp(updated)
		return err
	})
	if err != nil {
		return storage.Score{}, err
	}
	return score, nil
}
