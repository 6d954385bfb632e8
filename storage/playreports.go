package storage

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"
)

// Limits of a PlayReport.
const (
	MaxPlayReports    = 20_000 // MaxPlayReports is how many reports there may be.
	MaxPlayReportText = 80     // MaxPlayReportText is the longest text of a player, in characters.
	MaxPlayVersion    = 40     // MaxPlayVersion is the longest version in bytes.
	MaxPlaySource     = 200    // MaxPlaySource is the longest source in bytes.
	maxPlayReporter   = 32
	maxPlayServices   = 32
)

// Played is the last of PlaySteps.
const Played = "played"

// PlaySteps are the steps of a game on its way to be played online, in their order.
func PlaySteps() []string {
	return []string{"nothing", "server found", "signed in", "list shown", "lobby", "joined", Played}
}

// PlayReportID identifies a PlayReport: there is one of each reporter, game and day.
type PlayReportID struct {
	Day      string `json:"day"`      // in UTC: 2026-11-28
	Game     string `json:"game"`     // name in the catalogue
	Reporter string `json:"reporter"` // hash of an address that is another one each day, or what an operator chose
}

// PlayReport is what a player said of a copy of a game at this master: that it could be played,
// or the last step before it stopped. It has no name and no address.
type PlayReport struct {
	PlayReportID

	Copy    string `json:"copy"`             // such as gog, see games.ReportedCopies
	Version string `json:"version,omitzero"` // as packets of the game had it
	Step    string `json:"step"`             // the last of PlaySteps that was reached
	Text    string `json:"text,omitzero"`    // of the player

	// What the daemon saw of the address itself: the services of this game that it used within the
	// last hour, whether one of them brought players together, and the last verdict.
	Services []string `json:"services,omitempty"`
	Met      bool     `json:"met,omitzero"`
	Verdict  string   `json:"verdict,omitzero"`

	Source string `json:"source,omitzero"` // of a report that an operator wrote
	Struck bool   `json:"struck,omitzero"` // an operator struck it out: it does not count
}

// Worked reports whether the game was played.
func (p *PlayReport) Worked() bool { return p.Step == Played }

// Counts reports whether something else than the player's word supports the report.
func (p *PlayReport) Counts() bool { return !p.Struck && (len(p.Services) > 0 || p.Source != "") }

// Check returns an error that matches ErrInvalid for an id that cannot be stored.
func (id PlayReportID) Check() error {
	if _, err := time.Parse(time.DateOnly, id.Day); err != nil {
		return invalid("%.20q is not a day such as 2026-11-28", id.Day)
	}
	if strings.Contains(id.Game+id.Reporter, "/") {
		return invalid("the report has a slash, which separates the parts of its name")
	}
	return cmp.Or(checkName("game of the report", id.Game, MaxMotdGame), checkName("reporter", id.Reporter, maxPlayReporter))
}

// String returns the id as it is written in commands: DAY/GAME/REPORTER.
func (id PlayReportID) String() string { return id.Day + "/" + id.Game + "/" + id.Reporter }

// ParsePlayReportID is the inverse of String. The error matches ErrInvalid.
func ParsePlayReportID(text string) (PlayReportID, error) {
	parts := strings.SplitN(text, "/", 3)
	if len(parts) != 3 {
		return PlayReportID{}, invalid("%.80q is not like 2026-11-28/GAME/REPORTER", text)
	}
	id := PlayReportID{Day: parts[0], Game: parts[1], Reporter: parts[2]}
	return id, id.Check()
}

// Check returns an error that matches ErrInvalid for a report that cannot be stored.
func (p *PlayReport) Check() error {
	switch {
	case !slices.Contains(PlaySteps(), p.Step):
		return invalid("%.40q is not a step: %s", p.Step, strings.Join(PlaySteps(), ", "))
	case len([]rune(p.Text)) > MaxPlayReportText:
		return invalid("the text is longer than %d characters", MaxPlayReportText)
	case len(p.Services) > maxPlayServices:
		return invalid("the report has more than %d services", maxPlayServices)
	}
	return cmp.Or(
		checkText("copy", p.Copy, MaxPlayVersion), checkText("version", p.Version, MaxPlayVersion),
		checkText("text of the report", p.Text, 4*MaxPlayReportText), checkText("verdict", p.Verdict, MaxPlaySource),
		checkText("source", p.Source, MaxPlaySource),
		checkText("services", strings.Join(p.Services, " "), MaxPlaySource*maxPlayServices),
		p.PlayReportID.Check(),
	)
}

// PlayReports keeps what players said of their games.
type PlayReports interface {
	// PutPlayReport stores a report in place of the one with the same id. The error is ErrFull if
	// there would be more than MaxPlayReports.
	PutPlayReport(ctx context.Context, p PlayReport) error

	// RemovePlayReports removes the reports of days before that of a time, and returns how many
	// there were.
	RemovePlayReports(ctx context.Context, before time.Time) (n int, err error)

	// PlayReports yields all reports in the order of days.
	PlayReports(ctx context.Context) iter.Seq2[PlayReport, error]
}
