package advertise

import (
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/master"
)

func TestFormsAreSharedAndBounded(t *testing.T) {
	table := New(master.NewRegistry(master.Limits{}))
	var forms Forms[*int]
	made := func() *int { return new(int) }
	for i := range 2 * mostForms {
		network := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), 5}), 24)
		table.SetNetworks([]hostnet.Address{{Prefix: network}})
		asker := table.Asker(network.Addr())
		if first := forms.For(asker, made); forms.For(asker, made) != first {
			t.Fatal("the form for an asker is made twice")
		}
		if n := len(forms.kept); n == 0 || n > mostForms {
			t.Fatalf("%d forms are kept, want at most %d", n, mostForms)
		}
	}
}
