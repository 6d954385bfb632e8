package storage

import (
	"cmp"
	"net/netip"
	"time"
)

// Limits of a Report.
const (
	MaxReportPairs    = 128 << 10 // MaxReportPairs is how long the pairs may be in bytes.
	MaxReportProfiles = 256       // MaxReportProfiles is how many profiles a report may name.
	MaxCredits        = 4096      // MaxCredits is the maximum number of credits of a report.
)

// Report is a game, a match, as its server reported it to the statistics
// service.
//
// A report with the same Game, Conn and Session as an earlier one is an update: it
// replaces all but ID and Started. The first one that is Done is final: later
// updates are ignored. One that is New begins another game after a final one, and
// is ignored while the game is running.
type Report struct {
	ID      uint64         `json:"id"` // assigned by the store, ascending
	Game    string         `json:"game"`
	Conn    uint64         `json:"conn,omitzero"`    // the connection; never used again, not even after a restart
	Session int32          `json:"session,omitzero"` // number of the game on its connection
	Server  netip.AddrPort `json:"server,omitzero"`
	Started time.Time      `json:"started"`
	Updated time.Time      `json:"updated"`
	Done    bool           `json:"done,omitzero"`
	// Trusted is false for a game that was reported from a disk log afterwards.
	// An update cannot make a report trusted that was not.
	Trusted bool `json:"trusted,omitzero"`
	// Profiles are those players of whom the server proved that they were there.
	Profiles []ProfileID `json:"profiles,omitempty"`
	// Pairs are the keys and values of the last update, in the form of the
	// protocol: \key\value\key\value.
	Pairs []byte `json:"pairs,omitempty"`

	New bool `json:"-"` // the server announced the game; not stored
}

// ReportLimits bound the reports that PutReport keeps. 0: no limit.
type ReportLimits struct {
	PerGame int   // reports of one game
	Bytes   int64 // size of all reports
}

// ReportResult is the effect of PutReport.
type ReportResult struct {
	ID       uint64 // of the game that was stored or that the report was about
	Stored   bool   // false: the report was ignored
	Credited int    // credits that changed a score
	Dropped  int    // old reports that were removed
}

// Credit is an amount that the final report of a game adds to a score. It is applied in the
// same step as the report, if that is trusted and becomes final by it, and skipped
// if the profile does not exist or has MaxScores others.
type Credit struct {
	ScoreID

	How   ScoreRule
	Value float64
	Start float64 // of a score that there is none of yet, with ScoreSum
}

// Apply returns the score after the credit. first is true if there is none yet.
func (c *Credit) Apply(old float64, first bool) float64 {
	if first && c.How == ScoreSum {
		old, first = c.Start, false
	}
	return c.How.Apply(old, c.Value, first)
}

// Canonical returns r as it is stored: checked, with times in UTC. The error
// matches ErrInvalid.
func (r Report) Canonical() (Report, error) {
	switch {
	case len(r.Pairs) > MaxReportPairs:
		return Report{}, invalid("report is longer than %d bytes", MaxReportPairs)
	case len(r.Profiles) > MaxReportProfiles:
		return Report{}, invalid("report names more than %d profiles", MaxReportProfiles)
	}
	r.Started, r.Updated = r.Started.Round(0).UTC(), r.Updated.Round(0).UTC()
	return r, checkName("game of a report", r.Game, MaxGameName)
}

// CheckCredits returns an error that matches ErrInvalid for credits that a report
// cannot have.
func CheckCredits(credits []Credit) error {
	if len(credits) > MaxCredits {
		return invalid("more than %d credits", MaxCredits)
	}
	for i := range credits {
		c := &credits[i]
		if err := cmp.Or(c.Check(), checkScore(c.Value), checkScore(c.Start)); err != nil {
			return err
		}
		if c.How < ScoreSum || c.How > ScoreLast {
			return invalid("%d is not a rule for scores", c.How)
		}
	}
	return nil
}
