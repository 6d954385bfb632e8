package sakefiles

import (
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/respawnd/respawnd/internal/cluster/clustertest"
	"github.com/respawnd/respawnd/internal/files"
)

// TestProofOfAnotherNode: a ticket that was shown to one node proves uploads to the other.
func TestProofOfAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := clustertest.New(t, "a", "b")
		a, b := New(Options{Files: files.New(nil, t.TempDir()), Cluster: n.Bus("a")}), New(Options{Files: files.New(nil, t.TempDir()), Cluster: n.Bus("b")})
		defer b.Proofs.join()()
		from := netip.MustParseAddr("192.0.2.7")
		a.Proofs.Prove(77, from, "ticket")
		synctest.Wait()
		if ticket, ok := b.Proofs.ticketOf(77, from); !ok || ticket != "ticket" {
			t.Errorf("ticketOf = %q, %v", ticket, ok)
		}
		for _, bad := range []proved{{0, from, "x"}, {78, netip.Addr{}, "x"}, {79, from, ""}, {80, from, strings.Repeat("x", maxProofTicket+1)}} {
			a.Proofs.nodes.Tell(bad)
		}
		synctest.Wait()
		if len(b.Proofs.shown) != 1 {
			t.Errorf("%d proofs are known, want 1", len(b.Proofs.shown))
		}
		if _, ok := b.Proofs.ticketOf(77, netip.MustParseAddr("192.0.2.8")); ok {
			t.Error("another address has the proof")
		}
	})
}
