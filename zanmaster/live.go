package zanmaster

import (
	"net/netip"
	"slices"

	"github.com/respawnd/respawnd/internal/netserve"
)

// The values of Config.NotEnforcing, for servers that do not enforce the ban
// list.
const (
	hide = "hide" // they are in no list, as with the original
	show = "show" // they are listed like the others
	mark = "mark" // they are listed, and their record has a warning
)

// live is a Config that is in force. It is not changed.
type live struct {
	*Config
	// unproved limits, per address, the verification requests that are longer
	// than the challenge before them, and the answers to banned addresses.
	unproved *netserve.Limiter
}

// Reload applies the live keys at once: servers that may no longer be listed
// leave the list, and hidden ones that may be listed enter it.
func (s *Server) Reload(c *Config) {
	s.takeOver(c)
	s.enforce()
}

func (s *Server) takeOver(c *Config) {
	s.live.Store(&live{c, netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.UnprovedRate), Burst: c.UnprovedBurst})})
	s.gate.takeOver(c)
	s.lister.takeOver(c)
	s.trials.takeOver(c)
}

// shows reports whether a server is listed.
func (l *live) shows(enforces bool) bool { return enforces || l.NotEnforcing != hide }

// marks reports whether the record of a server has a warning.
func (l *live) marks(enforces bool) bool { return !enforces && l.NotEnforcing == mark }

// public returns the address under which a server is listed.
func (l *live) public(source netip.AddrPort) netip.AddrPort {
	if a := source.Addr(); l.AdvertiseAs.Is4() && (a.IsPrivate() || a.IsLoopback()) {
		return netip.AddrPortFrom(l.AdvertiseAs, source.Port())
	}
	return source
}

// covers reports whether one of the networks holds a; no networks hold all.
func covers(networks []netip.Prefix, a netip.Addr) bool {
	return len(networks) == 0 || slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) })
}
