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
	emailLookup // a lookup that tells of one e-mail whether it has an account
	registration
)

// policy is a Policy with the state of its quotas.
type policy struct {
	Policy
	lookups, registrations, validPerNet *netserve.Limiter
}

// Prefixes of the networks that have quotas of their own, in bits.
const (
	netPrefix4 = 24
	netPrefix6 = 48
)

func newPolicy(p Policy) *policy {
	return &policy{
		Policy:        p,
		lookups:       perMinute(p.Lookups, DefaultLookups, netserve.LimiterOptions{}),
		registrations: perMinute(p.Registrations, DefaultRegistrations, netserve.LimiterOptions{}),
		validPerNet: perMinute(p.ValidPerNet, DefaultValidPerNet,
			netserve.LimiterOptions{Prefix4: netPrefix4, Prefix6: netPrefix6}),
	}
}

// perMinute returns a limiter of n events per minute; 0 stands for def, less
// for no bound. All n may come at once. opt has the prefixes.
func perMinute(n, def int, opt netserve.LimiterOptions) *netserve.Limiter {
	if n < 0 {
		return nil
	}
	if n == 0 {
		n = def
	}
	opt.Rate, opt.Burst = float64(n)/time.Minute.Seconds(), n
	return netserve.NewLimiter(opt)
}

// take takes one request from the quotas of an address and its network. It
// returns why there is none; "" if there was one.
func (p *policy) take(q quota, from netip.Addr, now time.Time) ended {
	if q == free || p.Trusted != nil && p.Trusted(from) {
		return ""
	}
	own := p.lookups
	if q == registration {
		own = p.registrations
	}
	switch {
	case !own.Allow(from, now):
		return droppedQuota
	case q == emailLookup && !p.validPerNet.Allow(from, now):
		return droppedNetQuota
	}
	return ""
}
