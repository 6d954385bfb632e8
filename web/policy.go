package web

import (
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Bounds of event streams if the policy names none.
const (
	DefaultMaxStreams        = 4096
	DefaultMaxStreamsPerAddr = 64
)

// Policy is what may change while the service runs.
type Policy struct {
	// Rate and Burst bound the requests of one address: per second in the long
	// run, and at once. Rate 0: no bound. Burst 0: one second's worth.
	Rate, Burst int
	// MaxStreams and MaxStreamsPerAddr bound the open event streams in all and of
	// one address; 0: the defaults. Streams that are open stay, until those of the
	// address with most make room for others.
	MaxStreams, MaxStreamsPerAddr int
	// TrustedProxies are the networks whose word about the visitor's address
	// (X-Forwarded-For) is believed. Nobody else's is.
	TrustedProxies []netip.Prefix
	// Accounts: players may look after their accounts on the pages.
	Accounts bool
	// Forms and Registrations bound the forms that one address sends in, and the
	// accounts that it makes, per minute; 0: no bound.
	Forms, Registrations int
	// Private: nobody learns from the pages which e-mails have an account.
	Private bool
	// Exempt tells which visitors the bounds per address do not apply to; nil:
	// none.
	Exempt func(netip.Addr) bool
}

// policy is a Policy in force.
type policy struct {
	Policy
	requests      *netserve.Limiter
	forms         *netserve.Limiter
	registrations *netserve.Limiter
}

// SetPolicy puts a policy in force. Every address starts with a whole burst.
func (s *Server) SetPolicy(p Policy) {
	if p.MaxStreams <= 0 {
		p.MaxStreams = DefaultMaxStreams
	}
	if p.MaxStreamsPerAddr <= 0 {
		p.MaxStreamsPerAddr = DefaultMaxStreamsPerAddr
	}
	s.streams.SetLimits(netserve.ConnOptions{
		MaxConns: p.MaxStreams, MaxPerAddr: p.MaxStreamsPerAddr, Rate: -1, Exempt: p.Exempt,
	})
	p.TrustedProxies = slices.Clone(p.TrustedProxies)
	s.policy.Store(&policy{
		Policy:   p,
		requests: netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(p.Rate), Burst: p.Burst}),

		forms: perMinute(p.Forms), registrations: perMinute(p.Registrations),
	})
	s.pages.accounts.Store(s.accountsOn())
}

// perMinute returns a limiter of n events per minute; 0: no bound. All n may
// come at once.
func perMinute(n int) *netserve.Limiter {
	return netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(n) / time.Minute.Seconds(), Burst: n})
}

// exempt reports whether bounds per address do not apply to a visitor.
func (p *policy) exempt(a netip.Addr) bool { return p.Exempt != nil && p.Exempt(a) }

// proxy reports whether an address is that of a proxy whose word is believed.
func (p *policy) proxy(a netip.Addr) bool {
	return slices.ContainsFunc(p.TrustedProxies, func(n netip.Prefix) bool { return n.Contains(a) })
}
