package web

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"
)

const (
	lookupFor  = 5 * time.Minute // how long the address of our own name is cached
	lookupWait = 2 * time.Second
)

// ownAddress knows the address under which games find the daemon.
type ownAddress struct {
	host   string // of the public URL; empty: none
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)

	mu    sync.Mutex // guards the fields below; held while the name is looked up
	found netip.Addr
	until time.Time
}

func newOwnAddress(publicURL string, lookup func(context.Context, string) ([]netip.Addr, error)) *ownAddress {
	o := &ownAddress{lookup: lookup}
	if u, err := url.Parse(publicURL); err == nil {
		o.host = u.Hostname()
	}
	return o
}

// public returns the IPv4 address behind the public URL, the zero address if
// there is none.
func (o *ownAddress) public(ctx context.Context) netip.Addr {
	if o.host == "" {
		return netip.Addr{}
	}
	if a, err := netip.ParseAddr(o.host); err == nil {
		return a.Unmap()
	}
	if o.lookup == nil {
		return netip.Addr{}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if now.Before(o.until) {
		return o.found
	}
	o.found, o.until = netip.Addr{}, now.Add(lookupFor)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupWait) // the answer is for others, too
	defer cancel()
	list, err := o.lookup(ctx, o.host)
	if err != nil {
		return netip.Addr{}
	}
	for _, a := range list {
		if a = a.Unmap(); usableForGames(a) {
			o.found = a
			break
		}
	}
	return o.found
}

// usableForGames reports whether an address can stand in a hosts file: games of
// that time support only IPv4.
func usableForGames(a netip.Addr) bool {
	return a.Is4() && !a.IsUnspecified() && !a.IsMulticast() && a != netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

// gameAddress returns the address that games should use: the configured one,
// else that of the public URL, else the one that this visitor reached. Zero if
// it is not usable for games: an IPv6 address, or loopback as seen from a
// proxy.
func (s *Server) gameAddress(r *http.Request) netip.Addr {
	if usableForGames(s.opt.Config.GameAddress) {
		return s.opt.Config.GameAddress
	}
	if s.own.host != "" {
		if a := s.own.public(r.Context()); usableForGames(a) {
			return a
		}
		return netip.Addr{}
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return netip.Addr{}
	}
	at, err := netip.ParseAddrPort(local.String())
	if err != nil {
		return netip.Addr{}
	}
	a := at.Addr().Unmap()
	if !usableForGames(a) || a.IsLoopback() && !s.Visitor(r).IsLoopback() {
		return netip.Addr{}
	}
	return a
}
