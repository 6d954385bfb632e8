package legacylist

import (
	"fmt"
	"testing"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/master"
)

// sink copies the written bytes, as a system does.
type sink struct{ buf [64 << 10]byte }

func (s *sink) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		rest = rest[copy(s.buf[:], rest):]
	}
	return len(p), nil
}

const manyServers = 10_000

func benchSession(b *testing.B) *session {
	b.Helper()
	reg := master.NewRegistry(master.Limits{PerNet: 1 << 20, PerAddr: 1 << 20, Servers: 1 << 20})
	fill(b, reg, manyServers)
	s := New(Options{Listing: part.Listing{Registry: reg, Games: testGames(b)}})
	return &session{server: s, conn: new(netserve.Conn), out: new(sink), challenge: "ABCDEF"}
}

// BenchmarkList is the whole answer to a request for 10,000 servers. Compare it
// with BenchmarkCopies and BenchmarkBare.
func BenchmarkList(b *testing.B) {
	for enctype := range 3 {
		b.Run(fmt.Sprintf("enctype=%d", enctype), func(b *testing.B) {
			x := benchSession(b)
			r := inquiry{
				introduced: true, engine: "gmtest", enctype: fmt.Sprint(enctype), listed: true, mode: Compact, game: "gmtest",
				validate: string(gamespy.AppendValidate(nil, enctype, testSecret, x.challenge)),
			}
			b.SetBytes(manyServers * compactSize)
			b.ReportAllocs()
			for b.Loop() {
				if err := x.list(&r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCopies is three copies of the bytes of such a list.
func BenchmarkCopies(b *testing.B) {
	list := make([]byte, manyServers*compactSize)
	var to sink
	b.SetBytes(int64(len(list)))
	for b.Loop() {
		for range 3 {
			_, _ = to.Write(list)
		}
	}
}

// BenchmarkBare is the cipher alone, for as many bytes.
func BenchmarkBare(b *testing.B) {
	list := make([]byte, manyServers*compactSize)
	b.Run("enctype=1", func(b *testing.B) {
		var noise [gamespy.Enctype1Noise]byte
		b.SetBytes(int64(len(list)))
		for b.Loop() {
			e, _ := gamespy.NewEnctype1("ABCDEF", len(list), &noise)
			e.Encode(list, list)
		}
	})
	b.Run("enctype=2", func(b *testing.B) {
		b.SetBytes(int64(len(list)))
		for b.Loop() {
			tree := gamespy.NewTreeCipher(make([]byte, gamespy.Enctype2Key))
			tree.XOR(list, list)
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	for name, r := range map[string]inquiry{
		"cmp":           {mode: Compact},
		"plain":         {},
		"info2":         {mode: Info},
		"cmp, filtered": {mode: Compact, filter: "(numplayers > 0)"},
	} {
		b.Run(name, func(b *testing.B) {
			x := benchSession(b)
			f, err := x.server.compile(r.filter, "gmtest")
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := buildServers(x.server.opt.Registry, viewKey{game: "gmtest", mode: r.mode, filter: r.filter}, f); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/manyServers, "ns/server")
		})
	}
}
