package records

import (
	"context"
	"iter"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// playReports are what players said of their games. The key is DAY/GAME/REPORTER.
var playReports = kind[storage.PlayReport]{
	table: tablePlayReports,
	key:   func(p *storage.PlayReport) []byte { return []byte(p.String()) },
	canon: func(p storage.PlayReport) (storage.PlayReport, error) { return p, p.Check() },
	most:  storage.MaxPlayReports,
	over:  func(p *storage.PlayReport, now time.Time) bool { return p.Day < now.UTC().Format(time.DateOnly) },
}

// PutPlayReport is described in [storage.PlayReports].
func (s *Store) PutPlayReport(ctx context.Context, p storage.PlayReport) error {
	return playReports.put(ctx, s, p)
}

// RemovePlayReports is described in [storage.PlayReports].
func (s *Store) RemovePlayReports(ctx context.Context, before time.Time) (int, error) {
	return playReports.sweep(ctx, s, before)
}

// PlayReports is described in [storage.PlayReports].
func (s *Store) PlayReports(ctx context.Context) iter.Seq2[storage.PlayReport, error] {
	return playReports.all(ctx, s)
}
