package web

import (
	"net/http"
	"testing"
)

// BenchmarkPages writes each page again, out of 10,000 servers.
func BenchmarkPages(b *testing.B) {
	f := newFixture(b)
	f.FillReal(10_000)
	list := f.server.api.Snapshot()
	choosePage(list, pageParams{})
	b.Run("list", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f.server.listPage(nil, list, pageParams{page: 1})
		}
	})
	for name, target := range map[string]string{
		"home": "/", "server": "/servers/qr2-10.0.0.7-6500", "game": "/games/gmtest?ip=192.0.2.1", "games": "/games", "why": "/why",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if w := f.Get(target); w.Code != http.StatusOK {
					b.Fatalf("GET %s: got %d", target, w.Code)
				}
			}
		})
	}
	b.Run("sort", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			choosePage(list, pageParams{order: tableOrder{column: colName}})
		}
	})
}
