package replica

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/cluster/clustertest"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

// origins have numbers in messages, but the last.
var origins = master.Origins{qr2.Origin, qr2.OldOrigin, master.Static, master.Federated, {Name: "new"}}

func newDecoder() (*decoder, *master.Source) {
	registry := master.NewRegistry(master.Limits{})
	source := registry.NewSource(textDecoder{registry})
	return &decoder{registry: registry, origins: origins, sources: map[*master.Origin]*master.Source{qr2.Origin: source}}, source
}

// sample is a server with everything that an item holds.
func sample(d *decoder) master.Server {
	s := master.Server{
		Key: master.Key{Source: netip.MustParseAddrPort("192.0.2.1:6500"), Instance: 0x01020304}, Game: "gmtest",
		Public: netip.MustParseAddrPort("192.0.2.1:7500"), Local: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.2:6500")},
		Origin: qr2.OldOrigin, NATNeg: true, Restored: true, Findings: master.Findings{Reached: master.ReachedDirect, Relayed: true},
		Country: "DE", Region: "3", Query: "gs1", Told: "friends", Vouched: true, First: time.Unix(1700000000, 5), Seen: time.Unix(1800000000, 0),
	}
	var r master.Report
	r.Fill(d.registry, []string{"hostname", "map"}, []string{"A server", "dm1"},
		master.Grid{Columns: []string{"player_", "score_"}, Rows: [][]string{{"Ann", "1"}, {"Bob", "2"}}}, master.Grid{Columns: []string{"team_"}, Rows: [][]string{{"red"}}})
	if err := r.Into(&s); err != nil {
		panic(err)
	}
	return s
}

func describe(s *master.Server) string {
	text := fmt.Sprint(s.Key, s.Game, s.Public, s.Local, s.Node, s.Origin, s.NATNeg, s.Restored, s.Findings, s.Country, s.Region, s.Query, s.Told, s.Vouched, s.First.UnixNano())
	for name, value := range s.Rules.All() {
		text += "|" + name + "=" + value
	}
	for _, t := range []master.Table{s.Players, s.Teams} {
		for row := range t.Rows() {
			for c := range t.Columns() {
				text += "|" + t.Names().Name(c) + "=" + t.Value(row, c)
			}
		}
	}
	return text
}

func TestItem(t *testing.T) {
	d, source := newDecoder()
	now := time.Unix(1800000002, 0)
	full := sample(d)
	text := full
	text.Origin = qr2.Origin
	source.Into(&text, source.Text([]byte("map=x;hostname=y")))
	all := map[string]master.Server{"values": full, "text": text}
	for _, o := range origins {
		s := full
		s.Origin = o
		all[o.String()] = s
	}
	for what, s := range all {
		b := appendServer(nil, &s, 7, now, true)
		one, rest, err := nextItem(b)
		if err != nil || len(rest) > 0 {
			t.Fatalf("%s: %d bytes are left, %v", what, len(rest), err)
		}
		it, err := d.item(one, "b", now.Add(time.Hour)) // another clock
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if age := now.Add(time.Hour).Sub(it.server.Seen); age != 2*time.Second || it.claim != 7 {
			t.Errorf("%s: seen %v ago, claim %d", what, age, it.claim)
		}
		s.Node = "b"
		if got, want := describe(&it.server), describe(&s); got != want {
			t.Errorf("%s:\n%s, want\n%s", what, got, want)
		}
		for n := range one { // every truncation is an error
			if _, err := d.item(one[:n], "b", now); err == nil && (what == "values" || n < len(one)-len("map=x;hostname=y")) {
				t.Fatalf("%s: an item of %d bytes of %d was accepted", what, n, len(one))
			}
		}
	}
	one, _, _ := nextItem(appendRemoved(nil, full.Key.Source))
	if it, err := d.item(one, "b", now); err != nil || !it.removed || it.server.Key.Source != full.Key.Source {
		t.Errorf("removed: %+v, %v", it, err)
	}
}

func TestLargestItem(t *testing.T) {
	d, _ := newDecoder()
	s := master.Server{Origin: qr2.Origin, Key: master.Key{Source: address(1)}, Public: address(1), Game: "gmtest"}
	rows := slices.Repeat([][]string{{string(make([]byte, 250))}}, maxRows)
	var r master.Report
	r.Fill(d.registry, []string{"a"}, []string{string(make([]byte, 65_000))}, master.Grid{Columns: []string{"p"}, Rows: rows}, master.Grid{Columns: []string{"t"}, Rows: rows})
	if err := r.Into(&s); err != nil {
		t.Fatal(err)
	}
	b := appendServer(nil, &s, 1, time.Now(), false)
	if len(b) > maxItem {
		t.Errorf("an item of %d bytes, want at most %d", len(b), maxItem)
	}
	one, _, _ := nextItem(b)
	if _, err := d.item(one, "b", time.Now()); err != nil {
		t.Error(err)
	}
}

func TestMessageOfAnotherVersion(t *testing.T) {
	b := message{kindBatch, 1}.append(nil)
	b[0]++
	if _, _, err := parseMessage(b, kindBatch, kindBatch); !errors.Is(err, errVersion) {
		t.Errorf("error %v, want %v", err, errVersion)
	}
}

// newReceiver returns a Replica that follows node b and reads its complete list.
func newReceiver(n *clustertest.Net) (*Replica, *peer) {
	registry := master.NewRegistry(master.Limits{})
	registry.SetNode("a")
	p := &peer{round: 1, wanted: make(chan struct{}, 1), touched: make(map[netip.AddrPort]struct{})}
	return &Replica{
		opt: Options{Bus: n.Bus("a"), Registry: registry, RestoreFor: func() time.Duration { return 0 }, Log: zerolog.Nop()}, metrics: newMetrics(nil),
		peers: map[string]*peer{"b": p}, completed: make(chan struct{}),
		decoder: decoder{registry: registry, origins: origins, sources: map[*master.Origin]*master.Source{qr2.Origin: registry.NewSource(textDecoder{registry})}},
	}, p
}

// A part of the list that was made before a batch, and comes after it, is older.
func TestPartAfterABatch(t *testing.T) {
	d, source := newDecoder()
	batch, part := message{kindBatch, 5}.append(nil), message{kindLast, 4}.append(nil)
	for i := range 3 {
		s := sample(d)
		s.Origin, s.Key.Source, s.Public = qr2.Origin, address(i), address(i)
		source.Into(&s, source.Text([]byte("map=old")))
		part = appendServer(part, &s, 1, time.Now(), true)
		switch i {
		case 0:
			source.Into(&s, source.Text([]byte("map=new")))
			batch = appendServer(batch, &s, 1, time.Now(), true)
		case 1:
			batch = appendRemoved(batch, s.Key.Source)
		}
	}
	r, p := newReceiver(clustertest.New(t, "a", "b"))
	r.receive("b", batch)
	if last, err := r.receivePart("b", p, part); !last || err != nil {
		t.Fatal(last, err)
	}
	if got, want := (&testNode{Registry: r.opt.Registry}).list(), "0bnew 2bold"; got != want || !p.complete {
		t.Errorf("the list is %q, complete %v, want %q", got, p.complete, want)
	}
}

// A server from another node is listed or refused, and a listed one can be sent again.
func FuzzReceive(f *testing.F) {
	d, source := newDecoder()
	s := sample(d)
	f.Add(appendServer(message{kindBatch, 1}.append(nil), &s, 1, time.Now(), true))
	source.Into(&s, source.Text([]byte("map=x")))
	f.Add(appendServer(message{kindPart, 1}.append(nil), &s, 1, time.Now(), true))
	f.Add(appendRemoved(message{kindBatch, 1}.append(nil), s.Key.Source))
	n := clustertest.New(f, "a", "b")
	f.Fuzz(func(t *testing.T, b []byte) {
		r, p := newReceiver(n)
		r.receive("b", b)
		_, _ = r.receivePart("b", p, b)
		for _, s := range r.opt.Registry.All() {
			one, _, _ := nextItem(appendServer(nil, s.Server, 1, time.Now(), true))
			it, err := r.decoder.item(one, "b", time.Now())
			if err != nil {
				t.Fatalf("what was listed cannot be sent: %v", err)
			}
			if got, want := describe(&it.server), describe(s.Server); got != want {
				t.Fatalf("sent again it is\n%q, was\n%q", got, want)
			}
		}
	})
}

// BenchmarkChange publishes and lists one change of one server.
func BenchmarkChange(b *testing.B) {
	const servers = 50_000
	{
		lim := master.Limits{PerAddr: 1 << 20, PerNet: 1 << 20}
		registry, other := master.NewRegistry(lim), master.NewRegistry(lim)
		source := registry.NewSource(textDecoder{registry})
		d := decoder{registry: other, origins: origins, sources: map[*master.Origin]*master.Source{qr2.Origin: other.NewSource(textDecoder{other})}}
		registry.SetNode("a")
		other.SetNode("b")
		at := func(i int) netip.AddrPort {
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, byte(i >> 16), byte(i >> 8)}), uint16(1000+i%256))
		}
		put := func(i, report int) {
			s := master.Server{Origin: qr2.Origin, Key: master.Key{Source: at(i)}, Game: "gmtest", Public: at(i), Seen: time.Now()}
			text := fmt.Appendf(nil, "map=%d;%0600d", report, report)
			source.Into(&s, source.Text(text))
			if err := registry.Put(s); err != nil {
				b.Fatal(err)
			}
		}
		for i := range servers {
			put(i, i)
		}
		var buf []byte
		now := time.Now()
		change := func(i int) {
			s, claim, _ := registry.Claimed(at(i))
			buf = appendServer(buf[:0], s, claim, now, true)
			one, _, _ := nextItem(buf)
			it, err := d.item(one, "a", now)
			if err != nil || !other.PutRemote(it.server, it.claim, 1) {
				b.Fatal("not listed", err)
			}
		}
		for i := range servers {
			change(i)
		}
		b.Run(fmt.Sprint(servers), func(b *testing.B) {
			i := 0
			for b.Loop() {
				i++
				change(i * 7919 % servers)
			}
		})
	}
}
