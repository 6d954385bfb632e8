package abuse

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/test/rig"
)

// One network fills its share of the list, in every protocol, and no more.
// Servers of other networks stay listed, and new ones of theirs are still
// accepted.
func TestOneNetworkAndTheList(t *testing.T) {
	t.Parallel()
	const perNet = 6
	for name, register := range map[string]func(t *testing.T, d *rig.Running, at netip.Addr) (addr netip.AddrPort, refused bool){
		"QR2": func(t *testing.T, d *rig.Running, at netip.Addr) (netip.AddrPort, bool) {
			h := rig.NewHostAt(t, netip.AddrPortFrom(at, 0), d.Address["qr2"], "hostname", "Here")
			h.MustHeartbeat("3")
			h.MustAnswer()
			kind, _ := h.Read()
			return h.Address(), kind == qr2.KindRefusal
		},
		"QR1": func(t *testing.T, d *rig.Running, at netip.Addr) (netip.AddrPort, bool) {
			h := rig.NewHostAt(t, netip.AddrPortFrom(at, 0), d.Address["qr2"])
			h.TextBeat(`\statechanged\1`)
			proof := gamespy.Response(rig.TestSecret, h.TextQuery())
			h.Raw(fmt.Appendf(nil, `\gamename\%s\hostname\Old\validate\%s\final\\queryid\1.1`, rig.TestGame, proof))
			return h.Address(), d.Refusal(h.Address())
		},
		"Zandronum": func(t *testing.T, d *rig.Running, at netip.Addr) (netip.AddrPort, bool) {
			h := rig.NewZanHost(t, d, at, nil)
			h.MustAnnounce()
			h.MustSend(zandronum.AppendVerification(nil, h.Request()))
			return h.Address(), d.Refusal(h.Address())
		},
		"Valve": func(t *testing.T, d *rig.Running, at netip.Addr) (netip.AddrPort, bool) {
			h := rig.NewValveHostAt(t, at, d, probetest.Arena("cstrike"))
			h.MustHeartbeat()
			return h.Address(), d.Refusal(h.Address())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := rig.Start(t, t.TempDir(), rig.Variable("master.max_per_net", fmt.Sprint(perNet)), rig.Variable("master.max_servers", fmt.Sprint(4*perNet)))
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
			out := d.Cli("server", "list")
			for _, a := range want {
				if !strings.Contains(out, a) {
					t.Errorf("%s is not listed", a)
				}
			}
			waiting := strings.Count(out, verdicts.TooManyHere.String()) // of those that send heartbeats and answer
			if n := strings.Count(out, "127.50.") - waiting; n != len(want) {
				t.Errorf("%d servers are listed, want %d:\n%s", n, len(want), out)
			}
			d.Stop()
		})
	}
}
