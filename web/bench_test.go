package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// fillReal lists n servers that report what a server of its time does.
func (f *fixture) fillReal(n int) {
	f.t.Helper()
	for i := range n {
		f.put(listed{
			addr: fmt.Sprintf("10.%d.%d.%d:6500", i>>16, i>>8&255, i&255), game: []string{"gmtest", "gmother", "gmquiet"}[i%3],
			rules: []string{
				"localip0", "192.168.1.5", "localport", "6500", "natneg", "1", "gamename", "gmtest", "hostname", fmt.Sprintf("Server number %d \xa9", i),
				"gamever", "1.42", "hostport", "7777", "mapname", "DM-Deck16", "gametype", "deathmatch", "gamemode", "openplaying",
				"numplayers", fmt.Sprint(i % 17), "maxplayers", "16", "password", "0", "timelimit", "20", "fraglimit", "30", "teamplay", "0",
				"dedicated", "1", "balance", "True", "adminname", "The admin", "adminemail", "admin@example.org",
			},
			players: [][]string{{"player_", "score_", "ping_"}, {"Alpha", "12", "40"}, {"Beta", "3", "88"}},
		})
	}
}

func BenchmarkServersJSON10000(b *testing.B) {
	f := newFixture(b)
	f.fillReal(10_000)
	all := listParams{limit: MaxLimit}
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.SetBytes(int64(len(encodeList(f.server.lister.build(), all, maxAnswer))))
		}
	})
	list := f.server.lister.build()
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.SetBytes(int64(len(encodeList(list, all, maxAnswer))))
		}
	})
	b.Run("snapshot", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f.server.lister.build()
		}
	})
	b.Run("search", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			list.choose("", "no such text", byGame)
		}
	})
}

func BenchmarkPage500(b *testing.B) {
	f := newFixture(b)
	f.fillReal(10_000)
	list := f.server.lister.build()
	b.ReportAllocs()
	for b.Loop() {
		f.server.listPage(list, pageParams{page: 1})
	}
}

// sink takes an answer and keeps nothing.
type sink struct{ header http.Header }

func (s sink) Header() http.Header       { return s.header }
func (sink) WriteHeader(int)             {}
func (sink) Write(p []byte) (int, error) { return len(p), nil }

// What a request costs that another one like it went before, up to the socket.
func BenchmarkServersShared10000(b *testing.B) {
	f := newFixture(b)
	f.fillReal(10_000)
	r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/api/v1/servers?limit=10000", nil)
	b.ReportAllocs()
	for b.Loop() {
		f.server.Handler().ServeHTTP(sink{http.Header{}}, r)
	}
}
