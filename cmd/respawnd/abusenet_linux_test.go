package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/qr2"
)

// One network fills its share of the list, in every protocol, and no more.
// Servers of other networks stay listed, and new ones of theirs are still
// accepted.
func TestOneNetworkAndTheList(t *testing.T) {
	t.Parallel()
	const perNet = 6
	for name, register := range map[string]func(t *testing.T, d *running, at netip.Addr) (addr netip.AddrPort, refused bool){
		"QR2": func(t *testing.T, d *running, at netip.Addr) (netip.AddrPort, bool) {
			h := newHostAt(t, netip.AddrPortFrom(at, 0), d.address["qr2"], "hostname", "Here")
			h.heartbeat("3")
			h.answer()
			kind, _ := h.read()
			return h.address(), kind == qr2.KindRefusal
		},
		"QR1": func(t *testing.T, d *running, at netip.Addr) (netip.AddrPort, bool) {
			h := newHostAt(t, netip.AddrPortFrom(at, 0), d.address["qr2"])
			h.textBeat(`\statechanged\1`)
			proof := gamespy.Response(testSecret, h.textQuery())
			h.raw(fmt.Appendf(nil, `\gamename\%s\hostname\Old\validate\%s\final\\queryid\1.1`, testGame, proof))
			return h.address(), d.refusal(h.address())
		},
		"Zandronum": func(t *testing.T, d *running, at netip.Addr) (netip.AddrPort, bool) {
			h := newZanHost(t, d, at, nil)
			h.announce()
			h.send(zandronum.AppendVerification(nil, h.request()))
			return h.address(), d.refusal(h.address())
		},
		"Valve": func(t *testing.T, d *running, at netip.Addr) (netip.AddrPort, bool) {
			h := newValveHostAt(t, at, d, probetest.Arena("cstrike"))
			h.heartbeat()
			return h.address(), d.refusal(h.address())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := start(t, t.TempDir(), variable("master.max_per_net", fmt.Sprint(perNet)), variable("master.max_servers", fmt.Sprint(4*perNet)))
			var want []string
			list := func(net, last byte) bool {
				addr, refused := register(t, d, netip.AddrFrom4([4]byte{127, 50, net, last}))
				if !refused {
					want = append(want, addr.String())
				}
				return !refused
			}
			for i := range byte(perNet) {
				list(1, 1+i)
			}
			taken := 0
			for i := range byte(3 * perNet) {
				if list(2, 1+i) {
					taken++
				}
			}
			if taken != perNet {
				t.Errorf("%d servers of one network were taken, want %d", taken, perNet)
			}
			if !list(3, 1) {
				t.Error("a server of a third network is refused")
			}
			out := d.cli("server", "list")
			for _, a := range want {
				if !strings.Contains(out, a) {
					t.Errorf("%s is not listed", a)
				}
			}
			waiting := strings.Count(out, verdicts.TooManyHere.String()) // of those that send heartbeats and answer
			if n := strings.Count(out, "127.50.") - waiting; n != len(want) {
				t.Errorf("%d servers are listed, want %d:\n%s", n, len(want), out)
			}
			d.stop()
		})
	}
}

// refusal waits for the verdict on a server and reports whether it was refused.
func (d *running) refusal(a netip.AddrPort) bool {
	d.t.Helper()
	final := []string{"listed", "list full", "too many"}
	e := d.waitFor("the verdict on "+a.String(), 0, func(e entry) bool {
		return e.text("peer") == a.String() &&
			slices.ContainsFunc(final, func(v string) bool { return strings.HasPrefix(e.text("verdict"), v) })
	})
	return !strings.HasPrefix(e.text("verdict"), "listed")
}
