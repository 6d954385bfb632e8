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
		f.putReal(i, 0)
	}
}

// putReal lists one of them, or replaces its record: round is part of what it
// reports.
func (f *fixture) putReal(i, round int) {
	f.t.Helper()
	f.put(listed{
		addr: fmt.Sprintf("10.%d.%d.%d:6500", i>>16, i>>8&255, i&255), game: []string{"gmtest", "gmother", "gmquiet"}[i%3],
		rules: []string{
			"localip0", "192.168.1.5", "localport", "6500", "natneg", "1", "gamename", "gmtest", "hostname", fmt.Sprintf("Server number %d \xa9", i),
			"gamever", "1.42", "hostport", "7777", "mapname", "DM-Deck16", "gametype", "deathmatch", "gamemode", "openplaying",
			"numplayers", fmt.Sprint((i + round) % 17), "maxplayers", "16", "password", "0", "timelimit", "20", "fraglimit", "30", "teamplay", "0",
			"dedicated", "1", "balance", "True", "adminname", "The admin", "adminemail", "admin@example.org",
		},
		players: [][]string{{"player_", "score_", "ping_"}, {"Alpha", "12", "40"}, {"Beta", "3", "88"}},
	})
}

// BenchmarkServersJSON10000 answers with all servers: "cold" when nobody asked
// before, "usual" when one in 30 servers reported something new since the last
// time, which is what a second brings. The others are parts of that.
func BenchmarkServersJSON10000(b *testing.B) {
	f := newFixture(b)
	f.fillReal(10_000)
	l := f.server.lister
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
				f.putReal(k, i)
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
			list.choose("", "no such text", byGame)
		}
	})
	b.Run("sort", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			list.choosePage(pageParams{order: tableOrder{column: colName}})
		}
	})
}

// BenchmarkPages writes each page again, out of 10,000 servers.
func BenchmarkPages(b *testing.B) {
	f := newFixture(b)
	f.fillReal(10_000)
	list := f.server.lister.now()
	list.inOrder(byPlayers)
	b.Run("list", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f.server.listPage(list, pageParams{page: 1})
		}
	})
	for name, target := range map[string]string{
		"home": "/", "server": "/servers/qr2-10.0.0.7-6500", "game": "/games/gmtest?ip=192.0.2.1", "games": "/games", "why": "/why",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if w := f.get(target); w.Code != http.StatusOK {
					b.Fatalf("GET %s: got %d", target, w.Code)
				}
			}
		})
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
