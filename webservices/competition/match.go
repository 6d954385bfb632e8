package competition

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/storage"
)

// submission is a report of a player.
type submission struct {
	from   storage.ProfileID
	conn   string
	report *Report
	raw    []byte
	at     time.Time
}

// with returns the match after a report. A repeated report of a side changes nothing: again is true
// then.
func with(m storage.Match, s submission) (next storage.Match, again bool, err error) {
	m.Sides, m.Versions = slices.Clone(m.Sides), slices.Clone(m.Versions)
	side := sideOf(&m, s.conn)
	if side == nil || side.Profile != s.from {
		return m, false, errNotInIt
	}
	if !side.Host && !slices.ContainsFunc(s.report.Players, func(p Player) bool { return slices.Contains(side.Conns, p.Conn.String()) }) {
		return m, false, errReport // of a match without its sender
	}
	version := versionOf(&m, s.report)
	if side.Version != 0 {
		if side.Version == version {
			return m, true, nil
		}
		return m, false, errSecond
	}
	if m.First.IsZero() {
		m.First = s.at
		fill(&m, s.report)
	}
	if version == 0 {
		version = otherVersion
		if len(m.Versions) < storage.MaxMatchVersions {
			m.Versions = append(m.Versions, storage.MatchVersion{Report: s.raw, At: s.at, Broken: s.report.Status == StatusBroken})
			version = len(m.Versions)
		}
	}
	side.Version = version
	return m, false, nil
}

// versionOf returns the version of a match that a report is, from 1; 0: a new one.
func versionOf(m *storage.Match, r *Report) int {
	want := essence(r)
	for i := range m.Versions {
		if other, err := Decode(m.Versions[i].Report); err == nil && essence(other) == want {
			return i + 1
		}
	}
	return 0
}

// load returns the match of a session. s.mu is held.
func (backend *Backend) load(ctx context.Context, s *session) (storage.Match, error) {
	if s.match.ID == 0 {
		return s.match, nil
	}
	m, err := backend.opt.Store.GetMatch(ctx, s.match.ID)
	if errors.Is(err, storage.ErrNotFound) { // an operator removed it, or newer ones did
		backend.sessions.setOpen(s, false)
		return m, errNoSession
	}
	return m, err
}

// put decides a match at a time and stores it. s.mu is held.
func (backend *Backend) put(ctx context.Context, s *session, next storage.Match, now time.Time) error {
	var out []storage.Credit
	was := next.Outcome
	if outcome, version := decide(&next, now, backend.live.Load().Wait); was == storage.MatchOpen && outcome != was {
		next.Outcome, next.Settled = outcome, now
		if r, err := Decode(next.Versions[version].Report); err == nil {
			fill(&next, r)
			out = credits(&next, r, backend.boards(next.Game))
			ratings, err := backend.ratings(ctx, &next, r, storage.MaxCredits-len(out))
			if err != nil {
				return err
			}
			out = append(out, ratings...)
			out = append(out, totals(&next, r, backend.boards(next.Game), storage.MaxCredits-len(out))...)
		}
	}
	stored, err := backend.opt.Store.PutMatch(ctx, next, out, backend.live.Load().Keep)
	if err != nil {
		return err
	}
	if next.ID == 0 || stored.Outcome != was {
		backend.metrics.matches.WithLabelValues(string(stored.Outcome)).Inc()
	}
	// The rest is read from the store when it is needed.
	s.match = storage.Match{ID: stored.ID, Game: stored.Game, Outcome: stored.Outcome, First: stored.First}
	backend.sessions.setOpen(s, stored.Outcome == storage.MatchOpen)
	return nil
}

// submit stores the report of a player. It is durable when submit returns nil.
func (backend *Backend) submit(ctx context.Context, s *session, sub submission) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := backend.load(ctx, s)
	if err != nil {
		return err
	}
	next, again, err := with(m, sub)
	if err != nil || again {
		return err
	}
	return backend.put(ctx, s, next, sub.at)
}

// settleDue settles the matches whose reports took too long.
func (backend *Backend) settleDue(ctx context.Context, now time.Time) {
	for _, s := range backend.sessions.sweep(now) {
		if err := backend.settle(ctx, s, now); err != nil && ctx.Err() == nil {
			fault.Log(backend.opt.Log, err).Err(err).Msg("a match cannot be settled")
		}
	}
}

// settle settles the match of a session if it is due.
func (backend *Backend) settle(ctx context.Context, s *session, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.match.ID == 0 || s.match.Outcome != storage.MatchOpen || now.Before(s.match.First.Add(backend.live.Load().Wait)) {
		return nil
	}
	m, err := backend.load(ctx, s)
	if err != nil {
		return err
	}
	return backend.put(ctx, s, m, now)
}
