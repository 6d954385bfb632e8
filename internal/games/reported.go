package games

import (
	"time"

	"github.com/respawnd/respawnd/internal/lang"
)

// ReportedCopies are the copies that players report on: those of editions, the title of a console,
// and one that the player did not name.
func ReportedCopies() []string { return []string{"retail", "gog", "steam", "console", "other"} }

// Reports returns what players reported of copies of a game at this server.
type Reports func(copies []string) Reported

// Reported is the sum of what players reported of copies of a game at this server.
type Reported struct {
	Times     int    // that the game was played
	Last      string // day when it was played last: 2026-11-28; "": never
	Version   string // that was played last; "" if it is not known
	Met       bool   // the server saw itself that players came together
	StoppedAt string // step after which it stopped by most of the last reports; "": it did not
	Elsewhere Tally  // what other servers of this program say of themselves; it raises no word
}

// Tally is how often a game was played.
type Tally struct {
	Times   int
	Last    string // day when it was played last: 2026-11-28; "": never
	Version string // that was played last; "" if it is not known
}

// oldReport is the age from which on only the year of the last report is said.
const oldReport = 400 * 24 * time.Hour

// enough reports whether the game is taken for played: by a report that the server's own
// observation of a meeting supports, or by two.
func (r *Reported) enough() bool { return r.Met || r.Times >= 2 }

// take has reports overrule what is known otherwise, if that is older and services do not say the
// contrary.
func (o *Outlook) take(r Reported) {
	o.Reported = r
	switch {
	case r.Times == 0 || !r.enough(), o.Word == Blocked || o.Word == TurnedOff:
	case o.Word == Untried || o.Word == NotKnown || o.Word == ShouldPlay || r.Last >= o.Edition.Date:
		o.Word = Played
	}
}

// Questioned reports whether reports contradict what is known: players say that copies were played
// which cannot be played here. An operator has to find out who is right.
func (o *Outlook) Questioned() bool {
	return o.Word == Blocked && o.Times > 0 && o.enough() && o.Last >= o.Edition.Date
}

// String returns the sum for players: "14 times, last on 3 November 2026, version 1.1".
func (r Reported) String() string { return r.in(nil) }

// in returns the tally as text in a language.
func (t Tally) in(l *lang.Language) string {
	text := l.N(t.Times, "once, last in %2|%1 times, last in %2", t.Last[:min(len(t.Last), len("2026"))])
	if day, err := time.Parse(time.DateOnly, t.Last); err == nil && time.Since(day) < oldReport {
		text = l.N(t.Times, "once, last on %2|%1 times, last on %2", l.Time(day, "2 January 2006"))
	}
	if t.Version != "" {
		text += ", " + l.T("version %1", t.Version)
	}
	return text
}

// in is String in a language.
func (r Reported) in(l *lang.Language) string {
	text := Tally{r.Times, r.Last, r.Version}.in(l)
	if r.StoppedAt != "" {
		text += ", " + l.T("but by the last reports it stopped after: %1", l.T(r.StoppedAt))
	}
	return text
}
