package serverbrowse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/views"
	"github.com/respawnd/respawnd/qr2"
)

// subscribe requests a list with updates and reads the key list after it.
func (b *browser) subscribe(change func(*ListRequest)) Reply {
	b.t.Helper()
	reply := b.ask(request(func(r *ListRequest) {
		r.Options = PushUpdates
		if change != nil {
			change(r)
		}
	}))
	if p := b.next(); p.Kind != PushKeys || len(p.Keys) != len(reply.Keys) {
		b.t.Fatalf("after the list: %+v, want its key list", p)
	}
	return reply
}

func TestUpdatesFollowTheFilter(t *testing.T) {
	f := start(t, nil)
	rules := func(players string) []string { return []string{"hostname", "Alpha", "numplayers", players} }
	put(t, f.reg, "gmtest", "192.0.2.1:6500", rules("5"), nil)
	put(t, f.reg, "gmtest", "192.0.2.2:6500", rules("0"), nil)
	b := f.connect(t)
	if got := b.subscribe(func(r *ListRequest) { r.Filter = "numplayers>0" }); len(got.Entries) != 1 {
		t.Fatalf("list %+v, want one server", got)
	}
	want := func(kind PushKind, address string, values ...string) {
		t.Helper()
		p := b.next()
		got := p.Address
		if p.Kind == PushServer {
			got = p.Entry.Public
		}
		if p.Kind != kind || got.String() != address || !cmp.Equal(values, p.Entry.Values) {
			t.Fatalf("got %+v, want kind %d about %s %q", p, kind, address, values)
		}
	}
	put(t, f.reg, "gmtest", "192.0.2.1:6500", rules("6"), nil)
	want(PushServer, "192.0.2.1:6500", "Alpha", "6")
	put(t, f.reg, "gmtest", "192.0.2.2:6500", rules("1"), nil) // begins to match
	want(PushServer, "192.0.2.2:6500", "Alpha", "1")
	put(t, f.reg, "gmtest", "192.0.2.1:6500", rules("0"), nil) // matches no longer
	want(PushDelete, "192.0.2.1:6500")
	put(t, f.reg, "gmtest", "192.0.2.3:6500", rules("0"), nil) // never matched
	put(t, f.reg, "other", "192.0.2.4:6500", rules("9"), nil)  // another game
	f.reg.Remove(master.Key{Source: netip.MustParseAddrPort("192.0.2.3:6500"), Instance: 1})
	f.reg.Remove(master.Key{Source: netip.MustParseAddrPort("192.0.2.2:6500"), Instance: 1})
	want(PushDelete, "192.0.2.2:6500")
	put(t, f.reg, "gmtest", "192.0.2.5:7000", rules("7"), func(s *master.Server) { s.Findings.Reached = master.ReachedDirect })
	p := b.next()
	if p.Entry.Flags != FlagReachable|FlagValues|FlagPort || p.Entry.Public.String() != "192.0.2.5:7000" {
		t.Errorf("reachable server pushed as %+v", p.Entry)
	}
}

// A server that answers only A2S is not listed for browsers that cannot query
// it, even if an operator named it.
func TestServersOfA2SAreNotShown(t *testing.T) {
	f := start(t, nil)
	named := func(s *master.Server) { s.Origin = master.Static }
	a2s := []string{"hostname", "A2S", "numplayers", "3", master.RuleAppID, "10", master.RuleServerType, "dedicated"}
	put(t, f.reg, "gmtest", "192.0.2.1:27015", a2s, named)
	put(t, f.reg, "gmtest", "192.0.2.2:6500", []string{"hostname", "Named", "numplayers", "3"}, named)
	b := f.connect(t)
	if got := b.subscribe(nil); len(got.Entries) != 1 || got.Entries[0].Public.String() != "192.0.2.2:6500" {
		t.Errorf("list %+v, want the server that browsers can query", got.Entries)
	}
	put(t, f.reg, "gmtest", "192.0.2.3:27015", a2s, named)
	put(t, f.reg, "gmtest", "192.0.2.4:6500", []string{"hostname", "Next", "numplayers", "3"}, nil)
	if p := b.next(); p.Kind != PushServer || p.Entry.Public.String() != "192.0.2.4:6500" {
		t.Errorf("pushed %+v, want the next server that browsers can query", p)
	}
}

func TestChangeThatDoesNotShowIsNotPushed(t *testing.T) {
	f := start(t, nil)
	put(t, f.reg, "gmtest", "192.0.2.1:6500", []string{"hostname", "Alpha", "mapname", "a"}, nil)
	b := f.connect(t)
	b.subscribe(func(r *ListRequest) { r.Fields = `\hostname` })
	put(t, f.reg, "gmtest", "192.0.2.1:6500", []string{"hostname", "Alpha2", "mapname", "b"}, nil)
	b.next()
	put(t, f.reg, "gmtest", "192.0.2.1:6500", []string{"hostname", "Alpha2", "mapname", "c"}, nil)
	put(t, f.reg, "gmtest", "192.0.2.2:6500", []string{"hostname", "Beta"}, nil)
	if p := b.next(); p.Entry.Public.String() != "192.0.2.2:6500" {
		t.Errorf("pushed %+v, want the new server alone", p)
	}
}

// What the list itself showed counts, too, once enough browsers follow it.
func TestChangeOfAListedServerThatDoesNotShowIsNotPushed(t *testing.T) {
	f := start(t, nil)
	for _, at := range []string{"192.0.2.1:6500", "192.0.2.2:6500"} {
		put(t, f.reg, "gmtest", at, []string{"hostname", "Alpha", "mapname", "a"}, nil)
	}
	var all []*browser
	for range rememberFrom {
		b := f.connect(t)
		b.subscribe(func(r *ListRequest) { r.Fields = `\hostname` })
		all = append(all, b)
	}
	put(t, f.reg, "gmtest", "192.0.2.3:6500", []string{"hostname", "Next"}, nil)
	for _, b := range all {
		if p := b.next(); p.Entry.Public.String() != "192.0.2.3:6500" {
			t.Fatalf("pushed %+v, want the new server", p)
		}
	}
	put(t, f.reg, "gmtest", "192.0.2.1:6500", []string{"hostname", "Alpha", "mapname", "b"}, nil)
	put(t, f.reg, "gmtest", "192.0.2.2:6500", []string{"hostname", "Beta", "mapname", "a"}, nil)
	for _, b := range all {
		if p := b.next(); p.Entry.Public.String() != "192.0.2.2:6500" {
			t.Errorf("pushed %+v, want the server with another name alone", p)
		}
	}
}

func TestSecondListReplacesTheSubscription(t *testing.T) {
	f := start(t, nil)
	b := f.connect(t)
	b.subscribe(nil)
	b.subscribe(func(r *ListRequest) { r.Fields = `\mapname` })
	put(t, f.reg, "gmtest", "192.0.2.1:6500", []string{"hostname", "Alpha", "mapname", "a"}, nil)
	if p := b.next(); !cmp.Equal(p.Entry.Values, []string{"a"}) {
		t.Errorf("pushed %+v, want the fields of the second list", p)
	}
	b.ask(request(nil)) // and a list without updates ends it
	put(t, f.reg, "gmtest", "192.0.2.2:6500", []string{"mapname", "b"}, nil)
	b.write(AppendInfoRequest(nil, netip.MustParseAddrPort("192.0.2.9:1")))
	if p := b.next(); p.Entry.Public.String() != "192.0.2.9:1" {
		t.Errorf("pushed %+v after the subscription ended", p)
	}
	if n := testutil.ToFloat64(f.srv.metrics.audience); n != 0 {
		t.Errorf("%v subscribers, want none", n)
	}
}

func TestUpdatesCanBeSwitchedOff(t *testing.T) {
	f := start(t, func(o *Options) { o.Push = false })
	b := f.connect(t)
	b.ask(request(func(r *ListRequest) { r.Options = PushUpdates }))
	b.write(AppendInfoRequest(nil, netip.MustParseAddrPort("192.0.2.9:1")))
	if p := b.next(); p.Kind != PushServer {
		t.Errorf("after the list: %+v, want the answer alone", p)
	}
}

func TestRoomsAreNotFollowed(t *testing.T) {
	f := start(t, nil)
	b := f.connect(t)
	b.ask(request(func(r *ListRequest) { r.Options = PushUpdates | SendGroups }))
	b.write(AppendInfoRequest(nil, netip.MustParseAddrPort("192.0.2.9:1")))
	if p := b.next(); p.Kind != PushServer {
		t.Errorf("after the rooms: %+v, want the answer alone", p)
	}
}

func TestSlowSubscriberIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		m := netserve.NewMetrics(reg, "serverbrowse")
		f := startPipe(t, func(o *Options) {
			// A keepalive would wait for the pending write, which synctest
			// cannot see.
			o.Metrics, o.Write, o.KeepAlive = m, time.Hour, time.Hour
		})
		b := f.connect(t)
		b.subscribe(nil)
		for i := range maxOutbox + 2 {
			put(t, f.reg, "gmtest", "192.0.2.1:6500", []string{"hostname", fmt.Sprint(i)}, nil)
			time.Sleep(2 * coalesce)
		}
		synctest.Wait()
		if _, err := b.conn.Write([]byte{0}); err == nil {
			t.Error("connection still open with a full queue")
		}
		wantDropped(t, reg, endedSlow.Error())
		if n := testutil.ToFloat64(f.srv.metrics.audience); n != 0 {
			t.Errorf("%v subscribers, want none", n)
		}
	})
}

func TestChangesAreCollectedLongerForMore(t *testing.T) {
	f := New(Options{Config: testConfig(), Listing: part.Listing{Registry: newTestRegistry(), Games: testGames(t)}}).feed
	for _, c := range []struct {
		audience   int
		took, want time.Duration
	}{
		{1, 0, coalesce + coalescePerClient},
		{500, 0, 350 * time.Millisecond},
		{800, 0, maxCoalesce},
		{100_000, 0, maxCoalesce},
		{800, time.Second, restFactor * time.Second},
	} {
		f.audience = c.audience
		if got := f.rest(c.took); got != c.want {
			t.Errorf("%d subscribers, a round of %v: %v, want %v", c.audience, c.took, got, c.want)
		}
	}
}

func TestFollowedListsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bound = 100
		reg := newTestRegistry()
		put(t, reg, "gmtest", "192.0.2.1:6500", []string{"hostname", "Alpha"}, nil)
		var lines bytes.Buffer
		config := testConfig()
		config.MaxFollowed = bound
		s := New(Options{Config: config, Listing: part.Listing{Registry: reg, Games: testGames(t)}, Self: part.Self{Log: zerolog.New(&lines)}})
		join := func(i int, f func(*ListRequest)) (*asked, *subscriber, bool) {
			t.Helper()
			r := request(f)
			r.Fields = fmt.Sprintf(`\f%d`, i)
			at, err := s.asked(&r, "gmtest", 6500)
			if err != nil {
				t.Fatal(err)
			}
			sub := &subscriber{}
			v, ok, err := s.feed.join(at, sub)
			if err != nil || v.entries() != 1 {
				t.Fatalf("join: %v, %v", v, err)
			}
			return at, sub, ok
		}
		wantLines := func(want int) {
			t.Helper()
			if got := strings.Count(lines.String(), "without updates"); got != want {
				t.Errorf("%d lines of log, want %d:\n%s", got, want, &lines)
			}
		}
		for i := range bound {
			if _, _, ok := join(i, nil); !ok {
				t.Fatalf("list %d is not followed, want %d", i, bound)
			}
		}
		wantLines(0)
		for i := range 10 {
			if _, _, ok := join(bound+i, nil); ok {
				t.Errorf("list %d is followed, want %d", bound+i, bound)
			}
		}
		wantLines(1)
		if n := testutil.ToFloat64(s.metrics.unfollowed); n != 10 {
			t.Errorf("%v requests for updates counted as not granted, want 10", n)
		}
		if n := testutil.ToFloat64(s.metrics.followed); n != bound || s.feed.tracked != bound {
			t.Errorf("%v lists with %d servers followed, want %d of each", n, s.feed.tracked, bound)
		}
		if _, _, ok := join(0, func(r *ListRequest) { r.Filter = "hostname = 'Alpha'" }); ok {
			t.Error("a list with another filter is followed, want it refused")
		}
		at, sub, ok := join(0, func(r *ListRequest) { r.Options |= FieldsForAll })
		if !ok {
			t.Error("a client that asks for a list that is followed is not kept informed")
		}
		s.feed.leave(at, sub)
		time.Sleep(unfollowedEvery)
		join(bound, nil)
		wantLines(2)
		if !strings.Contains(lines.String(), `"requests":11`) {
			t.Errorf("the second line does not count what came in between:\n%s", &lines)
		}
	})
}

// A list may be a little old when it is sent. Changes missing in it are sent
// with the next update, even if nothing changes later and all other clients
// have them.
func TestJoinWithAnOldList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := newTestRegistry()
		fill(t, reg, shortList+int(maxHold/holdPerServer))
		s := New(Options{Config: testConfig(), Listing: part.Listing{Registry: reg, Games: testGames(t)}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.feed.run(ctx) }()
		defer func() { cancel(); <-done }()
		r := request(nil)
		at, err := s.asked(&r, "gmtest", 6500)
		if err != nil {
			t.Fatal(err)
		}
		join := func() *subscriber {
			sub := &subscriber{out: make(chan *batch, maxOutbox), slow: func() { t.Error("queue full") }}
			if _, ok, err := s.feed.join(at, sub); err != nil || !ok {
				t.Fatal(ok, err)
			}
			return sub
		}
		change := func(hostname string) {
			put(t, reg, "gmtest", "192.0.2.1:6500", []string{"hostname", hostname, "numplayers", "1"}, nil)
		}
		first := join()
		time.Sleep(2 * maxHold)
		change("a")
		time.Sleep(coalesce / 2)
		if _, err := s.view(at); err != nil { // a client asks for the list, which is made again
			t.Fatal(err)
		}
		change("b")
		time.Sleep(coalesce/2 + time.Millisecond)
		synctest.Wait()
		if len(first.out) != 1 {
			t.Fatalf("the first subscriber received %d updates, want 1", len(first.out))
		}
		late := join() // while the list may still be used
		time.Sleep(2 * coalesce)
		synctest.Wait()
		if len(late.out) != 1 {
			t.Fatalf("the subscriber with the old list received %d updates, want 1", len(late.out))
		}
		if !bytes.Contains((<-late.out).bytes, []byte("b\x00")) {
			t.Error("the update does not have the latest name")
		}
	})
}

// screen is the list that a browser shows.
type screen struct {
	t    *rapid.T
	at   *asked
	sub  *subscriber
	rows map[string]string
}

// read applies the queued pushes. Adding a listed server that did not change, or
// deleting one that is not listed, is an error.
func (s *screen) read() {
	for {
		select {
		case batch := <-s.sub.out:
			d := newClearDecoder(bytes.NewReader(batch.bytes))
			d.port, d.keys = 6500, []Key{{KeyString, "hostname"}}
			for {
				p, err := d.Push()
				if errors.Is(err, io.ErrUnexpectedEOF) {
					break
				}
				if err != nil {
					s.t.Fatal(err)
				}
				if p.Kind == PushDelete {
					if _, ok := s.rows[p.Address.String()]; !ok {
						s.t.Errorf("deleted %v, which is not on the screen", p.Address)
					}
					delete(s.rows, p.Address.String())
					continue
				}
				s.rows[p.Entry.Public.String()] = p.Entry.Values[0]
			}
		default:
			return
		}
	}
}

// TestScreensAgreeWithTheList joins and leaves while servers come, change and
// go, and compares every screen with the list after every update. The log of
// changes is short, so that it does not always reach back.
func TestScreensAgreeWithTheList(t *testing.T) {
	games := testGames(t)
	rapid.Check(t, func(t *rapid.T) {
		reg := master.NewRegistry(master.Limits{Changes: 8})
		s := New(Options{Config: testConfig(), Listing: part.Listing{Registry: reg, Games: games}})
		r := request(func(r *ListRequest) { r.Fields, r.Filter = `\hostname`, "shown=1" })
		addresses := newAddresses(reg)
		askers := []advertise.Asker{{}, addresses.Outside(), addresses.Asker(netip.MustParseAddr("10.0.0.9")), addresses.Asker(netip.MustParseAddr("127.0.0.1"))}
		var screens []*screen
		check := func() {
			s.feed.update()
			for i, sc := range screens {
				want := make(map[string]string)
				for server := range reg.List("gmtest") {
					if shown, _ := server.Rules.Get("shown"); shown == "1" {
						want[sc.at.key.asker.Given(server.Public).String()], _ = server.Rules.Get("hostname")
					}
				}
				sc.read()
				if !maps.Equal(want, sc.rows) {
					t.Fatalf("screen %d shows %v, want %v", i, sc.rows, want)
				}
			}
		}
		address := rapid.Custom(func(t *rapid.T) netip.AddrPort {
			host := rapid.Byte().Draw(t, "host") % 6
			return rapid.SampledFrom([]netip.AddrPort{
				netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, host}), 6500),
				netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 7000+uint16(host)),
			}).Draw(t, "address of host")
		})
		put := func(t *rapid.T) {
			a := address.Draw(t, "address")
			game := rapid.SampledFrom([]string{"gmtest", "gmtest", "gmtest", "other"}).Draw(t, "game")
			srv := master.Server{Origin: qr2.Origin, Key: master.Key{Source: a, Instance: rapid.Uint32Range(1, 2).Draw(t, "instance")}, Game: game, Public: a}
			var rep master.Report
			report(reg, &rep, []string{
				"hostname", rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "hostname"),
				"shown", rapid.SampledFrom([]string{"0", "1", "1"}).Draw(t, "shown"),
			})
			if err := rep.Into(&srv); err != nil {
				t.Fatal(err)
			}
			if err := reg.Put(srv); err != nil {
				t.Fatal(err)
			}
		}
		remove := func(t *rapid.T) {
			if s, ok := reg.Find(address.Draw(t, "address")); ok {
				reg.Remove(s.Key)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"put":    put,
			"remove": remove,
			// A server changes during an update.
			"race": func(t *rapid.T) {
				for _, to := range s.feed.followed {
					now := s.feed.collect(to)
					rapid.SampledFrom([]func(*rapid.T){put, remove}).Draw(t, "meanwhile")(t)
					s.feed.tell(to, now)
				}
			},
			"join": func(t *rapid.T) {
				at, err := s.asked(&r, "gmtest", 6500)
				if err != nil {
					t.Fatal(err)
				}
				at.key.asker = rapid.SampledFrom(askers).Draw(t, "asker")
				sc := &screen{t: t, at: at, rows: make(map[string]string)}
				sc.sub = &subscriber{out: make(chan *batch, 1000), slow: func() { t.Error("queue full") }}
				v, ok, err := s.feed.join(at, sc.sub)
				if err != nil || !ok {
					t.Fatal(ok, err)
				}
				b := appendFixedHeader(nil, netip.IPv4Unspecified(), 6500)
				reply, err := newClearDecoder(bytes.NewReader(append(b, v.clear...))).Reply(0)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range reply.Entries {
					sc.rows[e.Public.String()] = e.Values[0]
				}
				screens = append(screens, sc)
			},
			"leave": func(t *rapid.T) {
				if len(screens) == 0 {
					t.Skip("no client there")
				}
				i := rapid.IntRange(0, len(screens)-1).Draw(t, "screen")
				s.feed.leave(screens[i].at, screens[i].sub)
				screens = append(screens[:i], screens[i+1:]...)
			},
			"update": func(*rapid.T) { check() },
		})
		check()
		for _, sc := range screens {
			s.feed.leave(sc.at, sc.sub)
		}
		if len(s.feed.followed) != 0 || s.feed.tracked != 0 {
			t.Fatalf("%d lists with %d servers followed after all have left", len(s.feed.followed), s.feed.tracked)
		}
	})
}

func TestRefusedListIsNotFollowed(t *testing.T) {
	f := start(t, nil)
	for i := range 50 {
		put(t, f.reg, "gmtest", fmt.Sprintf("192.0.2.%d:6500", i), []string{"hostname", strings.Repeat("a", 2000)}, nil)
	}
	b := f.connect(t)
	for range 2 { // the second time it is known to be too expensive
		if got := b.ask(request(func(r *ListRequest) { r.Options, r.Filter = PushUpdates, expensive })); got.Error == "" {
			t.Errorf("reply %+v, want an error", got)
		}
	}
	if err := f.srv.views.Begin(&view{clear: make([]byte, maxSendingBytes)}); err != nil {
		t.Fatal(err)
	}
	if got := b.ask(request(func(r *ListRequest) { r.Options = PushUpdates })); got.Error != errorPrefix+views.ErrBusy.Error() {
		t.Errorf("reply %+v, want that the server is busy", got)
	}
	if n := testutil.ToFloat64(f.srv.metrics.audience); n != 0 {
		t.Errorf("%v subscribers, want none", n)
	}
}

func TestPushOfLongKeyList(t *testing.T) {
	var fields strings.Builder
	for i := range maxFields {
		fmt.Fprintf(&fields, `\%014d`, i)
	}
	for extra, fits := range map[int]bool{0: true, 12: true, 13: false} {
		f := start(t, nil)
		b := f.connect(t)
		ask := func(r *ListRequest) { r.Options, r.Fields = PushUpdates, fields.String()+strings.Repeat("x", extra) }
		if got := b.ask(request(ask)); len(got.Keys) != maxFields {
			t.Fatalf("%d keys, want %d", len(got.Keys), maxFields)
		}
		b.write(AppendInfoRequest(nil, netip.MustParseAddrPort("192.0.2.9:1")))
		if p := b.next(); (p.Kind == PushKeys) != fits {
			t.Errorf("%d bytes more: kind %d follows, key list: want %v", extra, p.Kind, fits)
		}
		if n := testutil.ToFloat64(f.srv.metrics.unfollowed); (n == 0) != fits {
			t.Errorf("%d bytes more: %v requests for updates counted as not granted", extra, n)
		}
	}
}
