package api

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/webtest"
)

// believeProxy makes the peer of httptest a proxy that says where visitors come
// from.
func (f *fixture) believeProxy() {
	f.api.SetLimits(0, 0, []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")})
}

func TestEventsAddressByVisitor(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *webtest.Pipes, _ func() time.Duration) {
		f.api.opt.Addresses = webtest.Advertised(f.Registry)
		f.believeProxy()
		outside, mine := listen(t, ln.Dial(t), ""), listen(t, ln.Dial(t), "?game=gmother") // a pipe is outside
		key := f.Put(webtest.Listed{Addr: "127.0.0.1:1", Rules: []string{"hostname", "One"}})
		f.Put(webtest.Listed{Addr: "192.0.2.2:1"})
		f.Put(webtest.Listed{Addr: "10.0.0.20:2", Game: "gmother"})
		outside.expect("added 203.0.113.5:1", "added 192.0.2.2:1", "added 203.0.113.5:2")
		mine.expect("added 203.0.113.5:2")
		f.Registry.Remove(key)
		f.Put(webtest.Listed{Addr: "127.0.0.1:3", Game: "gmother"})
		outside.expect("removed 203.0.113.5:1", "added 203.0.113.5:3")
		mine.expect("added 203.0.113.5:3")
	})
}

func TestBatchTextFor(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Addresses = webtest.Advertised(o.Registry) })
	f.believeProxy()
	if err := f.Catalog.Replace([]games.Game{{Name: "gmtest", Facts: games.Facts{Join: "game://{address}"}}, {Name: "gmother"}}); err != nil {
		t.Fatal(err)
	}
	f.Put(webtest.Listed{Addr: "127.0.0.1:1", Rules: []string{"hostname", "One", "hostport", "7"}})
	f.Put(webtest.Listed{Addr: "192.0.2.2:1", Game: "gmother"})
	f.Registry.Remove(f.Put(webtest.Listed{Addr: "127.0.0.1:2"}))
	f.Put(webtest.Listed{Addr: "127.0.0.1:3"})
	events := f.api.feed.write(0, f.Registry.LastSerial())
	whole := string(events.textFor("", nil, advertise.Asker{}))
	webtest.WantParts(t, "the events", whole, `"join":"game://127.0.0.1:7"`)
	if want := string(events.text); whole != want {
		t.Errorf("for an unknown asker:\n%s\nwant\n%s", whole, want)
	}
	for visitor, host := range webtest.Visitors() {
		asker := f.api.opt.Addresses.Browser(netip.MustParseAddr(visitor), netip.Addr{})
		want := strings.ReplaceAll(strings.ReplaceAll(whole, `"address":"127.0.0.1`, `"address":"`+host), `"host":"127.0.0.1`, `"host":"`+host)
		want = strings.ReplaceAll(want, `"join":"game://127.0.0.1:7"`, `"join":"game://`+host+`:7"`)
		if got := string(events.textFor("", nil, asker)); got != want {
			t.Errorf("for %s:\n%s\nwant\n%s", visitor, got, want)
		}
	}
	if n := len(events.spots); n != 2 || !master.IsPrivate(events.spots[0].public.Addr()) {
		t.Errorf("%d private addresses in the events, want 2", n)
	}
}
