package gpsp

import (
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// quota is the quota against which a request counts.
type quota uint8

const (
	free quota = iota
	lookup
	emailLookup // a lookup that reveals whether an e-mail has an account
	registration
)

// live is the live half of a Config with the state of its quotas. There is no
// quota over all addresses together, because one flood would then block all
// players.
type live struct {
	*Config
	lookups, registrations, validPerNet *netserve.Limiter
}

// Prefixes of the networks that have quotas of their own, in bits.
const (
	netPrefix4 = 24
	netPrefix6 = 48
)

func newLive(c *Config) *live {
	return &live{
		Config:        c,
		lookups:       netserve.PerMinute(c.Lookups, netserve.LimiterOptions{}),
		registrations: netserve.PerMinute(c.Registrations, netserve.LimiterOptions{}),
		validPerNet: netserve.PerMinute(c.ValidPerNet,
			netserve.LimiterOptions{Prefix4: netPrefix4, Prefix6: netPrefix6}),
	}
}

// take takes one request from the quotas of an address and its network. It
// returns the reason if there is none, else 0.
func (s *Server) take(q quota, r *request, now time.Time) ended {
	if q == free || s.opt.Trusted.Has(r.from) {
		return notDropped
	}
	own := r.live.lookups
	if q == registration {
		own = r.live.registrations
	}
	switch {
	case !own.Allow(r.from, now):
		return droppedQuota
	case q == emailLookup && !r.live.validPerNet.Allow(r.from, now):
		return droppedNetQuota
	case q == registration:
		s.registered(r.from)
	}
	return notDropped
}
