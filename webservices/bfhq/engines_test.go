package bfhq

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/pgtest"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
)

// Two nodes with one database get the same rounds at the same time: each counts once.
func TestTwoNodes(t *testing.T) {
	url := pgtest.Database(t)
	open := func(node string) storage.Store { return storetest.Database(t, url, node) }
	a := newWorldOn(t, open("a"), nil)
	b := &world{t: t, store: open("b")}
	b.start(nil)
	const rounds = 5
	var both sync.WaitGroup
	for _, w := range []*world{a, b} {
		both.Go(func() {
			for i := range rounds {
				if code, text := w.post(snapshot(i, soldier(1, 10, "kk1", "2"), soldier(2, 5, "mvns", "1", "mvks", "3"))); code != 200 {
					t.Error(code, text)
				}
				w.settle()
			}
		})
	}
	both.Wait()
	for _, w := range []*world{a, b} {
		got := w.info(1, "scor") + " " + w.info(2, "scor") + " " + w.info(2, "mvks") + " " + w.value("getleaderboard.aspx?type=score&id=overall", "score") + " " +
			w.value("getleaderboard.aspx?type=score&id=overall", "size") + " " + w.value("getleaderboard.aspx?type=kit&id=1", "killswith")
		if want := fmt.Sprint(10*rounds, 5*rounds, 3*rounds, 10*rounds, 2, 2*rounds); got != want {
			t.Errorf("totals and boards %s, want %s", got, want)
		}
	}
	if text := a.get("selectunlock.aspx?pid=1&id=11"); text[0] != 'E' {
		t.Errorf("a weapon without a rank: %q", text)
	}
	a.mustPost(snapshot(rounds, soldier(1, 500)))
	if text := a.get("selectunlock.aspx?pid=1&id=11"); text[0] != 'O' {
		t.Errorf("a weapon: %q", text)
	}
	if text := b.get("selectunlock.aspx?pid=1&id=22"); text[0] != 'E' {
		t.Errorf("a second weapon on the other node: %q", text)
	}
	a.backend.sweep(t.Context(), time.Now())
	b.backend.makeUp(t.Context(), makeUpSince)
	if got := b.info(1, "scor"); got != "550" {
		t.Errorf("score %s", got)
	}
}
