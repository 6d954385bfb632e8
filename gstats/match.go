package gstats

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of reports.
const (
	// maxMatches is how many matches of a connection are remembered.
	maxMatches = 64
	// maxPairs is how many keys a report may have. More are left out.
	maxPairs = 16384
	// maxProofs is how many proofs of players of a report are checked.
	maxProofs = 128
)

// match is a game that a client began. Reports call it a game; here that is the
// program.
type match struct {
	session int32
	offline bool // it was played without a connection
}

// beginMatch is the request newgame.
func (x *session) beginMatch(ctx context.Context, r *request, now time.Time) {
	m := match{session: r.session.word(), offline: r.challenge.given}
	valid := r.session.given && (!m.offline || r.challenge.word() == m.session^challengeMask)
	if !x.admitsReport(r, valid, now) {
		return
	}
	x.remember(m)
	x.report(ctx, &stats.Snapshot{Session: m.session, Begin: true, Trusted: !m.offline, At: now})
}

// admitsReport reports whether a request about a match is executed, and counts one that is
// not. valid reports whether it names its session correctly.
func (x *session) admitsReport(r *request, valid bool, now time.Time) bool {
	switch {
	case !valid:
		x.drop(droppedValue)
	case r.connID.given && r.connID.value != 0 && r.connID.value != int64(x.key):
		x.drop(droppedConnID)
	case !x.mayReport(now):
		x.drop(droppedRate)
	default:
		return true
	}
	return false
}

// updateMatch is the request updgame. One without newgame begins the match.
func (x *session) updateMatch(ctx context.Context, r *request, now time.Time) {
	if !x.admitsReport(r, r.session.given, now) {
		return
	}
	m := match{session: r.session.word()}
	if i := x.matchOf(m.session); i >= 0 {
		m = x.matches[i]
	}
	m.offline = m.offline || r.diskLog || r.connID.given && r.connID.value == 0
	x.remember(m)
	challenge := x.pch
	if m.offline {
		challenge = PlayerChallenge(m.session)
	}
	pairs := parsePairs(r.gameData)
	x.report(ctx, &stats.Snapshot{
		Session: m.session, Done: r.done, Trusted: !m.offline, Pairs: pairs, Proved: x.proofs(ctx, pairs, challenge), At: now,
	})
}

// matchOf returns the index of a match, -1 if it is not remembered.
func (x *session) matchOf(session int32) int {
	return slices.IndexFunc(x.matches, func(m match) bool { return m.session == session })
}

// remember adds or replaces a match. The oldest one is forgotten.
func (x *session) remember(m match) {
	if i := x.matchOf(m.session); i >= 0 {
		x.matches[i] = m
		return
	}
	if len(x.matches) == maxMatches {
		x.matches = slices.Delete(x.matches, 0, 1)
	}
	x.matches = append(x.matches, m)
}

// mayReport takes one report from the quotas of the connection and its address.
func (x *session) mayReport(now time.Time) bool {
	if x.server.opt.Trusted.Has(x.peer.Addr()) {
		return true
	}
	l := x.server.live.Load()
	if x.reports == nil || x.reports.Burst() != l.Reports {
		x.reports = rate.NewLimiter(rate.Limit(float64(l.Reports)/60), l.Reports)
	}
	return x.reports.AllowN(now, 1) && l.reports.Allow(x.peer.Addr(), now)
}

// report stores a report of a match.
func (x *session) report(ctx context.Context, s *stats.Snapshot) {
	s.Game, s.Conn, s.Server = x.game, x.conn, x.host
	err := x.server.opt.Book.Report(ctx, *s)
	switch {
	case errors.Is(err, stats.ErrTooLarge), errors.Is(err, stats.ErrFull):
		x.server.metrics.reports[reportTooLarge].Inc()
	case err != nil:
		x.server.metrics.reports[reportFailed].Inc()
		x.server.troubled(ctx, err, "report of a game not stored")
	case s.Trusted:
		x.server.metrics.reports[reportStored].Inc()
	default:
		x.server.metrics.reports[reportUntrusted].Inc()
	}
}

// parsePairs returns the keys and values of a report. A key without a value has an
// empty one.
func parsePairs(text []byte) []stats.Pair {
	if len(text) == 0 {
		return nil
	}
	pairs := make([]stats.Pair, 0, min(bytes.Count(text, []byte{listMark})/2+1, maxPairs))
	key, open := "", false
	for part := range split(string(text)) {
		switch {
		case !open:
			key, open = part, true
		default:
			pairs, open = append(pairs, stats.Pair{Key: key, Value: part}), false
		}
		if len(pairs) == maxPairs {
			return pairs
		}
	}
	if open && key != "" {
		pairs = append(pairs, stats.Pair{Key: key})
	}
	return pairs
}

// proofs returns a function that reports whether the player of a profile was in a match:
// the player is authenticated on this connection, or the report has pid_N with the
// profile and auth_N with the answer to the challenge.
func (x *session) proofs(ctx context.Context, pairs []stats.Pair, challenge string) func(storage.ProfileID) bool {
	checked := 0
	return func(id storage.ProfileID) bool {
		if x.owner(id) {
			return true
		}
		response := responseOf(pairs, id)
		if response == "" || checked == maxProofs {
			return false
		}
		checked++
		_, err := x.server.opt.SignIn.CheckStatsProof(ctx, accounts.StatsProof{
			Profile: id, Challenge: challenge, Response: response, From: x.peer.Addr(),
		})
		return err == nil
	}
}

// responseOf returns auth_N of the first player of a report with pid_N, empty if there is
// none.
func responseOf(pairs []stats.Pair, id storage.ProfileID) string {
	text := strconv.FormatUint(uint64(id), 10)
	n := ""
	for _, p := range pairs {
		if number, ok := strings.CutPrefix(p.Key, "pid_"); ok && p.Value == text {
			n = number
			break
		}
	}
	for _, p := range pairs {
		if number, ok := strings.CutPrefix(p.Key, "auth_"); ok && number == n && n != "" {
			return p.Value
		}
	}
	return ""
}
