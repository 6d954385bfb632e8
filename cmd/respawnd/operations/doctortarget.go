package operations

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/operator"
)

// Bounds of the lookup of a host name for doctor.
const (
	lookupTime   = 5 * time.Second
	maxAddresses = 16 // of one name
)

// patient is the subject of doctor: an address or a host name, with a port or
// without one (0).
type patient struct {
	host string
	addr netip.Addr // zero: host is a name
	port uint16
}

// parsePatient accepts 203.0.113.7, 203.0.113.7:6500, [2001:db8::7]:6500,
// game.example.org and game.example.org:6500.
func parsePatient(text string) (t patient, err error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return patient{host: text, addr: a.Unmap().WithZone("")}, nil
	}
	t.host = text
	if host, port, found := cutPort(text); found {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return t, fmt.Errorf("%q: %q is not a port", text, port)
		}
		t.host, t.port = host, uint16(n)
	}
	if a, err := netip.ParseAddr(t.host); err == nil {
		t.addr = a.Unmap().WithZone("")
		return t, nil
	}
	if !isHostName(t.host) {
		return t, fmt.Errorf("%q is not an address such as 203.0.113.7 or 203.0.113.7:6500, and not a host name", text)
	}
	return t, nil
}

func cutPort(text string) (host, port string, found bool) {
	host, port, err := net.SplitHostPort(text)
	return host, port, err == nil
}

// isHostName reports whether a text can be looked up. Letters of other alphabets
// are the resolver's business.
func isHostName(text string) bool {
	return text != "" && len(text) <= 253 && !strings.HasPrefix(text, "-") && !strings.ContainsAny(text, " \t\r\n/\\:@?#[]*,") && !strings.Contains(text, "..")
}

// addresses returns the addresses of the patient; a name is looked up, for a limited
// time.
func (t *patient) addresses(ctx context.Context, lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)) ([]netip.Addr, error) {
	if t.addr.IsValid() {
		return []netip.Addr{t.addr}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	found, err := lookup(ctx, "ip", t.host)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("looking up %s took longer than %v: ask for its address instead", t.host, lookupTime)
	case err != nil:
		return nil, fmt.Errorf("looking up %s: %w", t.host, err)
	case len(found) == 0:
		return nil, fmt.Errorf("looking up %s: it has no address", t.host)
	}
	list := make([]netip.Addr, 0, len(found))
	for _, a := range found {
		if a = a.Unmap().WithZone(""); !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list, nil
}

// has reports whether an address with port is meant.
func (t *patient) has(a netip.AddrPort) bool { return t.port == 0 || a.Port() == t.port }

// where returns one of the addresses, with the port if there is one.
func (t *patient) where(a netip.Addr) string {
	if t.port == 0 {
		return a.String()
	}
	return netip.AddrPortFrom(a, t.port).String()
}

// split returns the verdicts on the port that is meant, and those on others.
func (t *patient) split(list []operator.Verdict) (own, others []operator.Verdict) {
	for _, v := range list {
		if t.has(v.Address) {
			own = append(own, v)
		} else {
			others = append(others, v)
		}
	}
	return own, others
}
