package nwmaster

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/metric"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nwn"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/storage"
)

const (
	// checkers is the number of goroutines that check players.
	checkers = 4
	// checkTime bounds one check.
	checkTime = 5 * time.Second
)

type check struct {
	from   netip.AddrPort
	via    netip.Addr
	size   int // of the request
	second bool
	player bool // the player asks, not a server
	salt   string
	name   string
	hash   string
}

type results struct {
	accepted, unknown, refused, failed prometheus.Counter
	keyGood, keyBad                    prometheus.Counter
}

func newResults(in metric.Factory) results {
	checks := in.Counters("respawnd_nwmaster_checks_total",
		"Checks of players: with their account (accepted), without one (unknown), refused, failed in the store; keys that were good or bad.", "result").WithLabelValues
	return results{checks("accepted"), checks("unknown"), checks("refused"), checks("failed"), checks("key_good"), checks("key_bad")}
}

func (r *results) keys(result nwn.Result) {
	if result == nwn.Good {
		r.keyGood.Inc()
	} else {
		r.keyBad.Inc()
	}
}

// firstPlayerRole is the first role of a check that comes from a player.
const firstPlayerRole = 2

// account checks a player.
func (s *Server) account(p netserve.Packet, rest []byte, second bool) uplink.Drop {
	c, err := nwn.ParseAccount(rest)
	if err != nil {
		return uplink.MalformedRequest
	}
	k := check{
		from: p.From, via: p.To, size: len(p.Data), second: second, player: c.Role >= firstPlayerRole,
		salt: string(c.Salt), name: string(c.Account), hash: string(c.Hash),
	}
	if s.live.Load().Accounts == Off {
		s.results.accepted.Inc()
		s.answer(k, nwn.Good)
		return uplink.NotDropped
	}
	select {
	case s.checks <- k:
		return uplink.NotDropped
	default:
		return uplink.Busy
	}
}

// work checks players until ctx ends.
func (s *Server) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case k := <-s.checks:
			s.answer(k, s.check(ctx, k))
		}
	}
}

func (s *Server) check(ctx context.Context, k check) nwn.Result {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	strict := s.live.Load().Accounts == Strict
	game, _ := s.opt.Games.Lookup(s.gameOf(k.second))
	namespace := cmp.Or(game.Namespace, 1)
	if !strict { // an unknown name is not a wrong password, which would count
		_, _, err := s.opt.Profile(ctx, namespace, k.name)
		if errors.Is(err, storage.ErrNotFound) || errors.Is(err, accounts.ErrBadUniqueNick) {
			s.results.unknown.Inc()
			return nwn.Good
		}
	}
	err := errUnproved
	if k.salt != "" { // without one the answer would be the same each time
		_, err = s.opt.CheckProof(ctx, accounts.Proof{
			UniqueNick: k.name, Salt: k.salt, Response: k.hash, Namespace: namespace, Partner: game.Partner, From: k.from.Addr(),
		})
	}
	if err != nil {
		return s.refuse(k, err)
	}
	s.results.accepted.Inc()
	return nwn.Good
}

// errUnproved reports a check without a salt.
var errUnproved = errors.New("the check has no salt")

// refuse returns the result for a player who is not let in.
func (s *Server) refuse(k check, err error) nwn.Result {
	v, refused := accounts.VerdictOn(err)
	if !refused && !errors.Is(err, errUnproved) {
		s.results.failed.Inc()
		s.opt.Log.Error().Err(err).Msg("a player could not be checked")
	} else {
		s.results.refused.Inc()
	}
	if refused {
		s.opt.Verdicts.NotePlayer(name, k.from.Addr(), s.gameOf(k.second), v)
	}
	switch {
	case !k.second:
		return nwn.Bad
	case errors.Is(err, accounts.ErrBanned):
		return nwn.BannedHere
	default:
		return nwn.BadPassword
	}
}

// gameOf returns the game of the catalogue that is asked about.
func (s *Server) gameOf(second bool) string {
	mark := nwn.Game1
	if second {
		mark = nwn.Game2
	}
	game, _ := s.opt.Games.MasterNames(name).Speaking(mark)
	return game
}

// answer sends the result, from any goroutine. A player who is let in also gets the version and the message of
// the day, as long as the total does not exceed the received bytes.
func (s *Server) answer(k check, result nwn.Result) {
	out := s.out.Load()
	if out == nil {
		return // not before Serve
	}
	w, left := out.first, k.size
	if k.second {
		w = out.second
	}
	send := func(b []byte) {
		if left -= len(b); left >= 0 {
			s.Send(w, b, k.via, k.from)
		}
	}
	send(nwn.AppendAccountAnswer(nil, []byte(k.name), result))
	if !k.player || result != nwn.Good {
		return
	}
	c := s.live.Load()
	send(nwn.AppendTextAnswer(nil, nwn.VersionAnswer, c.Version))
	if c.Motd != "" {
		send(nwn.AppendTextAnswer(nil, nwn.MotdAnswer, c.Motd))
	}
}
