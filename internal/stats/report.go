package stats

import (
	"context"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
)

// Snapshot is a message of a server about a game, a match, that is played on
// it.
type Snapshot struct {
	Game    string         // name of the game
	Conn    uint64         // the connection; unique while the daemon runs
	Session int32          // number of the match on its connection
	Server  netip.AddrPort // of the server

	Begin   bool // the match is announced
	Done    bool // the match is over
	Trusted bool // false: from a disk log, played while there was no connection

	Pairs []Pair // of the server, its players and teams
	// Proved returns whether the connection proved that a player is there;
	// nil: none.
	Proved func(storage.ProfileID) bool
	At     time.Time // zero: now
}

// Report stores the state of a match. If it is final, trusted and the first that
// is, the results of its proved players are added to their scores in the same
// step. The error is ErrTooLarge for a snapshot over the limit of its size. A snapshot
// that a Taker takes is left to it.
func (b *Book) Report(ctx context.Context, s Snapshot) error {
	if t := b.taker.Load(); t != nil {
		if taken, err := (*t)(ctx, &s); taken {
			return err
		}
	}
	limits := b.Limits()
	if s.At.IsZero() {
		s.At = time.Now()
	}
	r := storage.Report{
		Game: s.Game, Conn: s.Conn + b.run, Session: s.Session, Server: s.Server, Started: s.At, Updated: s.At,
		New: s.Begin, Done: s.Done, Trusted: s.Trusted, Pairs: AppendPairs(nil, s.Pairs),
	}
	if len(r.Pairs) > storage.MaxReportPairs {
		b.metrics.refused()
		return fmt.Errorf("report of %d bytes: %w: at most %d are allowed", len(r.Pairs), ErrTooLarge, storage.MaxReportPairs)
	}
	players := provedPlayers(Decode(s.Pairs).Players, s.Proved)
	for _, p := range players {
		if !slices.Contains(r.Profiles, p.profile) && len(r.Profiles) < storage.MaxReportProfiles {
			r.Profiles = append(r.Profiles, p.profile)
		}
	}
	var credits []storage.Credit
	if s.Done && s.Trusted {
		credits = creditsOf(s.Game, b.boards(s.Game), players)
	}
	result, err := b.store.PutReport(ctx, r, credits, storage.ReportLimits{PerGame: limits.KeepGames, Bytes: limits.KeepBytes})
	b.metrics.reported(result, err)
	return err
}

// Taker stores the snapshots of a game that has more to keep than boards. taken is
// false for those that it leaves to the Book.
type Taker func(ctx context.Context, s *Snapshot) (taken bool, err error)

// SetTaker sets the Taker, of which there is one.
func (b *Book) SetTaker(t Taker) { b.taker.Store(&t) }

// player is a player of a match whose profile was proved.
type player struct {
	profile storage.ProfileID
	pairs   []Pair
}

// provedPlayers returns the players whose key pid names a proved profile.
func provedPlayers(groups []Group, proved func(storage.ProfileID) bool) (all []player) {
	if proved == nil {
		return nil
	}
	for _, g := range groups {
		id, err := strconv.ParseUint(g.Get("pid"), 10, 32)
		if err == nil && id > 0 && id <= storage.MaxAccountID && proved(storage.ProfileID(id)) {
			all = append(all, player{storage.ProfileID(id), g.Pairs})
		}
	}
	return all
}

func creditsOf(game string, boards []games.Board, players []player) (credits []storage.Credit) {
	for _, board := range boards {
		if board.How == games.BoardElo { // of matches that are reported elsewhere
			continue
		}
		for _, p := range players {
			value, ok := number(Group{Pairs: p.pairs}.Get(board.Key))
			if !ok || len(credits) == storage.MaxCredits {
				continue
			}
			credits = append(credits, storage.Credit{
				ScoreID: storage.ScoreID{Game: game, Board: board.Name, Profile: p.profile}, How: RuleOf(board.How), Value: value,
			})
		}
	}
	return credits
}

// RuleOf returns how scores of a board count.
func RuleOf(r games.BoardRule) storage.ScoreRule {
	switch r {
	case games.BoardMax:
		return storage.ScoreMax
	case games.BoardLast, games.BoardElo:
		return storage.ScoreLast
	case games.BoardSum:
	}
	return storage.ScoreSum
}

// number returns the number that a value is, in the forms that games send:
// decimal, with a fraction or without.
func number(s string) (float64, bool) {
	if s == "" || strings.Trim(s, "+-.0123456789eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && v >= -storage.MaxScore && v <= storage.MaxScore
}

// Games yields the reports of a game, the newest first, those below an id; 0:
// all.
func (b *Book) Games(ctx context.Context, game string, before uint64) iter.Seq2[storage.Report, error] {
	return b.store.Reports(ctx, game, before)
}

// Game returns a report or storage.ErrNotFound.
func (b *Book) Game(ctx context.Context, id uint64) (storage.Report, error) {
	return b.store.GetReport(ctx, id)
}

// DeleteGame removes a report or returns storage.ErrNotFound. Scores stay.
func (b *Book) DeleteGame(ctx context.Context, id uint64) error { return b.store.DeleteReport(ctx, id) }

// Sweep removes reports that are too old and returns how many.
func (b *Book) Sweep(ctx context.Context, now time.Time) (int, error) {
	n, err := b.store.SweepReports(ctx, now.Add(-b.Limits().KeepFor))
	b.metrics.dropped.WithLabelValues(droppedAge).Add(float64(n))
	return n, err
}
