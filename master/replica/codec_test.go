package replica

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
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
		it, err := d.item(b, "b", now.Add(time.Hour)) // another clock
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if age := now.Add(time.Hour).Sub(it.server.Seen); age != 2*time.Second || it.claim != 7 {
			t.Errorf("%s: seen %v ago, claim %d", what, age, it.claim)
		}
		s.Node = "b"
		if got, want := describe(it.server), describe(&s); got != want {
			t.Errorf("%s:\n%s, want\n%s", what, got, want)
		}
		for n := range b { // every truncation is an error
			if _, err := d.item(b[:n], "b", now); err == nil && (what == "values" || n < len(b)-len("map=x;hostname=y")) {
				t.Fatalf("%s: an item of %d bytes of %d was accepted", what, n, len(b))
			}
		}
	}
	if a, err := parseAddr(appendAddr(nil, full.Key.Source)); err != nil || a != full.Key.Source {
		t.Errorf("key %v, %v", a, err)
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
	if _, err := d.item(b, "b", time.Now()); err != nil {
		t.Error(err)
	}
}

// A server from another node is listed or refused, and a listed one can be sent again.
func FuzzReceive(f *testing.F) {
	d, source := newDecoder()
	s := sample(d)
	f.Add(appendServer(nil, &s, 1, time.Now(), true))
	source.Into(&s, source.Text([]byte("map=x")))
	f.Add(appendServer(nil, &s, 1, time.Now(), true))
	bus := clustertest.New(f, "a").Bus("a")
	f.Fuzz(func(t *testing.T, b []byte) {
		d, source := newDecoder()
		r := New(Options{Bus: bus, Registry: d.registry, Origins: origins, Sources: map[*master.Origin]*master.Source{qr2.Origin: source}})
		it, err := r.decoder.item(b, "b", time.Now())
		if err != nil {
			return
		}
		r.changed(cluster.Change[netip.AddrPort, listed]{Node: "b", Value: it})
		for _, s := range d.registry.All() {
			it, err := d.item(appendServer(nil, s.Server, 1, time.Now(), true), "b", time.Now())
			if err != nil {
				t.Fatalf("what was listed cannot be sent: %v", err)
			}
			if got, want := describe(it.server), describe(s.Server); got != want {
				t.Fatalf("sent again it is\n%q, was\n%q", got, want)
			}
		}
		r.changed(cluster.Change[netip.AddrPort, listed]{Node: "b", Old: it, Had: true, Removed: true})
		if n := d.registry.Len(); n != 0 {
			t.Fatalf("%d servers are left", n)
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
			it, err := d.item(buf, "a", now)
			if err != nil || !other.PutRemote(it.server, it.claim) {
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
