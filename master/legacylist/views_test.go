package legacylist

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/master/views"
	"github.com/respawnd/respawnd/qr2"
)

func TestRequestsForTheSameShareAList(t *testing.T) {
	f := start(t, nil)
	three(t, f.reg)
	view := func(change func(*inquiry)) *view {
		t.Helper()
		r := inquiry{listed: true, mode: Compact, filter: "numplayers>0"}
		if change != nil {
			change(&r)
		}
		game, _ := testGames(t).Lookup("gmtest")
		v, err := f.srv.view(game, &r, advertise.Asker{})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := view(nil)
	if again := view(func(r *inquiry) { r.filter = " ( numplayers > 0 ) " }); again != first {
		t.Error("the same filter in other words got a list of its own")
	}
	for name, change := range map[string]func(*inquiry){
		"mode":   func(r *inquiry) { r.mode = Plain },
		"filter": func(r *inquiry) { r.filter = "numplayers>1" },
	} {
		if other := view(change); other == first {
			t.Errorf("another %s got the same list", name)
		}
	}
	if got := metrictest.Value(t, f.metrics, "respawnd_legacylist_view_builds_total"); got != 3 {
		t.Errorf("%v lists built, want 3", got)
	}
}

func TestSizeOfAListIsTheMemoryThatItTakes(t *testing.T) {
	f := start(t, nil)
	fill(t, f.reg, 100)
	game, _ := testGames(t).Lookup("gmtest")
	for _, mode := range []Mode{Plain, Compact, Info, Groups} {
		v, err := f.srv.view(game, &inquiry{mode: mode}, advertise.Asker{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := v.Size(), cap(v.Bytes); got != want {
			t.Errorf("mode %q: Size() = %d, want %d", mode, got, want)
		}
	}
}

func TestListIsRebuiltAfterAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		game, _ := testGames(t).Lookup("gmtest")
		rows := func(mode Mode) int {
			v, err := f.srv.view(game, &inquiry{mode: mode}, advertise.Asker{})
			if err != nil {
				t.Fatal(err)
			}
			return v.Rows
		}
		for i := range 5 { // time stands still: building took no time
			if got := rows(Plain); got != i {
				t.Errorf("%d servers listed, want %d", got, i)
			}
			put(t, f.reg, "gmtest", fmt.Sprintf("192.0.2.%d:6500", i), qr2.Origin)
		}
		rows(Groups)
		built := metrictest.Value(t, f.metrics, "respawnd_legacylist_view_builds_total")
		time.Sleep(views.MaxHold - time.Millisecond)
		if rows(Groups); metrictest.Value(t, f.metrics, "respawnd_legacylist_view_builds_total") != built {
			t.Errorf("rooms rebuilt within %v", views.MaxHold)
		}
		time.Sleep(time.Millisecond)
		if rows(Groups); metrictest.Value(t, f.metrics, "respawnd_legacylist_view_builds_total") != built+1 {
			t.Errorf("rooms not rebuilt after %v", views.MaxHold)
		}
	})
}
