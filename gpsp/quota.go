package gpsp

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// quota says against which quota a request counts.
type quota uint8

const (
	free quota = iota
	lookup
	registration
)

// policy is a Policy with the state of its quotas.
type policy struct {
	Policy
	lookups, registrations *netserve.Limiter
}

func newPolicy(p Policy) *policy {
	return &policy{
		Policy:        p,
		lookups:       perMinute(p.Lookups, DefaultLookups),
		registrations: perMinute(p.Registrations, DefaultRegistrations),
	}
}

// perMinute returns a limiter of n events per minute; 0 stands for def, less
// for no bound. All n may come at once.
func perMinute(n, def int) *netserve.Limiter {
	if n < 0 {
		return nil
	}
	if n == 0 {
		n = def
	}
	return netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(n) / time.Minute.Seconds(), Burst: n})
}

// allows takes one request from the quota of an address and tells whether
// there was one.
func (p *policy) allows(q quota, from netip.Addr, now time.Time) bool {
	if q == free || p.Trusted != nil && p.Trusted(from) {
		return true
	}
	if q == registration {
		return p.registrations.Allow(from, now)
	}
	return p.lookups.Allow(from, now)
}
