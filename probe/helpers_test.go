package probe

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/master"
)

// answerTo returns what a server sends for a question. It speaks everything.
func answerTo(q []byte) [][]byte {
	pairs := gamespy.AppendEnd(gamespy.AppendPair(nil, "hostname", "binary"))
	switch {
	case len(q) > 0 && q[0] == '\\':
		return [][]byte{[]byte(`\mapname\harbour\final\\queryid\3.2`), []byte(`\hostname\text\queryid\3.1`)}
	case len(q) < 7 || q[0] != 0xFE:
		return nil
	case q[2] == 0x09:
		return [][]byte{append(append([]byte{0x09}, q[3:7]...), "-5\x00"...)}
	case len(q) == 15 && binary.BigEndian.Uint32(q[7:]) != 0xFFFFFFFB:
		return nil // wrong challenge
	case q[len(q)-1] == 1:
		b := append(append([]byte{0x00}, q[3:7]...), "splitnum\x00\x80\x00hostname\x00split\x00\x00"...)
		return [][]byte{b}
	default:
		return [][]byte{append(append([]byte{0x00}, q[3:7]...), pairs...)}
	}
}

// server answers on the loopback address until the test ends.
func server(t *testing.T, answer func(q []byte) [][]byte) netip.AddrPort {
	t.Helper()
	c := listen(t)
	var done sync.WaitGroup
	done.Go(func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			for _, p := range answer(buf[:n]) {
				_, _ = c.WriteToUDPAddrPort(p, from)
			}
		}
	})
	t.Cleanup(func() { _ = c.Close(); done.Wait() })
	return address(c)
}

func listen(t *testing.T) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func address(c *net.UDPConn) netip.AddrPort {
	a := c.LocalAddr().(*net.UDPAddr).AddrPort()
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// list returns a registry and a catalogue with the servers listed.
func list(t *testing.T, servers ...master.Server) (*master.Registry, *games.Catalog) {
	t.Helper()
	c, err := games.NewCatalog([]games.Game{{Name: "plain", Secrets: []string{"secret"}}, {Name: "guarded", Secrets: []string{"secret"}, BackendFlags: games.QueryChallenge}})
	if err != nil {
		t.Fatal(err)
	}
	r := master.NewRegistry(master.Limits{})
	for _, s := range servers {
		s.Key.Source, s.Seen = s.Public, time.Now()
		if err := r.Put(s); err != nil {
			t.Fatal(err)
		}
	}
	return r, c
}
