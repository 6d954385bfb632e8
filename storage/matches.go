package storage

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"
)

// Limits of a Match.
const (
	MaxMatchSides    = 64       // MaxMatchSides is how many players may take part in a session.
	MaxMatchPlayers  = 128      // MaxMatchPlayers is how many players a report may list.
	MaxMatchConns    = 8        // MaxMatchConns is how many connections a side may have.
	MaxMatchVersions = 3        // MaxMatchVersions is how many different reports of a match are kept.
	MaxMatchReport   = 32 << 10 // MaxMatchReport is the longest report in bytes.
	MaxMatchValues   = 2048     // MaxMatchValues is how many values a match may have.
	MaxMatchText     = 255      // MaxMatchText is the longest value or nick in bytes.
	matchIDLen       = 36       // a GUID with hyphens
)

// MatchOutcome is the result of the reports of a match.
type MatchOutcome string

// The outcomes.
const (
	MatchOpen      MatchOutcome = "open"      // further reports are expected
	MatchAgreed    MatchOutcome = "agreed"    // all sides report the same results
	MatchHost      MatchOutcome = "host"      // the report of the authoritative host counts
	MatchUnopposed MatchOutcome = "unopposed" // not all sides reported, those that did agree
	MatchDisputed  MatchOutcome = "disputed"  // the sides report different results: none counts
	MatchBroken    MatchOutcome = "broken"    // the reports say that the match did not end
)

// MatchOutcomes returns all outcomes.
func MatchOutcomes() []MatchOutcome {
	return []MatchOutcome{MatchOpen, MatchAgreed, MatchHost, MatchUnopposed, MatchDisputed, MatchBroken}
}

// Counts reports whether the results of a match with the outcome are valid.
func (o MatchOutcome) Counts() bool {
	return o == MatchAgreed || o == MatchHost || o == MatchUnopposed
}

// Match is a match as the games of its players reported it to the competition
// service.
type Match struct {
	ID        uint64       `json:"id"` // assigned by the store, ascending, never used twice
	Game      string       `json:"game"`
	Session   string       `json:"session"` // a GUID
	Matchless bool         `json:"matchless,omitzero"`
	Outcome   MatchOutcome `json:"outcome"`
	Began     time.Time    `json:"began"` // of the session
	First     time.Time    `json:"first"` // first report
	Settled   time.Time    `json:"settled,omitzero"`

	Sides    []MatchSide    `json:"sides,omitempty"`    // who took part in the session
	Players  []MatchPlayer  `json:"players,omitempty"`  // of the report that counts, or else of the first
	Teams    []MatchTeam    `json:"teams,omitempty"`    // likewise
	Values   []MatchValue   `json:"values,omitempty"`   // likewise, of the match itself
	Versions []MatchVersion `json:"versions,omitempty"` // the reports, those with the same results once
}

// MatchSide is a player in a session, whose identity was proved. A deleted profile
// leaves a side without profile, nick and connections.
type MatchSide struct {
	Profile ProfileID `json:"profile,omitzero"`
	Nick    string    `json:"nick,omitzero"`
	Conns   []string  `json:"conns,omitempty"`  // ids of its connections, GUIDs
	Host    bool      `json:"host,omitzero"`    // it made the session and claims to be authoritative
	Version int       `json:"version,omitzero"` // which of the versions it reported, from 1; -1: another one, 0: none
}

// MatchPlayer is a player in a report. One without a profile is a guest, or was
// deleted.
type MatchPlayer struct {
	Profile ProfileID    `json:"profile,omitzero"`
	Nick    string       `json:"nick,omitzero"`
	Team    uint32       `json:"team,omitzero"`
	Result  string       `json:"result"` // "win", "loss"
	Values  []MatchValue `json:"values,omitempty"`
}

// MatchTeam is a team in a report.
type MatchTeam struct {
	ID     uint32       `json:"id"`
	Result string       `json:"result"`
	Values []MatchValue `json:"values,omitempty"`
}

// MatchValue is a value in a report. The numbers of keys have a meaning for the game
// only.
type MatchValue struct {
	Key  uint16 `json:"key"`
	Text string `json:"text"`
}

// MatchVersion is a report that one or more sides agree on.
type MatchVersion struct {
	Report []byte    `json:"report"` // as it was sent
	At     time.Time `json:"at"`
	Broken bool      `json:"broken,omitzero"` // the match did not end
}

// Canonical returns m as it is stored: checked, with times in UTC. The error matches
// ErrInvalid.
func (m Match) Canonical() (Match, error) {
	if len(m.Session) != matchIDLen || !slices.Contains(MatchOutcomes(), m.Outcome) {
		return Match{}, invalid("a match needs the id of a session and an outcome")
	}
	if len(m.Sides) > MaxMatchSides || len(m.Players) > MaxMatchPlayers || len(m.Teams) > MaxMatchPlayers || len(m.Versions) > MaxMatchVersions {
		return Match{}, invalid("too many players or reports in a match")
	}
	if err := cmp.Or(checkName("game of a match", m.Game, MaxGameName), m.checkTexts()); err != nil {
		return Match{}, err
	}
	m.Began, m.First, m.Settled = m.Began.Round(0).UTC(), m.First.Round(0).UTC(), m.Settled.Round(0).UTC()
	m.Versions = slices.Clone(m.Versions)
	for i := range m.Versions {
		if len(m.Versions[i].Report) > MaxMatchReport {
			return Match{}, invalid("a report is longer than %d bytes", MaxMatchReport)
		}
		m.Versions[i].At = m.Versions[i].At.Round(0).UTC()
	}
	return m, nil
}

// checkTexts checks nicks, connections and values.
func (m *Match) checkTexts() error {
	values := slices.Clone(m.Values)
	for _, s := range m.Sides {
		if len(s.Conns) > MaxMatchConns || strings.Join(s.Conns, "") != "" && len(strings.Join(s.Conns, "")) != matchIDLen*len(s.Conns) {
			return invalid("a side has wrong connections")
		}
		if err := checkText("nick of a side", s.Nick, MaxMatchText); err != nil {
			return err
		}
	}
	for _, p := range m.Players {
		if err := checkText("nick of a player", p.Nick+p.Result, MaxMatchText); err != nil {
			return err
		}
		values = append(values, p.Values...)
	}
	for _, t := range m.Teams {
		if err := checkText("result of a team", t.Result, MaxMatchText); err != nil {
			return err
		}
		values = append(values, t.Values...)
	}
	if len(values) > MaxMatchValues {
		return invalid("a match has more than %d values", MaxMatchValues)
	}
	for _, v := range values {
		if err := checkText("value of a match", v.Text, MaxMatchText); err != nil {
			return err
		}
	}
	return nil
}

// Profiles returns the profiles in the match, each once, in the order of ids.
func (m *Match) Profiles() (all []ProfileID) {
	for _, s := range m.Sides {
		all = append(all, s.Profile)
	}
	for _, p := range m.Players {
		all = append(all, p.Profile)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > 0 && all[0] == 0 {
		all = all[1:]
	}
	return all
}

// Forget removes a profile from the match.
func (m *Match) Forget(id ProfileID) {
	m.Sides, m.Players = slices.Clone(m.Sides), slices.Clone(m.Players)
	for i := range m.Sides {
		if s := &m.Sides[i]; s.Profile == id {
			s.Profile, s.Nick, s.Conns = 0, "", nil
		}
	}
	for i := range m.Players {
		if p := &m.Players[i]; p.Profile == id {
			p.Profile, p.Nick = 0, ""
		}
	}
}

// Matches keeps the matches of the competition service. Deleting a profile forgets it
// in its matches, in the same step.
type Matches interface {
	// PutMatch stores a match, one with the ID 0 under a new id, and returns it as it
	// is stored: profiles that do not exist are forgotten. The error is ErrNotFound
	// for another id that is not there. credits are applied in the same step if the
	// outcome counts and the stored match, if there is one, is open. keep, above 0, is
	// how many matches of the game are kept: the oldest ones are removed.
	PutMatch(ctx context.Context, m Match, credits []Credit, keep int) (Match, error)

	// GetMatch returns a match or ErrNotFound.
	GetMatch(ctx context.Context, id uint64) (Match, error)

	// Matches yields the matches of a game, the newest first, those below an id; 0:
	// all.
	Matches(ctx context.Context, game string, before uint64) iter.Seq2[Match, error]

	// OpenMatches yields all matches that are open, the oldest first.
	OpenMatches(ctx context.Context) iter.Seq2[Match, error]

	// MatchesOf yields the matches of a profile, the oldest first.
	MatchesOf(ctx context.Context, id ProfileID) iter.Seq2[Match, error]

	// DeleteMatch removes a match or returns ErrNotFound. Scores stay.
	DeleteMatch(ctx context.Context, id uint64) error

	// SweepMatches removes the matches whose first report came before a time and
	// returns how many there were.
	SweepMatches(ctx context.Context, before time.Time) (int, error)
}
