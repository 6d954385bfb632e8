package serverbrowse

import (
	"io"
	"net/netip"
	"strconv"
	"testing"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/filter"
)

func manyServers(b *testing.B, n int) *master.Registry {
	b.Helper()
	reg := master.NewRegistry(master.Limits{PerNet: 1 << 20, PerAddr: 1 << 20, Servers: 1 << 20})
	fill(b, reg, n)
	return reg
}

func benchmarkBuild(b *testing.B, n int) {
	reg := manyServers(b, n)
	names, _ := fieldNames(nineFields)
	f, err := filter.Compile("gamever='1.0' and numplayers>=0 and password<2")
	if err != nil {
		b.Fatal(err)
	}
	var pool builders
	size := 0
	b.ReportAllocs()
	for b.Loop() {
		bu := pool.get()
		v, err := bu.build(reg, viewKey{game: "gmtest", port: 6500}, names, f, nil)
		if err != nil || v.entries() != n {
			b.Fatal(v.entries(), err)
		}
		pool.put(bu)
		size = len(v.clear)
	}
	b.ReportMetric(float64(size)/float64(n), "bytes/server")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/server")
}

func BenchmarkBuild1000(b *testing.B)  { benchmarkBuild(b, 1000) }
func BenchmarkBuild50000(b *testing.B) { benchmarkBuild(b, 50_000) }

func BenchmarkServeList1000(b *testing.B) {
	reg := manyServers(b, 1000)
	s := New(Options{Config: testConfig(), Listing: part.Listing{Registry: reg, Games: testGames(b)}})
	r := request(func(r *ListRequest) { r.Fields = nineFields; r.Filter = "gamever='1.0' and numplayers>=0" })
	out := outlet{w: io.Discard, chunks: &s.chunks}
	key := gamespy.BrowseKey(testSecret, testChallenge, testChallenge[:])
	size := 0
	b.ReportAllocs()
	for b.Loop() {
		at, err := s.asked(&r, "gmtest", 6500)
		if err != nil {
			b.Fatal(err)
		}
		v, err := s.view(at)
		if err != nil {
			b.Fatal(err)
		}
		out.cipher = gamespy.NewCipher(key[:])
		if err := out.send(nil, appendFixedHeader(nil, netip.IPv4Unspecified(), 6500), v.clear); err != nil {
			b.Fatal(err)
		}
		size = len(v.clear)
	}
	b.SetBytes(int64(size))
}

func BenchmarkEncodeInfo(b *testing.B) {
	reg := manyServers(b, 1)
	s, _ := reg.Find(netip.MustParseAddrPort("20.0.0.0:6500"))
	buf := make([]byte, 0, maxMessage)
	b.ReportAllocs()
	for b.Loop() {
		buf = appendInfo(buf[:0], s, 6500, s.Public, advertise.Asker{})
	}
}

// BenchmarkUpdate50000 is one changed server among many, and one list that a
// thousand clients follow.
func BenchmarkUpdate50000(b *testing.B) {
	reg := manyServers(b, 50_000)
	s := New(Options{Config: testConfig(), Listing: part.Listing{Registry: reg, Games: testGames(b)}})
	r := request(nil)
	at, err := s.asked(&r, "gmtest", 6500)
	if err != nil {
		b.Fatal(err)
	}
	var subs []*subscriber
	for range 1000 {
		sub := &subscriber{out: make(chan *batch, maxOutbox), slow: func() { b.Error("queue full") }}
		if _, ok, err := s.feed.join(at, sub); err != nil || !ok {
			b.Fatal(ok, err)
		}
		subs = append(subs, sub)
	}
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		put(b, reg, "gmtest", "20.0.0.0:6500", []string{"hostname", strconv.Itoa(n), "numplayers", "1"}, nil)
		s.feed.update()
		for _, sub := range subs {
			<-sub.out
		}
	}
}
