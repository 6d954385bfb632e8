package sakefiles

import (
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/respawnd/respawnd/internal/cluster/clustertest"
	"github.com/respawnd/respawnd/internal/files"
)

func TestProofsBetweenNodes(t *testing.T) {
	for _, from := range []string{"192.0.2.7", "2001:db8::7"} {
		a := netip.MustParseAddr(from)
		b := appendProof(nil, 77, a, "ticket")
		profile, got, ticket, ok := parseProof(b)
		if !ok || profile != 77 || got != a || ticket != "ticket" {
			t.Errorf("read %d, %v, %q, %v", profile, got, ticket, ok)
		}
		for _, bad := range [][]byte{nil, b[:proofHead], append([]byte{2}, b[1:]...), appendProof(nil, 0, a, "x"), appendProof(nil, 1, a, strings.Repeat("x", maxProofTicket+1))} {
			if _, _, _, ok := parseProof(bad); ok {
				t.Errorf("a malformed proof is read: %.40q", bad)
			}
		}
		if _, _, _, ok := parseProof(appendProof(nil, 1, a, strings.Repeat("x", maxProofTicket))); !ok {
			t.Error("the longest ticket is refused")
		}
	}
}

func FuzzProofs(f *testing.F) {
	f.Add(appendProof(nil, 77, netip.MustParseAddr("192.0.2.7"), "ticket"))
	f.Fuzz(func(t *testing.T, b []byte) {
		profile, from, ticket, ok := parseProof(b)
		if !ok {
			return
		}
		if p, a, s, again := parseProof(appendProof(nil, profile, from, ticket)); !again || p != profile || a != from || s != ticket {
			t.Errorf("%d, %v, %q is read as %d, %v, %q", profile, from, ticket, p, a, s)
		}
	})
}

// TestProofOfAnotherNode: a ticket that was shown to one node proves uploads to the other.
func TestProofOfAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := clustertest.New(t, "a", "b")
		a, b := New(Options{Files: files.New(nil, t.TempDir()), Cluster: n.Bus("a")}), New(Options{Files: files.New(nil, t.TempDir()), Cluster: n.Bus("b")})
		defer b.join(n.Bus("b"))()
		from := netip.MustParseAddr("192.0.2.7")
		a.Proofs.Prove(77, from, "ticket")
		synctest.Wait()
		if ticket, ok := b.Proofs.ticketOf(77, from); !ok || ticket != "ticket" {
			t.Errorf("ticketOf = %q, %v", ticket, ok)
		}
		if _, ok := b.Proofs.ticketOf(77, netip.MustParseAddr("192.0.2.8")); ok {
			t.Error("another address has the proof")
		}
	})
}
