package storage

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"
)

// Limits of the blocks of a profile.
const (
	MaxStatBlock  = 1 << 20 // MaxStatBlock is the longest block in bytes.
	MaxStatBytes  = 8 << 20 // MaxStatBytes is the greatest limit for all blocks of a profile in bytes.
	MaxStatBlocks = 10_000  // MaxStatBlocks is how many blocks a profile may have, in all games.
)

// StatKind determines who may read and write a block.
type StatKind uint8

// The kinds. The numbers are those of the protocol and part of stored keys.
const (
	StatPrivateRead  StatKind = 0 // only the owner reads it, only operators write it
	StatPrivateWrite StatKind = 1 // only the owner reads and writes it
	StatPublicRead   StatKind = 2 // everyone reads it, only operators write it
	StatPublicWrite  StatKind = 3 // everyone reads it, the owner writes it
)

// Private reports whether only the owner may read a block of this kind.
func (k StatKind) Private() bool { return k <= StatPrivateWrite }

// ReadOnly reports whether only operators may write a block of this kind.
func (k StatKind) ReadOnly() bool { return k == StatPrivateRead || k == StatPublicRead }

// StatBlockID identifies a StatBlock.
type StatBlockID struct {
	Game    string    `json:"game"` // name of the game
	Profile ProfileID `json:"profile,omitzero"`
	Kind    StatKind  `json:"kind"`
	Index   int32     `json:"index"` // any number from 0 on, chosen by the game
}

// StatBlock is data that a game keeps for a player. The data are bytes in a
// form that only the game knows.
type StatBlock struct {
	StatBlockID

	Data []byte `json:"data,omitempty"`
	// Modified is the time of the last change in whole seconds. It is greater
	// than that of every earlier change of a block of this profile, game and
	// index, of whatever kind, also when they are in the same second. So a client
	// that remembers one time notices a later change; the price is that Modified
	// is ahead of the clock after several changes in a second, by MaxStatAhead at
	// most. Changes at that bound share a second. It never decreases.
	Modified time.Time `json:"modified"`
}

// StatSize is how much a profile has stored.
type StatSize struct {
	Blocks int   // number of blocks
	Bytes  int64 // length of their data
}

// StatTotals is how much is stored for all profiles and games.
type StatTotals struct {
	Blocks      int   // number of blocks
	BlockBytes  int64 // length of their data
	Reports     int   // number of reported games
	ReportBytes int64 // size of their records
}

// Check returns an error that matches ErrInvalid for an id that cannot be stored.
func (id StatBlockID) Check() error {
	switch {
	case id.Profile == 0 || id.Profile > MaxAccountID:
		return invalid("%d is not the id of a profile", id.Profile)
	case id.Kind > StatPublicWrite:
		return invalid("%d is not a kind of block", id.Kind)
	case id.Index < 0:
		return invalid("index %d of a block is below 0, which no game can read", id.Index)
	}
	return checkName("game of a block", id.Game, MaxGameName)
}

// Canonical returns b as it is stored: checked, with its time in UTC and whole
// seconds. The error matches ErrInvalid.
func (b StatBlock) Canonical() (StatBlock, error) {
	if len(b.Data) > MaxStatBlock {
		return StatBlock{}, invalid("block is longer than %d bytes", MaxStatBlock)
	}
	b.Modified = time.Unix(StatSecond(b.Modified), 0).UTC()
	return b, b.Check()
}

// StatSecond returns the seconds of a time since 1970 within the range that
// clients can read: 1 to 2^31-1.
func StatSecond(t time.Time) int64 { return min(max(t.Unix(), 1), math.MaxInt32) }

// MaxStatAhead is how far changes move StatBlock.Modified ahead of the clock.
const MaxStatAhead = time.Minute

// NextStatSecond returns the second of a change at a time after one with the second
// latest, see StatBlock.Modified.
func NextStatSecond(latest int64, at time.Time) int64 {
	next := min(latest+1, at.Add(MaxStatAhead).Unix())
	return StatSecond(time.Unix(max(at.Unix(), latest, next), 0))
}

// CheckStatImport returns an error that matches ErrInvalid for data that cannot
// be stored as those of one profile.
func CheckStatImport(id ProfileID, blocks []StatBlock, scores []Score) error {
	if len(blocks) > MaxStatBlocks || len(scores) > MaxScores {
		return invalid("%d blocks and %d scores, at most %d and %d are allowed", len(blocks), len(scores), MaxStatBlocks, MaxScores)
	}
	size := 0
	seen := make(map[any]bool, len(blocks)+len(scores))
	for i := range blocks {
		if blocks[i].Profile != id || seen[blocks[i].StatBlockID] {
			return invalid("block %d is of another profile, or repeats one", i+1)
		}
		seen[blocks[i].StatBlockID] = true
		if size += len(blocks[i].Data); size > MaxStatBytes {
			return invalid("blocks are longer than %d bytes", MaxStatBytes)
		}
	}
	for i := range scores {
		if scores[i].Profile != id || seen[scores[i].ScoreID] {
			return invalid("score %d is of another profile, or repeats one", i+1)
		}
		seen[scores[i].ScoreID] = true
	}
	return nil
}

// ErrStatsFull returns an error that matches ErrFull for a profile whose blocks
// would exceed a limit.
func ErrStatsFull(id ProfileID, size StatSize, limit int64) error {
	return fmt.Errorf("blocks of profile %d: %w: %d bytes in %d blocks, at most %d bytes in %d blocks are allowed",
		id, ErrFull, size.Bytes, size.Blocks, limit, MaxStatBlocks)
}

// Stats keeps the data that games store: blocks of players, games that servers reported, scores.
// Deleting a profile deletes its blocks and scores in the same step; reported games stay.
type Stats interface {
	// GetStatBlock returns a block or ErrNotFound.
	GetStatBlock(ctx context.Context, id StatBlockID) (StatBlock, error)

	// EditStatBlock replaces the data of a block by the result of edit, which
	// gets the present data, nil if there is no block, and may use them only
	// until it returns. edit may be called more than once. Its error is
	// returned as it is; nothing has changed then. at is the time of the
	// change, see StatBlock.Modified. The returned block has no Data.
	//
	// The error is ErrNotFound if the profile does not exist, and ErrFull if
	// the profile would have more than limit bytes or MaxStatBlocks blocks
	// after a change that adds to them.
	EditStatBlock(ctx context.Context, id StatBlockID, limit int64, at time.Time,
		edit func(old []byte) ([]byte, error)) (StatBlock, error)

	// DeleteStatBlock removes a block or returns ErrNotFound.
	DeleteStatBlock(ctx context.Context, id StatBlockID) error

	// StatBlocks yields the blocks of a profile in the order of game, index and
	// kind.
	StatBlocks(ctx context.Context, id ProfileID) iter.Seq2[StatBlock, error]

	// StatSizeOf returns how much a profile has stored, at the same cost for
	// every number of blocks.
	StatSizeOf(ctx context.Context, id ProfileID) (StatSize, error)

	// StatTotals returns how much is stored, at the same cost for every number of
	// records.
	StatTotals(ctx context.Context) (StatTotals, error)

	// DeleteStats removes all blocks and scores of a profile and returns how
	// many there were.
	DeleteStats(ctx context.Context, id ProfileID) (int, error)

	// ImportStats stores the blocks and scores of a profile, all or none, with
	// the times that they have. The error is ErrNotFound if the profile does not
	// exist, and ErrTaken if it has blocks or scores already.
	ImportStats(ctx context.Context, id ProfileID, blocks []StatBlock, scores []Score) error

	// PutReport stores the state of a game that a server reports. limits are
	// enforced in the same step: the oldest reports are removed, never the
	// reported game itself. See Report.
	PutReport(ctx context.Context, r Report, credits []Credit, limits ReportLimits) (ReportResult, error)

	// GetReport returns a reported game or ErrNotFound.
	GetReport(ctx context.Context, id uint64) (Report, error)

	// Reports yields the reports of a game, the newest first, those below an id;
	// 0: all.
	Reports(ctx context.Context, game string, before uint64) iter.Seq2[Report, error]

	// DeleteReport removes a reported game or returns ErrNotFound. Scores stay.
	DeleteReport(ctx context.Context, id uint64) error

	// SweepReports removes the reports of games that began before a time and
	// returns how many there were.
	SweepReports(ctx context.Context, before time.Time) (int, error)

	// PutScore stores a score in place of the one with the same id. The error is
	// ErrNotFound if the profile does not exist, and ErrFull if it would have
	// more than MaxScores.
	PutScore(ctx context.Context, s Score) error

	// DeleteScore removes a score or returns ErrNotFound.
	DeleteScore(ctx context.Context, id ScoreID) error

	// ScoresOf yields the scores of a profile in the order of game and board,
	// without ranks.
	ScoresOf(ctx context.Context, id ProfileID) iter.Seq2[Score, error]

	// Ranking returns up to n scores of a board, the highest first, without the
	// first from. It does not read the others, nor does RankOf. A negative from
	// and an n over MaxRankingPage are ErrInvalid.
	Ranking(ctx context.Context, game, board string, from, n int) ([]Score, error)

	// RankOf returns a score with its rank, or ErrNotFound.
	RankOf(ctx context.Context, id ScoreID) (Score, error)
}
