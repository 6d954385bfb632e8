package stats

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/storage"
)

// The errors of a Book beside those of the store.
var (
	// ErrTooLarge reports data or a report over the limit of their size.
	ErrTooLarge = errors.New("too large")
	// ErrFull reports a profile that would exceed the limit of all its blocks.
	ErrFull = storage.ErrFull
	// ErrPairs reports data that are not a list of keys and values.
	ErrPairs = errors.New("not a list of keys and values")
)

// Limits bound the data that a Book keeps. The zero value of a field is its default.
type Limits struct {
	MaxBlock      int           // longest block in bytes; DefaultMaxBlock, at most storage.MaxStatBlock
	MaxPerProfile int64         // all blocks of a profile in bytes; DefaultMaxPerProfile, at most storage.MaxStatBytes
	KeepGames     int           // reports of one game; DefaultKeepGames
	KeepBytes     int64         // all reports in bytes; DefaultKeepBytes
	KeepFor       time.Duration // age of a report; DefaultKeepFor
}

// The defaults of Limits.
const (
	DefaultMaxBlock      = 64 << 10
	DefaultMaxPerProfile = 1 << 20
	DefaultKeepGames     = 1000
	DefaultKeepBytes     = 1 << 30
	DefaultKeepFor       = 90 * 24 * time.Hour
)

// withDefaults returns l without zero fields.
func (l Limits) withDefaults() Limits {
	set(&l.MaxBlock, DefaultMaxBlock)
	set(&l.MaxPerProfile, DefaultMaxPerProfile)
	set(&l.KeepGames, DefaultKeepGames)
	set(&l.KeepBytes, DefaultKeepBytes)
	set(&l.KeepFor, DefaultKeepFor)
	return l
}

func set[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}

// Options are the surroundings of a Book. All are optional.
type Options struct {
	Limits Limits
	// Boards returns the boards of a game; nil: no game has any.
	Boards     func(game string) []games.Board
	Registerer prometheus.Registerer
}

// Score is the result of a player on a board.
type Score = storage.Score

// Book keeps the data of the statistics service. All methods may be called from
// any number of goroutines; they wait for the disk.
type Book struct {
	store   storage.Stats
	boards  func(game string) []games.Board
	limits  atomic.Pointer[Limits]
	taker   atomic.Pointer[Taker] // nil: there is none
	metrics *metrics
	run     uint64 // added to the numbers of connections, which begin again with the daemon
}

// New returns a Book over a store.
func New(store storage.Stats, opt Options) *Book {
	b := &Book{store: store, boards: opt.Boards}
	if b.boards == nil {
		b.boards = func(string) []games.Board { return nil }
	}
	b.SetLimits(opt.Limits)
	b.metrics = newMetrics(opt.Registerer, metric.Slow(func() (storage.StatTotals, error) { return b.Totals(context.Background()) }))
	var run [8]byte
	_, _ = rand.Read(run[:]) // never fails
	b.run = binary.BigEndian.Uint64(run[:])
	return b
}

// SetLimits replaces the limits. Stored data stays, until a report or
// Sweep removes reports beyond them.
func (b *Book) SetLimits(l Limits) {
	l = l.withDefaults()
	b.limits.Store(&l)
}

// Limits returns the limits without zero fields.
func (b *Book) Limits() Limits { return *b.limits.Load() }

// Boards returns the boards of a game.
func (b *Book) Boards(game string) []games.Board { return b.boards(game) }

// Get returns a block. The error is storage.ErrNotFound if there is none; its time
// is then 0.
func (b *Book) Get(ctx context.Context, id storage.StatBlockID) (storage.StatBlock, error) {
	return b.store.GetStatBlock(ctx, id)
}

// Set replaces the data of a block and returns the time of the change, which
// is durable then. The error is ErrTooLarge or ErrFull for data over a limit, and
// storage.ErrNotFound if the profile does not exist.
func (b *Book) Set(ctx context.Context, id storage.StatBlockID, data []byte) (time.Time, error) {
	return b.Edit(ctx, id, func([]byte) ([]byte, error) { return data, nil })
}

// Merge changes the keys that data contain in the list of keys and values that a
// block is, and keeps the others. The errors are those of Set, and ErrPairs for
// data that are not such a list. A block that is not one is replaced.
func (b *Book) Merge(ctx context.Context, id storage.StatBlockID, data []byte) (time.Time, error) {
	return b.Edit(ctx, id, func(old []byte) ([]byte, error) { return mergePairs(old, data) })
}

// Select is Get with only the pairs of the given keys, in that order, each key
// once. A key that the block lacks has the value missing. If that is empty, a block
// without data stays without.
func (b *Book) Select(ctx context.Context, id storage.StatBlockID, keys []string, missing string) (storage.StatBlock, error) {
	block, err := b.Get(ctx, id)
	if err == nil && len(block.Data) > 0 || missing != "" && (err == nil || errors.Is(err, storage.ErrNotFound)) {
		block.Data = selectPairs(block.Data, keys, missing)
	}
	return block, err
}

// Edit replaces the data of a block by the result of change, which may run more than once. The errors are
// those of Set, and those of change.
func (b *Book) Edit(ctx context.Context, id storage.StatBlockID, change func(old []byte) ([]byte, error)) (time.Time, error) {
	limits := b.Limits()
	largest := min(limits.MaxBlock, storage.MaxStatBlock)
	block, err := b.store.EditStatBlock(ctx, id, min(limits.MaxPerProfile, storage.MaxStatBytes), time.Now(), func(old []byte) ([]byte, error) {
		data, err := change(old)
		if err == nil && len(data) > largest {
			err = fmt.Errorf("block of %d bytes: %w: at most %d are allowed", len(data), ErrTooLarge, largest)
		}
		return data, err
	})
	b.metrics.changed(err)
	return block.Modified, err
}

// Blocks yields the blocks of a profile in the order of game, index and kind.
func (b *Book) Blocks(ctx context.Context, p storage.ProfileID) iter.Seq2[storage.StatBlock, error] {
	return b.store.StatBlocks(ctx, p)
}

// Size returns how much a profile has stored.
func (b *Book) Size(ctx context.Context, p storage.ProfileID) (storage.StatSize, error) {
	return b.store.StatSizeOf(ctx, p)
}

// Delete removes a block or returns storage.ErrNotFound.
func (b *Book) Delete(ctx context.Context, id storage.StatBlockID) error {
	return b.store.DeleteStatBlock(ctx, id)
}

// DeleteAll removes all blocks and scores of a profile and returns how many
// there were.
func (b *Book) DeleteAll(ctx context.Context, p storage.ProfileID) (int, error) {
	return b.store.DeleteStats(ctx, p)
}

// Import stores the blocks and scores of a profile that has none, with the times
// that they have, all or none. The error is storage.ErrTaken if it has some.
func (b *Book) Import(ctx context.Context, p storage.ProfileID, blocks []storage.StatBlock, scores []Score) error {
	return b.store.ImportStats(ctx, p, blocks, scores)
}

// Totals returns how much is stored for all profiles and games.
func (b *Book) Totals(ctx context.Context) (storage.StatTotals, error) {
	return b.store.StatTotals(ctx)
}

// Ranking returns up to n scores of a board, the highest first, without the first
// from. n is at most storage.MaxRankingPage.
func (b *Book) Ranking(ctx context.Context, game, board string, from, n int) ([]Score, error) {
	return b.store.Ranking(ctx, game, board, from, n)
}

// Rank returns the score of a player on a board, and its rank: 1 is the highest.
// The error is storage.ErrNotFound if there is none.
func (b *Book) Rank(ctx context.Context, game, board string, p storage.ProfileID) (rank int, s Score, err error) {
	s, err = b.store.RankOf(ctx, storage.ScoreID{Game: game, Board: board, Profile: p})
	return s.Rank, s, err
}

// Scores yields the scores of a profile in the order of game and board, without
// ranks.
func (b *Book) Scores(ctx context.Context, p storage.ProfileID) iter.Seq2[Score, error] {
	return b.store.ScoresOf(ctx, p)
}

// SetScore stores a score of an operator in place of the present one.
func (b *Book) SetScore(ctx context.Context, s Score) error { return b.store.PutScore(ctx, s) }

// DeleteScore removes a score or returns storage.ErrNotFound.
func (b *Book) DeleteScore(ctx context.Context, id storage.ScoreID) error {
	return b.store.DeleteScore(ctx, id)
}

// metrics are the numbers of a Book.
type metrics struct {
	changes *prometheus.CounterVec // by result
	reports *prometheus.CounterVec // by result
	dropped *prometheus.CounterVec // by reason
	credits prometheus.Counter
}

// The values of labels.
const (
	resultOK      = "ok"
	resultRefused = "refused" // over a limit
	resultIgnored = "ignored" // nothing to store
	resultError   = "error"

	droppedNumber = "number"
	droppedAge    = "age"
)

func newMetrics(r prometheus.Registerer, totals func() storage.StatTotals) *metrics {
	in := metric.With(r)
	in.GaugeFunc("respawnd_stats_blocks", "Stored blocks of data of players.", func() int { return totals().Blocks })
	in.GaugeFunc("respawnd_stats_block_bytes", "Length of all blocks.", func() int { return int(totals().BlockBytes) })
	in.GaugeFunc("respawnd_stats_games", "Stored reports of games.", func() int { return totals().Reports })
	in.GaugeFunc("respawnd_stats_game_bytes", "Length of all reports of games.", func() int { return int(totals().ReportBytes) })
	return &metrics{
		changes: in.Counters("respawnd_stats_changes_total", "Changes of blocks.", "result", resultOK, resultRefused, resultError),
		reports: in.Counters("respawnd_stats_games_total", "Reports of games.", "result", resultOK, resultIgnored, resultRefused, resultError),
		dropped: in.Counters("respawnd_stats_games_dropped_total", "Reports of games that were removed because there were too many or they were too old.", "reason", droppedNumber, droppedAge),
		credits: in.Counter("respawnd_stats_scores_total", "Scores that reports of games changed."),
	}
}

func resultOf(err error) string {
	switch {
	case err == nil:
		return resultOK
	case errors.Is(err, ErrTooLarge), errors.Is(err, ErrFull), errors.Is(err, ErrPairs),
		errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrInvalid):
		return resultRefused
	}
	return resultError
}

func (m *metrics) changed(err error) { m.changes.WithLabelValues(resultOf(err)).Inc() }

func (m *metrics) refused() { m.reports.WithLabelValues(resultRefused).Inc() }

func (m *metrics) reported(r storage.ReportResult, err error) {
	result := resultOf(err)
	if err == nil && !r.Stored {
		result = resultIgnored
	}
	m.reports.WithLabelValues(result).Inc()
	m.dropped.WithLabelValues(droppedNumber).Add(float64(r.Dropped))
	m.credits.Add(float64(r.Credited))
}
