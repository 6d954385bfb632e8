package qr2

import (
	"net/netip"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/master"
)

// TestTextTable drives the table by events and times alone.
func TestTextTable(t *testing.T) {
	key := master.Key{Source: netip.MustParseAddrPort("192.0.2.1:26900")}
	heartbeat := netserve.Packet{Data: []byte(`\heartbeat\26900\gamename\gmtest\statechanged\1`), From: key.Source, To: masterAddr}
	listed := func(*textHost) bool { return true }
	introduced := func() (*textTable, *textHost, time.Time) {
		tb, now := newTextTable(), time.Unix(1000, 0)
		if out, fresh, gone := tb.introduce(key, heartbeat, games.Game{Name: "gmtest"}, 10, now); len(out) != 1 || !fresh || gone != 0 {
			t.Fatalf("introduce: %d queries, fresh %v, %d gone; want one query of a new host", len(out), fresh, gone)
		}
		return &tb, tb.hosts[key.Source], now
	}
	t.Run("no answer", func(t *testing.T) {
		tb, h, now := introduced()
		queries := 0
		for end := now.Add(textPendingLife); now.Before(end); now = now.Add(time.Second) {
			queries += len(tb.step(now, listed, false, false).queries)
		}
		a := tb.step(now, listed, false, false)
		if queries > maxAsks-1 || len(a.gone) != 1 || a.gone[0] != h || len(tb.hosts)+len(tb.waits)+tb.pending.Len() != 0 {
			t.Errorf("%d further queries, %d gone, %d hosts kept; want the host gone", queries, len(a.gone), len(tb.hosts))
		}
	})
	t.Run("listed", func(t *testing.T) {
		tb, h, now := introduced()
		if out := tb.list(asked{host: h, from: key.Source}, false, false, now); len(out) != 0 || !h.listed {
			t.Fatalf("list: %d queries, listed %v", len(out), h.listed)
		}
		if out, known := tb.again(key.Source, heartbeat, false, now.Add(askGap/2)); !known || len(out) != 0 {
			t.Errorf("a heartbeat too early: %d queries, known %v; want none", len(out), known)
		}
		now = now.Add(askGap)
		a := tb.step(now, listed, true, false)
		if len(a.queries) != 1 || len(a.probes) != 1 || !h.waiting {
			t.Fatalf("after %v: %d queries, %d probes; want one each", askGap, len(a.queries), len(a.probes))
		}
		if k, far, ok := tb.probed(key.Source, netip.Addr{}); !ok || far || k != key {
			t.Errorf("probed: %v, far %v, %v", k, far, ok)
		}
		if _, _, ok := tb.probed(key.Source, netip.Addr{}); ok {
			t.Error("a second answer to the probe is taken")
		}
		round := asked{host: h, token: h.token}
		if r, ok := tb.answered(round, now); !ok || r.via != masterAddr || h.waiting {
			t.Errorf("answered: %+v, %v", r, ok)
		}
		if _, ok := tb.answered(round, now); ok {
			t.Error("a second answer of the round is taken")
		}
		if tb.step(h.due, func(*textHost) bool { return false }, true, false); len(tb.hosts) != 0 {
			t.Error("a host that left the list is kept")
		}
	})
	t.Run("last heartbeat", func(t *testing.T) {
		tb, h, now := introduced()
		tb.list(asked{host: h, from: key.Source}, false, false, now)
		now = now.Add(askGap)
		if out, _ := tb.again(key.Source, heartbeat, true, now); len(out) != 1 {
			t.Fatalf("%d queries, want one", len(out))
		}
		var a textActions
		for rounds := 0; len(a.gone) == 0 && rounds < maxAsks; rounds++ {
			now = now.Add(askAgain)
			a = tb.step(now, listed, false, false)
		}
		if len(a.gone) != 1 || a.silent != 1 {
			t.Errorf("%d gone, %d silent; want the host gone", len(a.gone), a.silent)
		}
	})
}
