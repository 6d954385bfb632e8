package dnsserver

import (
	"net/netip"
	"slices"

	"github.com/miekg/dns"
)

// A foreign web page may give its own name the address of a router or a
// printer, and a browser then lets the page read that device (DNS rebinding).
// So answers of upstreams for outside names are relayed without addresses of
// this machine and of local networks.

// nat64 is the prefix under which translators show IPv4 addresses as IPv6.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// local reports whether an address is not a public one.
func local(a netip.Addr) bool {
	a = a.Unmap()
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	return near(a) || a.IsUnspecified()
}

// mayBeLocal reports whether a name, with its final dot, may have local addresses:
// it has no dot, or is one of a reverse zone or of a domain in allowed.
func mayBeLocal(name string, allowed []string) bool {
	if dns.CountLabel(name) <= 1 {
		return true
	}
	under := func(domain string) bool { return dns.IsSubDomain(domain+".", name) }
	return under("in-addr.arpa") || under("ip6.arpa") || slices.ContainsFunc(allowed, under)
}

// isLocal reports whether a record has a local address.
func isLocal(r dns.RR) bool {
	switch r := r.(type) {
	case *dns.A:
		return localIP(r.A)
	case *dns.AAAA:
		return localIP(r.AAAA)
	case *dns.HTTPS:
		return hintsLocal(&r.SVCB)
	case *dns.SVCB:
		return hintsLocal(r)
	}
	return false
}

func localIP(ip []byte) bool {
	a, ok := netip.AddrFromSlice(ip)
	return ok && local(a)
}

// hintsLocal reports whether a service record has a local address among its
// hints.
func hintsLocal(r *dns.SVCB) bool {
	for _, v := range r.Value {
		switch v := v.(type) {
		case *dns.SVCBIPv4Hint:
			for _, ip := range v.Hint {
				if localIP(ip) {
					return true
				}
			}
		case *dns.SVCBIPv6Hint:
			for _, ip := range v.Hint {
				if localIP(ip) {
					return true
				}
			}
		}
	}
	return false
}

// withoutLocal returns an answer, which may be nil, without records of local
// addresses, unless the name may have some.
func (f *forwarder) withoutLocal(name string, m *dns.Msg) *dns.Msg {
	if m == nil || mayBeLocal(name, f.allowed()) || (!slices.ContainsFunc(m.Answer, isLocal) && !slices.ContainsFunc(m.Extra, isLocal)) {
		return m
	}
	f.metrics.local.Inc()
	f.warnLocal.Do(func() {
		f.log.Warn().Str("name", name).
			Msg("private addresses taken out of an upstream's answer; a domain that may have some belongs in dns.allow_private")
	})
	kept := *m
	kept.Answer = slices.DeleteFunc(slices.Clone(m.Answer), isLocal)
	kept.Extra = slices.DeleteFunc(slices.Clone(m.Extra), isLocal)
	kept.AuthenticatedData = false // the signature does not cover the reduced answer
	return &kept
}
