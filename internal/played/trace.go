package played

import (
	"cmp"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// SeenFor is how long what the services saw of an address supports a report.
const SeenFor = time.Hour

// Trace notes in a report what services saw of the address of its player, and the version of the game
// as it said itself, if the report has none: entries are those of the address, and names those of the game. An entry without a game is of it if the game asks
// that service.
func Trace(p *storage.PlayReport, entries []verdicts.Entry, g games.Game, names []string, now time.Time) {
	var last time.Time
	for _, e := range entries {
		of := slices.Contains(names, e.Game) || e.Game == "" && slices.ContainsFunc(slices.Concat(g.Needs, g.Uses), func(s games.Service) bool { return string(s) == e.Service })
		if !of || now.Sub(e.Last) > SeenFor {
			continue
		}
		if !slices.Contains(p.Services, e.Service) {
			p.Services = append(p.Services, e.Service)
		}
		p.Met = p.Met || brings(e.Verdict)
		p.Version = cmp.Or(p.Version, clean.Line(e.Version(), storage.MaxPlayVersion/4)) // characters may be of four bytes
		if !e.Last.Before(last) {
			last, p.Verdict = e.Last, e.Verdict.String()
		}
	}
	slices.Sort(p.Services)
}

// brings reports whether a verdict says that players came together: with one of them, a single
// report is enough.
func brings(v verdicts.Verdict) bool {
	switch v {
	case verdicts.Met, verdicts.Relayed, verdicts.InChat, verdicts.QuickMatched, verdicts.RoundCounted, verdicts.Negotiated:
		return true
	default:
		return false
	}
}
