//go:build linux && netns

package networks

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/test/rig"
)

// TestPlayerBehindABrokenLineOnNetworks cuts the cable of a player that another
// player sends a message to. The player is soon reported offline, and the message
// is delivered when the cable is back.
func TestPlayerBehindABrokenLineOnNetworks(t *testing.T) {
	w := twoNetworks(t)
	child := func(space, role string) { runInNetwork(t, w.Child(space, "TestBrokenLineChild", role)) }
	startInNetwork(t, w.Child("master", "TestBrokenLineChild", "serves"))
	startInNetwork(t, w.Child("hall", "TestBrokenLineChild", "Ann is there"))
	w.In("hall", "ip", "link", "set", "eth", "down")
	child("attic", "Ben writes")
	w.In("hall", "ip", "link", "set", "eth", "up")
	child("hall", "Ann is back")
}

// TestBrokenLineChild runs in a copy of the test program inside its own network namespace.
func TestBrokenLineChild(t *testing.T) {
	const port = 29900
	enterFrom := func(network int, name string) *rig.Player {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 77, byte(network), 1}), port)
		p, err := rig.Enter(t.Context(), at, name)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	// waitFor waits for a message with all of these parts.
	waitFor := func(p *rig.Player, parts ...string) {
		for found := 0; found < len(parts); {
			m, err := p.MustNext()
			if err != nil {
				t.Fatalf("%q did not come: %v", parts, err)
			}
			found = 0
			for _, part := range parts {
				if strings.Contains(m, part) {
					found++
				}
			}
		}
	}
	stay := func() {
		_, _ = fmt.Fprintln(os.Stdout, "ready")
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
	}
	switch role := os.Getenv(nettest.WorldRole); role {
	case "":
		t.Skip("it is part of the tests with networks")
	case "serves":
		d := rig.AnnAndBen(t, rig.Variable("gpcm.listen", fmt.Sprintf("0.0.0.0:%d", port)), rig.Variable("gpcm.user_timeout", "10s"))
		ann, ben := rig.SignedIn(t, d, "uniquenick", "Ann"), rig.SignedIn(t, d, "uniquenick", "Ben")
		rig.Befriend(ann, ben)
		rig.Befriend(ben, ann)
		for _, s := range []rig.Seat{ann, ben} {
			if err := s.MustLeave(); err != nil {
				t.Fatal(err)
			}
		}
		stay()
		d.Stop()
	case "Ann is there":
		enterFrom(0, "Ann")
		stay()
	case "Ben writes":
		ben := enterFrom(1, "Ben")
		if err := ben.CarriesOut(`\bm\1\sesskey\$K\t\1\msg\hello`); err != nil {
			t.Fatal(err)
		}
		waitFor(ben, `\bm\100\f\1\`, `|s|0|`) // the system alone would take 15 minutes
	case "Ann is back":
		waitFor(enterFrom(0, "Ann"), `\bm\1\f\2\`, `\msg\hello\`)
	default:
		t.Fatalf("no part %q", role)
	}
}
