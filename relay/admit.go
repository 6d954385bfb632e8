package relay

import (
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/service"
)

// Reasons for which there is no room for a pair.
var (
	errFull     = errors.New("all pairs are in use")
	errUnproved = errors.New("all pairs for players whose addresses are unproved are in use")
	errPerAddr  = errors.New("an address has too many pairs")
	errPerNet   = errors.New("a network has too many pairs")
	errBanned   = errors.New("an address is banned")
)

const (
	// unprovedShare is the part of Config.MaxPairs, at least one pair, for players of whom
	// one may be forged: one in unprovedShare.
	unprovedShare = 4
	// unprovedGrace and joinGrace are how old an unused pair is that gives way to one of
	// unproved players, and how old one of proved players is that gives way to another.
	unprovedGrace = time.Second
	joinGrace     = 5 * time.Second
)

// counts are pairs of an address or a network, the unproved ones first.
type counts [2]int

// count returns how many of them bind a pair: one of proved players is bound by those of
// proved players alone.
func (c counts) count(proved bool) int {
	if proved {
		return c[1]
	}
	return c[0] + c[1]
}

// limit is a bound of the pairs that has been reached.
type limit struct {
	err  error
	of   func(*pair) bool // the pairs that count
	firm bool             // no pair gives way
}

// admit makes room for a pair of these players. It ends pairs that give way, or returns an
// error.
func (s *Server) admit(live *Config, players [2]service.RelayPlayer) error {
	proved := players[0].Proved && players[1].Proved
	for {
		s.mu.Lock()
		l := s.reached(live, players, proved)
		var victim *pair
		if l != nil && !l.firm {
			victim = s.weakest(l.of, proved, time.Since(s.start))
		}
		s.mu.Unlock()
		switch {
		case l == nil:
			return nil
		case victim == nil:
			return l.err
		}
		s.end(victim, endGaveWay)
	}
}

// reached returns a limit that does not allow a pair of these players, nil if there is
// none. s.mu is held.
func (s *Server) reached(live *Config, players [2]service.RelayPlayer, proved bool) *limit {
	for _, p := range players {
		if slices.ContainsFunc(p.Seen, s.opt.Banned.Has) {
			return &limit{err: errBanned, firm: true}
		}
	}
	all := counts{s.unproved, len(s.pairs) - s.unproved}
	switch {
	case len(s.pairs) >= live.MaxPairs:
		return &limit{err: errFull, of: func(*pair) bool { return true }}
	case !proved && all[0] >= max(1, live.MaxPairs/unprovedShare):
		return &limit{err: errUnproved, of: func(*pair) bool { return true }}
	}
	for _, p := range players {
		a := p.Seen[0]
		if s.opt.Trusted.Has(a) {
			continue
		}
		if s.perAddr(a).count(proved) >= live.MaxPerAddr {
			return &limit{err: errPerAddr, of: func(p *pair) bool { return p.has(func(b netip.Addr) bool { return a == b }) }}
		}
		if s.nets[netOf(a)].count(proved) >= live.MaxPerNet {
			return &limit{err: errPerNet, of: func(p *pair) bool { return p.has(netOf(a).Contains) }}
		}
	}
	return nil
}

// perAddr returns the pairs of an address. s.mu is held.
func (s *Server) perAddr(a netip.Addr) counts {
	if one := s.sources[a]; one != nil {
		return one.pairs
	}
	return counts{}
}

// has reports whether a player of the pair counts at an address.
func (p *pair) has(is func(netip.Addr) bool) bool {
	return is(p.legs[0].seen[0]) || is(p.legs[1].seen[0])
}

// used reports whether both players have come.
func (p *pair) used() bool { return p.legs[0].player.Load() != nil && p.legs[1].player.Load() != nil }

// class orders pairs by how easily they give way.
type class int

const (
	firm         class = iota // it does not give way
	unprovedUsed              // these give way to proved players alone
	provedUnused
	unused // of unproved players
)

// class returns the class of a pair for a new one.
func (p *pair) class(proved bool, now time.Duration) class {
	age := now - p.opened
	switch used := p.used(); {
	case !used && !p.proved && (proved || age >= unprovedGrace):
		return unused
	case !used && p.proved && proved && age >= joinGrace:
		return provedUnused
	case used && !p.proved && proved:
		return unprovedUsed
	default:
		return firm
	}
}

// weakest returns the pair that gives way to a new one, the oldest of its class; nil if there is
// none. s.mu is held.
func (s *Server) weakest(of func(*pair) bool, proved bool, now time.Duration) (weakest *pair) {
	lowest := firm
	for p := range s.pairs {
		if !of(p) {
			continue
		}
		if c := p.class(proved, now); c > lowest || c != firm && c == lowest && p.opened < weakest.opened {
			lowest, weakest = c, p
		}
	}
	return weakest
}
