package natnegtest

import (
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestNATsLetInWhomTheyShould has a client behind a NAT write to one address, and
// three others write back to the port that this one saw.
func TestNATsLetInWhomTheyShould(t *testing.T) {
	const written, samePlace, stranger = "198.51.100.1:1", "198.51.100.1:2", "198.51.100.2:1"
	tests := map[Kind]map[string]bool{
		FullCone:       {written: true, samePlace: true, stranger: true},
		Restricted:     {written: true, samePlace: true, stranger: false},
		PortRestricted: {written: true, samePlace: false, stranger: false},
		Symmetric:      {written: true, samePlace: false, stranger: false},
	}
	for kind, want := range tests {
		synctest.Test(t, func(t *testing.T) {
			m := &Memory{}
			nat := &NAT{Kind: kind, Outside: m, Public: netip.MustParseAddr("203.0.113.1")}
			var mu sync.Mutex
			got := make(map[string]bool)
			client, err := nat.Open(netip.MustParseAddrPort("192.168.1.5:5000"), func(_ []byte, from netip.AddrPort) {
				mu.Lock()
				defer mu.Unlock()
				got[from.String()] = true
			})
			if err != nil {
				t.Fatal(err)
			}
			var seen netip.AddrPort
			socks := make(map[string]Socket)
			for addr := range want {
				if socks[addr], err = m.Open(netip.MustParseAddrPort(addr), func(_ []byte, from netip.AddrPort) { seen = from }); err != nil {
					t.Fatal(err)
				}
			}
			client.Send([]byte("out"), netip.MustParseAddrPort(written))
			time.Sleep(time.Millisecond)
			synctest.Wait()
			first := seen
			if first.Addr() != nat.Public {
				t.Fatalf("%v: seen from %v", kind, first)
			}
			for _, s := range socks {
				s.Send([]byte("in"), first)
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
			for addr, want := range want {
				if got[addr] != want {
					t.Errorf("%v: let in %s: got %v, want %v", kind, addr, got[addr], want)
				}
			}
			client.Send([]byte("out"), netip.MustParseAddrPort(stranger))
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if (seen != first) != (kind == Symmetric) {
				t.Errorf("%v: seen from %v and %v by two partners", kind, first, seen)
			}
		})
	}
}

func TestSocketsBehindOneNAT(t *testing.T) {
	nat := &NAT{Outside: &Memory{}, Public: netip.MustParseAddr("203.0.113.1")}
	var from netip.AddrPort
	a, err := nat.Open(netip.MustParseAddrPort("192.168.1.5:5000"), func([]byte, netip.AddrPort) {})
	if err != nil {
		t.Fatal(err)
	}
	b, err := nat.Open(netip.MustParseAddrPort("192.168.1.6:5000"), func(_ []byte, f netip.AddrPort) { from = f })
	if err != nil {
		t.Fatal(err)
	}
	a.Send([]byte("hello"), b.Addr())
	if from != a.Addr() {
		t.Errorf("got it from %v, want %v", from, a.Addr())
	}
}
