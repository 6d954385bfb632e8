package webhook

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

func TestAdvertisedAddress(t *testing.T) {
	watching(t, plain(), func(f *fixture) {
		f.d.opt.Addresses = advertise.New(f.registry)
		f.d.opt.Addresses.SetRules([]advertise.Rule{{As: netip.MustParseAddr("203.0.113.5")}})
		at := netip.MustParseAddrPort("127.0.0.1:7001")
		if err := f.registry.Put(master.Server{Origin: qr2.Origin, Key: master.Key{Source: at}, Public: at, Game: "gmtest", Seen: time.Now()}); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(f.wait(soon).bodies, "\n")
		if !strings.Contains(got, `"address":"203.0.113.5:7001"`) || !strings.Contains(got, `"id":"qr2-127.0.0.1-7001"`) {
			t.Errorf("told %s, want the advertised address and the id of the list", got)
		}
	})
}
