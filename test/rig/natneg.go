package rig

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/natneg/natnegtest"
)

// NatnegMagic is the start of a client message with a cookie.
var NatnegMagic = []byte{0xFD, 0xFC, 0x1E, 0x66, 0x6A, 0xB2}

// QuietLoopback returns a random loopback address that no other process uses, so that
// every port of it is free but those of sockets at all addresses. It is none of a self-test,
// whose servers no list shows.
func QuietLoopback(t *testing.T) netip.Addr {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all of 127.0.0.0/8 on its loopback interface")
	}
	for {
		n := rand.Uint32()
		a := netip.AddrFrom4([4]byte{127, 64 + byte(n>>24)%128, byte(n >> 16), 1 + byte(n>>8)%250})
		if !master.IsTrial(a) {
			return a
		}
	}
}

// StrictNAT returns a NAT that lets in replies only.
func StrictNAT(t *testing.T) *natnegtest.NAT {
	t.Helper()
	n := &natnegtest.NAT{Kind: natnegtest.PortRestricted, Outside: natnegtest.System{}, Public: QuietLoopback(t)}
	t.Cleanup(n.Close)
	return n
}

// SteppingNAT returns a NAT of a kind whose ports can be foreseen. They are below those
// that the system chooses for sockets at all addresses.
func SteppingNAT(t *testing.T, kind natnegtest.Kind) *natnegtest.NAT {
	t.Helper()
	n := &natnegtest.NAT{Kind: kind, Outside: natnegtest.System{}, Public: QuietLoopback(t), Port: natnegtest.Steps(20000, 1)}
	t.Cleanup(n.Close)
	return n
}

// repeats is that of players in tests: they give up after more than a minute.
const repeats = 12

// PairMeets has the players that pair returns for a cookie negotiate, once, and reports whether
// they meet.
func PairMeets(t *testing.T, pair func(cookie uint32) [2]natnegtest.Player) (met bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*Hang)
	defer cancel()
	cookie := rand.Uint32()
	players := pair(cookie)
	var results [2]natnegtest.Result
	var negotiating sync.WaitGroup
	for i := range players {
		p := &players[i]
		p.Cookie, p.Index, p.Name, p.Repeats, p.Linger = cookie, byte(i), TestGame, repeats, time.Second
		negotiating.Go(func() {
			var err error
			if results[i], err = p.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	negotiating.Wait()
	met = true
	for i, r := range results {
		if r.End != natnegtest.Connected || !r.Confirmed {
			met = false
			t.Logf("player %d: got %v, report confirmed: %v", i, r.End, r.Confirmed)
		}
	}
	return met
}
