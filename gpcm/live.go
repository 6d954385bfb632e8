package gpcm

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// live is the live half of a Config with its state.
type live struct {
	*Config
	registrations *netserve.Limiter
}

// registrationSlots is the number of registering addresses that are remembered.
const registrationSlots = 1 << 13

func newLive(c *Config) *live {
	return &live{c, netserve.PerMinute(c.Registrations, netserve.LimiterOptions{Slots: registrationSlots})}
}

// Reload applies the live keys. Open connections stay, sessions keep the rule
// of their login, and every address starts with a full quota.
func (s *Server) Reload(c *Config) {
	s.gate.SetLimits(c.Conns(s.opt.Trusted))
	s.live.Store(newLive(c))
}

// mayRegister takes one registration from the quota of an address and reports
// whether there was one.
func (s *Server) mayRegister(from netip.Addr, now time.Time) bool {
	if s.opt.Trusted.Has(from) {
		return true
	}
	if !s.live.Load().registrations.Allow(from, now) {
		return false
	}
	s.registered(from)
	return true
}

// rule is how the service treats the players of one game.
type rule struct {
	secondLogin     presence.Policy // which sessions a login ends
	autoAccept      bool            // mutual requests make buddies without an answer
	symmetricDelete bool            // removing a buddy removes the reverse relation too
	noUserID        bool            // the user id is reported as 0
}

// ruleOf returns the rule of a game: its own policy, and the configuration
// where the policy is silent. An unknown game has no policy.
func (s *Server) ruleOf(game string) rule {
	second := map[games.SecondLogin]presence.Policy{
		games.KickProfile: presence.KickProfile, games.KickUser: presence.KickUser, games.AllowSecond: presence.Allow,
	}
	c := s.live.Load()
	g, _ := s.opt.Games.Lookup(storage.Fold(game))
	return rule{
		secondLogin:     second[g.Policy.SecondLogin.Or(games.SecondLogin(c.SecondLogin))],
		autoAccept:      g.Policy.AutoAccept.Or(c.AutoAccept),
		symmetricDelete: g.Policy.SymmetricDelete.Or(c.SymmetricDelete),
		noUserID:        g.Policy.NoUserID.Or(c.NoUserID),
	}
}
