package api

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/webtest"
)

// TestSnapshotsFollowTheList changes the list in every way and compares each snapshot,
// made from the one before, with one that is made from nothing.
func TestSnapshotsFollowTheList(t *testing.T) {
	f := newFixture(t)
	random := rand.New(rand.NewPCG(1, 2))
	at := func(i int) string { return fmt.Sprintf("192.0.2.%d:%d", i%200, 6500+i/200) }
	put := func(i int) {
		f.Put(webtest.Listed{Addr: at(i), Game: []string{"gmtest", "gmother", "gmquiet"}[i%3], Rules: []string{
			"hostname", fmt.Sprint("Server ", random.IntN(50)), "numplayers", fmt.Sprint(random.IntN(9)), "maxplayers", "16",
		}})
	}
	for i := range 300 {
		put(i)
	}
	describe := func(rows []*Row) (out []string) {
		for _, r := range rows {
			out = append(out, fmt.Sprint(r.Public, r.Name, r.Count, r.Game))
		}
		return out
	}
	for round := range 60 {
		list := f.api.Snapshot()
		if round%3 > 0 { // not every snapshot has the order by players
			list.inOrder(ByPlayers)
		}
		for range random.IntN(6) {
			put(random.IntN(320))
		}
		for range random.IntN(4) {
			a := addr(at(random.IntN(320)))
			f.api.lister.registry.RemoveFunc(func(s *master.Server) bool { return s.Public == a })
		}
		got, want := f.api.Snapshot(), f.api.lister.build(nil)
		for _, o := range []Order{ByGame, ByPlayers, ByName} {
			if a, b := describe(got.inOrder(o)), describe(want.inOrder(o)); !slices.Equal(a, b) {
				t.Fatalf("round %d, order %d: %d rows differ from %d rows made from nothing", round, o, len(a), len(b))
			}
		}
		for i, r := range got.Rows {
			if int(r.at) != i {
				t.Fatalf("row %d says that it is row %d", i, r.at)
			}
		}
	}
}
