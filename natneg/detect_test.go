package natneg_test

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/natneg"
	"github.com/respawnd/respawnd/natneg/natnegtest"
)

// The NAT types that a client tells apart.
const (
	noNAT          = "no NAT"
	fullCone       = "full cone"
	restricted     = "restricted"
	portRestricted = "port restricted"
	symmetric      = "symmetric"
	undetected     = "failed"
)

// detection is a client's knowledge of its NAT.
type detection struct {
	mu    sync.Mutex
	tests map[natneg.PortType]bool  // that were answered
	seen  map[uint32]netip.AddrPort // by the cookie of the address check
}

func (d *detection) take(data []byte, _ netip.AddrPort) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h, body, err := natneg.ParseHeader(data)
	if err != nil {
		return
	}
	switch h.Type {
	case natneg.TypeTest:
		if t, ok := natneg.ParseTest(body); ok {
			d.tests[t.PortType] = true
		}
	case natneg.TypeAddressReply:
		if a, ok := natneg.ParseAddressReply(body); ok {
			d.seen[h.Cookie] = a.Seen
		}
	default:
	}
}

// kind is how the original client decides.
func (d *detection) kind(local netip.AddrPort) string {
	first, second, third := d.seen[0], d.seen[1], d.seen[2]
	switch {
	case !first.IsValid() || !second.IsValid() || !third.IsValid():
		return undetected
	case first.Addr() == local.Addr():
		return noNAT
	case third.Port() != second.Port():
		return symmetric
	case !d.tests[natneg.PortNN3]:
		return portRestricted
	case !d.tests[natneg.PortNN2]:
		return restricted
	default:
		return fullCone
	}
}

// detect has a client determine the kind of its NAT. It needs synctest.
func (c *city) detect(n natnegtest.Net, local string) string {
	c.t.Helper()
	d := &detection{tests: make(map[natneg.PortType]bool), seen: make(map[uint32]netip.AddrPort)}
	at := netip.MustParseAddr(local)
	var socks [2]natnegtest.Socket
	for i := range socks {
		sock, err := n.Open(netip.AddrPortFrom(at, 7000+uint16(i)), d.take)
		if err != nil {
			c.t.Fatal(err)
		}
		defer sock.Close()
		socks[i] = sock
	}
	send := func(sock natnegtest.Socket, typ natneg.Type, port natneg.PortType, cookie uint32, to int) {
		check := natneg.Check{Test: natneg.Test{PortType: port}}
		sock.Send(check.AppendTo(natneg.Header{Version: 4, Type: typ, Cookie: cookie}.AppendTo(nil)), c.at[to])
	}
	send(socks[0], natneg.TypeNATTest, natneg.PortNN1, 777, 0)
	send(socks[0], natneg.TypeNATTest, natneg.PortNN2, 777, 0)
	send(socks[0], natneg.TypeNATTest, natneg.PortNN3, 777, 1)
	send(socks[1], natneg.TypeAddressCheck, natneg.PortNN1, 0, 0)
	send(socks[1], natneg.TypeAddressCheck, natneg.PortNN1, 3, 0)
	send(socks[1], natneg.TypeAddressCheck, natneg.PortNN2, 1, 1)
	send(socks[1], natneg.TypeAddressCheck, natneg.PortNN3, 2, 2)
	time.Sleep(10 * time.Second)
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kind(socks[1].Addr())
}

// TestNATDetection checks the clients' results for our answers. With fewer addresses
// they take their NAT for a stricter one, or a symmetric one for port restricted, but
// never for more open than it is to addresses they have not written to.
func TestNATDetection(t *testing.T) {
	tests := map[natnegtest.Kind][3]string{ // with one, two, three addresses
		natnegtest.FullCone:       {restricted, restricted, fullCone},
		natnegtest.Restricted:     {restricted, restricted, restricted},
		natnegtest.PortRestricted: {portRestricted, portRestricted, portRestricted},
		natnegtest.Symmetric:      {portRestricted, symmetric, symmetric},
	}
	for kind, wants := range tests {
		for i, want := range wants {
			inCity(t, i+1, func(t *testing.T, _ context.Context, c *city) {
				n := c.nat(10, kind)
				n.Port = natnegtest.Scattered()
				if got := c.detect(n, "192.168.1.5"); got != want {
					t.Errorf("%v with %d addresses: got %s, want %s", kind, i+1, got, want)
				}
			})
		}
	}
	inCity(t, 3, func(t *testing.T, _ context.Context, c *city) {
		if got := c.detect(c.net, "203.0.113.77"); got != noNAT {
			t.Errorf("without a NAT: got %s", got)
		}
	})
}
