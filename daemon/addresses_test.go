package daemon

import (
	"net/netip"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

func TestLocalWatchReview(t *testing.T) {
	registry := master.NewRegistry(master.Limits{})
	book := verdicts.NewLog(zerolog.Nop(), 0)
	w := newLocalWatch(registry, advertise.New(registry), book, (*master.Origin).String, zerolog.Nop())
	at := netip.MustParseAddrPort("127.0.0.1:6500")
	if err := registry.Put(master.Server{Origin: qr2.Origin, Key: master.Key{Source: at}, Game: "gmtest", Public: at}); err != nil {
		t.Fatal(err)
	}
	w.look()
	everybody := []advertise.Rule{{As: netip.MustParseAddr("203.0.113.5")}}
	for i, step := range []struct {
		rules []advertise.Rule
		last  verdicts.Verdict
		notes int
	}{
		{nil, verdicts.OnlyHere, 1},
		{everybody, verdicts.Advertised, 2},
		{everybody, verdicts.Advertised, 2},
		{nil, verdicts.OnlyHere, 3},
	} {
		w.setRules(step.rules)
		select {
		case <-w.ruled:
			w.review()
		default:
		}
		all := book.Of(at.Addr())
		if len(all) != step.notes || all[len(all)-1].Verdict != step.last || w.warned != (step.last == verdicts.OnlyHere) {
			t.Errorf("step %d: %+v, warned %v, want %d verdicts, the last %v", i, all, w.warned, step.notes, step.last)
		}
	}
}

func TestLocalWatchLook(t *testing.T) {
	registry := master.NewRegistry(master.Limits{})
	book := verdicts.NewLog(zerolog.Nop(), 0)
	w := newLocalWatch(registry, advertise.New(registry), book, (*master.Origin).String, zerolog.Nop())
	at := netip.MustParseAddrPort("127.0.0.1:6500")
	for _, leaves := range []bool{true, false} {
		k := master.Key{Source: at}
		if err := registry.Put(master.Server{Origin: qr2.Origin, Key: k, Game: "gmtest", Public: at}); err != nil {
			t.Fatal(err)
		}
		if leaves {
			registry.Remove(k)
		}
		w.look()
		if noted := len(book.Of(at.Addr())) > 0; noted == leaves || w.warned == leaves {
			t.Errorf("server that leaves (%v) before the look: noted %v, warned %v", leaves, noted, w.warned)
		}
	}
}
