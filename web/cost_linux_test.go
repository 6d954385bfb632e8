package web

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/respawnd/respawnd/web/webtest"
)

// BenchmarkCost writes the first page and searches out of 10,000 servers with
// players, without answers from a cache. It reports processor time, which the
// load of the machine does not change much.
func BenchmarkCost(b *testing.B) {
	f := newFixture(b)
	for i := range 10_000 {
		players := [][]string{{"player_", "score_"}}
		for k := range i % 17 {
			players = append(players, []string{fmt.Sprintf("Player %d of %d", k, i), "3"})
		}
		f.Put(webtest.Listed{
			Addr: fmt.Sprintf("192.%d.%d.1:6500", i>>8, i&255), Game: []string{"gmtest", "gmother", "gmquiet"}[i%3], Players: players,
			Rules: []string{"hostname", fmt.Sprintf("Server number %d", i), "mapname", "DM-Deck16", "numplayers", fmt.Sprint(i % 17), "maxplayers", "16"},
		})
	}
	f.server.api.Snapshot()
	cost(b, "snapshot after a change", func(i int) {
		f.PutReal(i%10_000, i)
		f.server.api.Snapshot()
	})
	cost(b, "home after a change", func(i int) {
		f.PutReal(i%10_000, i)
		f.server.homePage(nil, f.server.api.Snapshot(), homeQuestion{})
	})
	list := f.server.api.Snapshot()
	cost(b, "home", func(int) { f.server.homePage(nil, list, homeQuestion{}) })
	cost(b, "players", func(int) { f.server.playersPage(nil, list, playersQuestion{page: 1}) })
	cost(b, "players/all found", func(int) { f.server.playersPage(nil, list, playersQuestion{query: "player", page: 500}) })
	cost(b, "players/some", func(int) { f.server.playersPage(nil, list, playersQuestion{query: "of 777", page: 1}) })
	for what, p := range map[string]pageParams{
		"list": {}, "some": {query: "number 77"}, "one": {query: "number 7777"}, "none": {query: "nothing has this"}, "all": {query: "server"},
		"player": {query: "player 3 of 77"}, "address": {query: "192.3.4."}, "name": {order: tableOrder{column: colName}},
	} {
		p.page = 1
		cost(b, "list/"+what, func(int) { f.server.listPage(nil, list, p) })
	}
}

// cost runs a benchmark that reports processor time.
func cost(b *testing.B, name string, run func(i int)) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		began := processorTime(b)
		n := 0
		for ; b.Loop(); n++ {
			run(n)
		}
		b.ReportMetric(float64((processorTime(b)-began).Microseconds())/1000/float64(n), "cpu-ms/op")
	})
}

// processorTime returns the time that this process took, in the system too.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
