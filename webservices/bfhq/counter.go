package bfhq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/fault"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of the work behind answers.
const (
	maxWaiting  = 64              // rounds that wait for their totals
	retryAfter  = 5 * time.Second // when the store is not available
	makeUpSince = 24 * time.Hour  // how old a round may be whose totals a start completes
)

// errAlready ends the edit of totals that need no change.
var errAlready = errors.New("nothing to change")

type roundCounter struct {
	opt     Options
	config  atomic.Pointer[PagesConfig] // never nil
	metrics *metrics
	waiting chan counted
	trouble netserve.Trouble
}

// counted is a round whose players' totals are to change.
type counted struct {
	game  *games.Game
	round *Round
}

// blockOf returns where the totals of a player are.
func blockOf(game string, id storage.ProfileID) storage.StatBlockID {
	return storage.StatBlockID{Game: game, Profile: id, Kind: storage.StatPublicRead}
}

// read returns the totals of a player, empty ones if there are none.
func (k *roundCounter) read(ctx context.Context, game string, id storage.ProfileID) (*Record, error) {
	b, err := k.opt.Store.GetStatBlock(ctx, blockOf(game, id))
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return nil, err
	}
	return parseRecord(b.Data)
}

// edit changes the totals of a player. If change returns errAlready nothing is written.
func (k *roundCounter) edit(ctx context.Context, game string, id storage.ProfileID, change func(*Record) error) error {
	_, err := k.opt.Store.EditStatBlock(ctx, blockOf(game, id), storage.MaxStatBytes, time.Now(), func(old []byte) ([]byte, error) {
		record, err := parseRecord(old)
		if err == nil {
			err = change(record)
		}
		if err != nil {
			return nil, err
		}
		return record.appendTo(nil), nil
	})
	return err
}

// nickOf returns the name of a profile in a game: the unique nick of the game's namespace, or
// that of accounts that were not made in the game.
func nickOf(g *games.Game, p *storage.Profile) string {
	return cmp.Or(p.UniqueNickIn(g.UniqueNicks()), p.UniqueNickIn(games.DefaultNamespace), p.Nick)
}

// byNick returns the profile with a name in a game, or storage.ErrNotFound.
func (k *roundCounter) byNick(ctx context.Context, g *games.Game, nick string) (storage.Profile, error) {
	p, _, err := k.opt.Nick(ctx, g.UniqueNicks(), nick)
	if !errors.Is(err, storage.ErrNotFound) {
		return p, err
	}
	p, _, err = k.opt.Nick(ctx, games.DefaultNamespace, nick)
	if err == nil && storage.Fold(nickOf(g, &p)) != storage.Fold(nick) {
		err = storage.ErrNotFound // the player has another name in the game
	}
	return p, err
}

// count stores a round and leaves its results to the goroutine of Serve, so that the server is
// answered at once. repeated reports that they count already.
func (k *roundCounter) count(ctx context.Context, g *games.Game, round *Round) (repeated bool, err error) {
	most := 0
	for _, p := range round.Players {
		most += len(creditsOf(g.Name, round, p, time.Now()))
	}
	if most > storage.MaxCredits || len(round.kept()) > storage.MaxReportPairs {
		return false, errPlayers
	}
	result, err := k.put(ctx, g, round, false, nil)
	if err != nil || !result.Stored {
		return err == nil, err
	}
	select {
	case k.waiting <- counted{g, round}:
	case <-ctx.Done(): // makeUp finds it
	}
	return false, nil
}

// put stores the report of a round, which is final when its results count.
func (k *roundCounter) put(ctx context.Context, g *games.Game, round *Round, final bool, credits []storage.Credit) (storage.ReportResult, error) {
	now := time.Now()
	report := storage.Report{
		Game: g.Name, Conn: round.ID, Server: round.Server, Started: now, Updated: now, Done: final, Trusted: true, Pairs: round.kept(),
	}
	if at := round.Start; at.Before(now) && now.Sub(at) < makeUpSince {
		report.Started = at
	}
	for _, p := range round.Players {
		if p.Counts {
			report.Profiles = append(report.Profiles, p.Profile)
		}
	}
	limits := k.opt.Limits()
	return k.opt.Store.PutReport(ctx, report, credits, storage.ReportLimits{PerGame: limits.KeepGames, Bytes: limits.KeepBytes})
}

// finish makes the results of a round count: first those on boards, in one step that happens
// once, then the totals. Until the store is available it waits.
func (k *roundCounter) finish(ctx context.Context, c counted) {
	err := k.insist(ctx, func() error {
		credits, err := k.admit(ctx, c.game, c.round)
		if err == nil {
			_, err = k.put(ctx, c.game, c.round, true, credits)
		}
		return err
	})
	if err != nil {
		k.troubled(ctx, err)
		return // makeUp tries again
	}
	k.apply(ctx, c)
}

// insist calls f until the store is available, or ctx ends.
func (k *roundCounter) insist(ctx context.Context, f func() error) error {
	for {
		err := f()
		if !errors.Is(err, storage.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
		clock.Pause(ctx, retryAfter)
	}
}

// admit decides for which players of a round it counts, and returns their credits on boards.
func (k *roundCounter) admit(ctx context.Context, g *games.Game, round *Round) (credits []storage.Credit, err error) {
	for _, p := range round.Players {
		why := playerRobot
		if !p.Robot {
			if why, err = k.admits(ctx, g, round, p); err != nil {
				return nil, err
			}
		}
		p.Counts = why == playerCounted || why == playerRepeated
		if why == playerCounted {
			credits = append(credits, creditsOf(g.Name, round, p, time.Now())...)
			continue // counted with its totals
		}
		k.metrics.players.WithLabelValues(why).Inc()
	}
	return credits, nil
}

// admits returns the result of a player of a round.
func (k *roundCounter) admits(ctx context.Context, g *games.Game, round *Round, p *Participant) (why string, err error) {
	profile, err := k.opt.Store.GetProfile(ctx, p.Profile)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return playerUnknown, nil
	case err != nil:
		return "", err
	case !p.named(nickOf(g, &profile)):
		return playerOther, nil
	}
	record, err := k.read(ctx, g.Name, p.Profile)
	if errors.Is(err, errRecord) {
		k.troubled(ctx, fmt.Errorf("profile %d: %w", p.Profile, err))
		return playerFailed, nil
	}
	if err != nil {
		return "", err
	}
	switch known, old := record.counted(round.Mark); {
	case known:
		return playerRepeated, nil
	case old:
		return playerOld, nil
	}
	return playerCounted, nil
}

// apply changes the totals of the players for whom a round counts.
func (k *roundCounter) apply(ctx context.Context, c counted) {
	for _, p := range c.round.Players {
		if p.Counts && ctx.Err() == nil {
			_ = k.insist(ctx, func() error { return k.applyTo(ctx, c, p) }) // counted and logged there
		}
	}
	k.opt.Log.Debug().Stringer("server", c.round.Server).Msg("the pages of players have a round")
}

// applyTo changes the totals of a player.
func (k *roundCounter) applyTo(ctx context.Context, c counted, p *Participant) error {
	now := time.Now().Unix()
	err := k.edit(ctx, c.game.Name, p.Profile, func(record *Record) error {
		if known, old := record.counted(c.round.Mark); known || old {
			return errAlready
		}
		record.addRound(c.round, p, now)
		return nil
	})
	switch {
	case err == nil:
		k.metrics.players.WithLabelValues(playerCounted).Inc()
	case errors.Is(err, errAlready), errors.Is(err, storage.ErrUnavailable): // it is tried again
	case errors.Is(err, storage.ErrNotFound):
		k.metrics.players.WithLabelValues(playerUnknown).Inc() // deleted a moment ago
	default:
		k.metrics.players.WithLabelValues(playerFailed).Inc()
		k.troubled(ctx, fmt.Errorf("profile %d: %w", p.Profile, err))
	}
	return err
}

// Serve makes rounds count until ctx ends. It begins with those that an earlier run left out.
func (k *roundCounter) Serve(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	k.makeUp(ctx, makeUpSince)
	k.sweep(ctx, time.Now())
	for {
		select {
		case c := <-k.waiting:
			k.finish(ctx, c)
		case now := <-ticker.C:
			k.makeUp(ctx, 2*sweepEvery)
			k.sweep(ctx, now)
		case <-ctx.Done():
			return
		}
	}
}

// makeUp makes rounds of the last day count that do not yet, of this node and of others, and
// changes the totals that later rounds lack.
func (k *roundCounter) makeUp(ctx context.Context, later time.Duration) {
	now := time.Now()
	for _, g := range k.games() {
		for report, err := range k.opt.Store.Reports(ctx, g.Name, 0) {
			if err != nil && !errors.Is(err, storage.ErrDamaged) {
				k.troubled(ctx, err)
				break
			}
			if err != nil || !report.Trusted {
				continue
			}
			if now.Sub(report.Updated) > makeUpSince {
				break
			}
			if !report.Done || now.Sub(report.Updated) <= later {
				k.makeUpFor(ctx, &g, &report)
			}
		}
	}
}

// makeUpFor is makeUp for a report, if it is that of a round.
func (k *roundCounter) makeUpFor(ctx context.Context, g *games.Game, report *storage.Report) {
	pairs, err := stats.ParsePairs(report.Pairs)
	if err != nil {
		return
	}
	round, err := newRound(rulesOf(g), report.Server.Addr(), pairs)
	if err != nil || round.ID != report.Conn {
		return
	}
	if !report.Done {
		k.finish(ctx, counted{g, round})
		return
	}
	for _, p := range round.Players {
		p.Counts = slices.Contains(report.Profiles, p.Profile)
	}
	k.apply(ctx, counted{g, round})
}

func (k *roundCounter) games() (list []games.Game) {
	for g := range k.opt.Games.Each() {
		if rulesOf(g) != nil {
			list = append(list, *g)
		}
	}
	return list
}

// Take counts a final report of the statistics service as a round if it is about a game with
// pages, from a server whose rounds count. taken is false for all others.
func (k *roundCounter) Take(ctx context.Context, s *stats.Snapshot) (taken bool, err error) {
	g, ok := k.opt.Games.Lookup(s.Game)
	if !ok || rulesOf(&g) == nil || !s.Trusted || !k.config.Load().lists(s.Server.Addr()) {
		return false, nil
	}
	if !s.Done {
		return true, nil // nothing to count yet
	}
	round, err := newRound(rulesOf(&g), s.Server.Addr().Unmap(), s.Pairs)
	if err != nil {
		k.metrics.rounds.WithLabelValues(resultOf(err)).Inc()
		return false, nil // kept as any other report
	}
	repeated, err := k.count(ctx, &g, round)
	k.noteRound(round, repeated, err)
	return true, err
}

// resultOf returns the metrics' name of a reason for which a round is refused.
func resultOf(err error) string {
	switch {
	case errors.Is(err, errIncomplete):
		return roundIncomplete
	case errors.Is(err, errPlayers):
		return roundTooLarge
	case errors.Is(err, errSnapshot):
		return roundMalformed
	}
	return roundFailed
}

func (k *roundCounter) noteRound(round *Round, repeated bool, err error) {
	result := roundCounted
	switch {
	case err != nil:
		result = resultOf(err)
	case repeated:
		result = roundRepeated
	}
	k.metrics.rounds.WithLabelValues(result).Inc()
	if err == nil {
		k.opt.Log.Debug().Stringer("server", round.Server).Int("players", len(round.Players)).Bool("repeated", repeated).Msg("round of a game server")
	}
}

// troubled logs a fault of the server.
func (k *roundCounter) troubled(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if untold, tell := k.trouble.Tell(time.Now()); tell {
		fault.Log(k.opt.Log, err).Err(err).Int("lines_left_out", untold).Msg("pages of a game: the store failed")
	}
}
