package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkServersJSON10000 answers with all servers: "cold" for the first request,
// "usual" when one in 30 servers reported something new since the last time, as in one
// second. The others are parts of that.
func BenchmarkServersJSON10000(b *testing.B) {
	f := newFixture(b)
	f.FillReal(10_000)
	l := f.api.lister
	all := listParams{limit: MaxLimit}
	b.Run("cold", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.SetBytes(int64(len(encodeList(l.build(nil), all, maxAnswer))))
		}
	})
	b.Run("usual", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			b.StopTimer()
			for k := i % 30; k < 10_000; k += 30 {
				f.PutReal(k, i)
			}
			i++
			b.StartTimer()
			b.SetBytes(int64(len(encodeList(l.now(), all, maxAnswer))))
		}
	})
	list := l.build(l.now())
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.SetBytes(int64(len(encodeList(list, all, maxAnswer))))
		}
	})
	b.Run("snapshot", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l.build(list)
		}
	})
	b.Run("search", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			list.Choose("", "no such text", ByGame)
		}
	})
}

// sink takes an answer and keeps nothing.
type sink struct{ header http.Header }

func (s sink) Header() http.Header       { return s.header }
func (sink) WriteHeader(int)             {}
func (sink) Write(p []byte) (int, error) { return len(p), nil }

// The cost of a request after another one like it, up to the socket.
func BenchmarkServersShared10000(b *testing.B) {
	f := newFixture(b)
	f.FillReal(10_000)
	r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/api/v1/servers?limit=10000", nil)
	b.ReportAllocs()
	for b.Loop() {
		f.Handler.ServeHTTP(sink{http.Header{}}, r)
	}
}

// BenchmarkChurn50000 measures the cost of requests in a second with 1,000 changes of
// 50,000 servers: each answer is that of a new snapshot, with the rest from the one
// before.
func BenchmarkChurn50000(b *testing.B) {
	f := newFixture(b)
	f.FillReal(50_000)
	l := f.api.lister
	list := l.now()
	next := 0
	change := func() {
		for range 500 {
			f.PutReal(next%50_000, next)
			next += 37
		}
	}
	for name, p := range map[string]listParams{"first 100": {limit: 100}, "players": {limit: 100, order: ByPlayers}, "all": {limit: MaxLimit}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				change()
				b.StartTimer()
				list = l.build(list)
				encodeList(list, p, maxAnswer)
			}
		})
	}
}
