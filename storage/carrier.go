package storage

import (
	"context"
	"iter"
)

// Numbers are the ids that a store assigned last. Records with lower ids that are not
// there were deleted.
type Numbers struct {
	User    uint32 `json:"user"`
	Profile uint32 `json:"profile"`
	Room    uint32 `json:"room"`
	File    uint32 `json:"file"`
	Report  uint64 `json:"report"`
	Match   uint64 `json:"match"`
	Audit   uint64 `json:"audit"`
}

// SakeSeries is the state of the ids and columns of a SAKE table. It outlives
// the table.
type SakeSeries struct {
	SakeTableID

	Live    bool         `json:"live,omitzero"` // the table exists; otherwise Columns are missing
	LastID  uint32       `json:"last_id"`
	Columns []SakeColumn `json:"columns,omitempty"`
}

// GivenRating is the rating of a SAKE record by one profile.
type GivenRating struct {
	ID     uint32    `json:"id"` // of the record
	Rater  ProfileID `json:"rater"`
	Rating int       `json:"rating"`
}

// Carrier extends Store for copying everything from one engine to another: ways
// to read all records of a kind, and to store records under the ids that they have.
//
// A copy works on a store that nothing else uses. Every Import stores missing records and leaves
// existing ones, so that a copy that was interrupted can be repeated. Imports have no other effect:
// nothing is credited, limited or recorded in the audit log.
type Carrier interface {
	// Numbers returns the ids that were assigned last.
	Numbers(ctx context.Context) (Numbers, error)

	// RaiseNumbers makes later ids higher than those.
	RaiseNumbers(ctx context.Context, n Numbers) error

	// EveryReport yields the reports of all games with ids above after, in the order
	// of ids.
	EveryReport(ctx context.Context, after uint64) iter.Seq2[Report, error]

	// ImportReports stores reports under their ids. Reports of the same game,
	// connection and session are imported in the order of ids.
	ImportReports(ctx context.Context, reports []Report) error

	// EveryMatch yields the matches of all games with ids above after, in the order
	// of ids.
	EveryMatch(ctx context.Context, after uint64) iter.Seq2[Match, error]

	// ImportMatches stores matches under their ids.
	ImportMatches(ctx context.Context, matches []Match) error

	// ImportFiles stores the descriptions of files under their ids.
	ImportFiles(ctx context.Context, files []File) error

	// ImportRequests stores requests without regard to limits.
	ImportRequests(ctx context.Context, requests []Request) error

	// ImportAudit stores entries of the audit log under their numbers, in any order.
	ImportAudit(ctx context.Context, entries []AuditEntry) error

	// SakeSeries yields the series of all SAKE tables, in any order.
	SakeSeries(ctx context.Context) iter.Seq2[SakeSeries, error]

	// ImportSakeSeries stores the columns of a table in their order, which must begin
	// with those that are there, and makes the table if the series is live. Later ids
	// of the table are higher than LastID.
	ImportSakeSeries(ctx context.Context, series SakeSeries) error

	// GivenRatings yields the ratings of the records of a table, in any order.
	GivenRatings(ctx context.Context, table SakeTableID) iter.Seq2[GivenRating, error]

	// ImportRatings stores ratings. The sums of the records have them already.
	ImportRatings(ctx context.Context, table SakeTableID, ratings []GivenRating) error

	// CopyMark returns the mark that SetCopyMark stored last; "" at first.
	CopyMark(ctx context.Context) (string, error)

	// SetCopyMark stores how far a copy into this store has come.
	SetCopyMark(ctx context.Context, mark string) error
}
