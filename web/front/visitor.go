package front

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// limits are the live settings of a Front.
type limits struct {
	requests *netserve.Limiter
	proxies  []netip.Prefix
}

// SetLimits bounds the requests of one address to rate per second in the long
// run, and burst at once; rate 0: no bound. proxies are the networks whose
// X-Forwarded-For is trusted. Every address starts with a full burst.
func (f *Front) SetLimits(rate, burst int, proxies []netip.Prefix) {
	f.limits.Store(&limits{
		requests: netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(rate), Burst: burst}), proxies: slices.Clone(proxies),
	})
}

// proxy reports whether an address is that of a proxy that is believed.
func (l *limits) proxy(a netip.Addr) bool {
	return slices.ContainsFunc(l.proxies, func(n netip.Prefix) bool { return n.Contains(a) })
}

// Trusted reports whether the bounds per address do not apply to a visitor.
func (f *Front) Trusted(a netip.Addr) bool { return f.opt.Trusted != nil && f.opt.Trusted(a) }

// mayAsk reports whether a request is within the rate of its visitor.
func (f *Front) mayAsk(r *http.Request, now time.Time) bool {
	from := f.Visitor(r)
	return f.Trusted(from) || f.limits.Load().requests.Allow(from, now)
}

// unbound reports whether connections of a peer are not counted against it.
func (f *Front) unbound(peer netip.Addr) bool { return f.limits.Load().proxy(peer) || f.Trusted(peer) }

// Visitor returns the address that a request comes from. Where the peer is a
// trusted proxy, that is the last address in X-Forwarded-For that is not a
// trusted proxy itself: each proxy appends the address that it saw, and a
// client can send anything before the last trusted one. An entry that is not an
// address ends the search at the proxy that sent it. The zero address stands
// for a peer without one.
func (f *Front) Visitor(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	l := f.limits.Load()
	addr := peer.Addr().Unmap().WithZone("")
	rest := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
	for rest != "" && l.proxy(addr) {
		i := strings.LastIndexByte(rest, ',')
		entry := rest[i+1:]
		rest = rest[:max(i, 0)]
		next, ok := parseForwarded(entry)
		if !ok {
			break
		}
		addr = next
	}
	return addr
}

// parseForwarded reads an entry of X-Forwarded-For: an address, with a port or
// without.
func parseForwarded(entry string) (netip.Addr, bool) {
	entry = strings.TrimSpace(entry)
	if ap, err := netip.ParseAddrPort(entry); err == nil {
		return ap.Addr().Unmap().WithZone(""), true
	}
	a, err := netip.ParseAddr(strings.Trim(entry, "[]"))
	if err != nil {
		return a, false
	}
	return a.Unmap().WithZone(""), true
}

// IsNear reports whether an address is that of a machine in our own networks.
func IsNear(a netip.Addr) bool {
	return !a.IsValid() || a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast()
}
