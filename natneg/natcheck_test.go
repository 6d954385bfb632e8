package natneg_test

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/daemon/natcheck"
	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/natneg"
	"github.com/respawnd/respawnd/natneg/natnegtest"
)

// checkNet is a network on which natcheck opens its sockets, from port 7000 on.
type checkNet struct {
	natnegtest.Net
	at   netip.Addr
	next uint16
	lost func(to netip.AddrPort, data []byte) bool // nil: none
}

type checkSocket struct {
	natnegtest.Socket
	net *checkNet
}

func (n *checkNet) Open(_ context.Context, recv func([]byte, netip.AddrPort)) (natcheck.Socket, error) {
	n.next++
	s, err := n.Net.Open(netip.AddrPortFrom(n.at, 7000+n.next), recv)
	return checkSocket{s, n}, err
}

func (s checkSocket) Send(data []byte, to netip.AddrPort) {
	if s.net.lost == nil || !s.net.lost(to, data) {
		s.Socket.Send(data, to)
	}
}

func isCheck(data []byte) bool {
	h, _, err := natneg.ParseHeader(data)
	return err == nil && h.Type == natneg.TypeAddressCheck
}

// The kinds of routers are found out with as many addresses of the server as it has,
// and never taken for more open than they are to strangers.
func TestNATCheck(t *testing.T) {
	tests := map[natnegtest.Kind][3]meeting.Router{ // with one, two, three addresses
		natnegtest.FullCone:       {meeting.Restricted, meeting.FullCone, meeting.FullCone},
		natnegtest.Restricted:     {meeting.Restricted, meeting.Restricted, meeting.Restricted},
		natnegtest.PortRestricted: {meeting.PortRestricted, meeting.PortRestricted, meeting.PortRestricted},
		natnegtest.Symmetric:      {meeting.EachItsOwn, meeting.EachItsOwn, meeting.EachItsOwn},
	}
	for kind, wants := range tests {
		for i, want := range wants {
			inCity(t, i+1, func(t *testing.T, ctx context.Context, c *city) {
				n := c.nat(10, kind)
				n.Port = natnegtest.Scattered()
				got, err := natcheck.Run(ctx, &checkNet{Net: n, at: netip.MustParseAddr("192.168.1.5")}, c.at[:])
				if err != nil || got.Router != want || !got.Translated || got.KeepsPort || got.Step != 0 {
					t.Errorf("%v with %d addresses: %+v, %v; want %v", kind, i+1, got, err, want)
				}
				wantUntold := [...]int{2, 0, 0}[i]
				if kind == natnegtest.PortRestricted || kind == natnegtest.Symmetric {
					wantUntold = min(wantUntold, map[natnegtest.Kind]int{natnegtest.PortRestricted: 1}[kind])
				}
				if len(got.CannotTell) != wantUntold {
					t.Errorf("%v with %d addresses: cannot tell %q, want %d", kind, i+1, got.CannotTell, wantUntold)
				}
				if back := got.Hairpin == natcheck.Yes; back != (kind != natnegtest.Symmetric) {
					t.Errorf("%v with %d addresses: hairpin %v", kind, i+1, got.Hairpin)
				}
				if places := min(i+2, 4); len(got.Seen) != places || got.Addresses != 1 {
					t.Errorf("%v with %d addresses: seen from %v, want %d", kind, i+1, got.Seen, places)
				}
			})
		}
	}
}

func TestNATCheckDetails(t *testing.T) {
	behind := func(n *natnegtest.NAT) *checkNet { return &checkNet{Net: n, at: netip.MustParseAddr("192.168.1.5")} }
	inCity(t, 3, func(t *testing.T, ctx context.Context, c *city) {
		got, err := natcheck.Run(ctx, &checkNet{Net: c.net, at: netip.MustParseAddr("203.0.113.77")}, c.at[:])
		if err != nil || got.Router != meeting.NoRouter || got.Mapping != natcheck.MapsNothing || !got.KeepsPort || got.Hairpin != natcheck.NotTested {
			t.Errorf("without a router: %+v, %v", got, err)
		}
	})
	inCity(t, 3, func(t *testing.T, ctx context.Context, c *city) {
		n := c.nat(10, natnegtest.Symmetric)
		n.Port, n.NoHairpin = natnegtest.Steps(30000, 2), true
		got, err := natcheck.Run(ctx, behind(n), c.at[:])
		if err != nil || got.Step != 2 || got.Router != meeting.EachItsOwn || got.Hairpin != natcheck.No {
			t.Errorf("with steps: %+v, %v", got, err)
		}
	})
	inCity(t, 3, func(t *testing.T, ctx context.Context, c *city) {
		n := c.nat(10, natnegtest.Symmetric)
		n.Pool = []netip.Addr{netip.MustParseAddr("203.0.113.99")}
		got, err := natcheck.Run(ctx, behind(n), c.at[:])
		if err != nil || got.Addresses != 2 || got.Router != meeting.EachItsOwn || got.Step != 0 {
			t.Errorf("with two public addresses: %+v, %v", got, err)
		}
	})
	inCity(t, 1, func(t *testing.T, ctx context.Context, c *city) {
		n := c.nat(10, natnegtest.PortRestricted)
		n.Port = func(given int) uint16 { return uint16(7001 + given) } // as inside
		got, err := natcheck.Run(ctx, behind(n), c.at[:])
		if err != nil || !got.KeepsPort || got.Router != meeting.PortRestricted {
			t.Errorf("a router that keeps ports: %+v, %v", got, err)
		}
	})
	inCity(t, 3, func(t *testing.T, ctx context.Context, c *city) {
		n := c.nat(10, natnegtest.PortRestricted)
		n.Public = netip.MustParseAddr("100.64.3.4")
		if got, err := natcheck.Run(ctx, behind(n), c.at[:]); err != nil || !got.Carrier {
			t.Errorf("a provider's address: %+v, %v", got, err)
		}
	})
}

func TestNATCheckOnALossyNetwork(t *testing.T) {
	inCity(t, 3, func(t *testing.T, ctx context.Context, c *city) {
		sent := make(map[string]int)
		n := &checkNet{Net: c.nat(10, natnegtest.FullCone), at: netip.MustParseAddr("192.168.1.5"), lost: func(to netip.AddrPort, data []byte) bool {
			key := to.String() + string(data)
			sent[key]++
			return sent[key] <= 2 // each arrives the third time
		}}
		if got, err := natcheck.Run(ctx, n, c.at[:]); err != nil || got.Router != meeting.FullCone || len(got.Seen) != 4 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	inCity(t, 3, func(t *testing.T, ctx context.Context, c *city) { // only the first address answers checks
		n := &checkNet{Net: c.nat(10, natnegtest.PortRestricted), at: netip.MustParseAddr("192.168.1.5"), lost: func(to netip.AddrPort, data []byte) bool {
			return isCheck(data) && to != c.at[0]
		}}
		got, err := natcheck.Run(ctx, n, c.at[:])
		if err != nil || got.Mapping != natcheck.MappingUnknown || got.Filter != natcheck.LetsPortsIn || got.Router != meeting.RouterUnknown {
			t.Errorf("one answer: %+v, %v", got, err)
		}
	})
	inCity(t, 1, func(t *testing.T, ctx context.Context, c *city) { // a firewall that lets no NAT tests out
		n := &checkNet{Net: c.nat(10, natnegtest.PortRestricted), at: netip.MustParseAddr("192.168.1.5"), lost: func(_ netip.AddrPort, data []byte) bool { return !isCheck(data) }}
		got, err := natcheck.Run(ctx, n, c.at[:])
		if err != nil || got.Filter != natcheck.FilterUnknown || got.Router != meeting.RouterUnknown || got.Mapping != natcheck.MapsOnce {
			t.Errorf("no test: %+v, %v", got, err)
		}
	})
	inCity(t, 1, func(t *testing.T, ctx context.Context, c *city) {
		n := &checkNet{Net: c.net, at: netip.MustParseAddr("203.0.113.77"), lost: func(netip.AddrPort, []byte) bool { return true }}
		if _, err := natcheck.Run(ctx, n, c.at[:]); !errors.Is(err, natcheck.ErrNoAnswer) {
			t.Errorf("no server: %v, want %v", err, natcheck.ErrNoAnswer)
		}
		if _, err := natcheck.Run(ctx, n, nil); !errors.Is(err, natcheck.ErrNoAnswer) {
			t.Errorf("no address: %v, want %v", err, natcheck.ErrNoAnswer)
		}
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := natcheck.Run(ctx, n, c.at[:]); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

// A server of another kind, or an older one, answers a marked check as it does games.
func TestNATCheckWithoutAbilities(t *testing.T) {
	inCity(t, 1, func(t *testing.T, ctx context.Context, c *city) {
		n := &checkNet{Net: c.nat(10, natnegtest.PortRestricted), at: netip.MustParseAddr("192.168.1.5")}
		plain := &plainNet{n}
		got, err := natcheck.Run(ctx, plain, c.at[:])
		if err != nil || got.Router != meeting.RouterUnknown || got.Filter != natcheck.FilterUnknown || len(got.Seen) != 1 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// plainNet removes the mark from all checks.
type plainNet struct{ *checkNet }

type plainSocket struct{ natcheck.Socket }

func (n *plainNet) Open(ctx context.Context, recv func([]byte, netip.AddrPort)) (natcheck.Socket, error) {
	s, err := n.checkNet.Open(ctx, recv)
	return plainSocket{s}, err
}

func (s plainSocket) Send(data []byte, to netip.AddrPort) {
	s.Socket.Send(bytes.ReplaceAll(data, []byte("respawnd"), make([]byte, 8)), to)
}
