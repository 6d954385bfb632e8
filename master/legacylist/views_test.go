package legacylist

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/master"
)

func always(*view) bool { return true }

// sized returns a build of a list of n bytes.
func sized(n int) func() (*view, error) {
	return func() (*view, error) { return &view{text: make([]byte, n)}, nil }
}

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
		v, err := f.srv.view(game, &r)
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
	if got := f.value(t, "respawnd_legacylist_view_builds_total", ""); got != 3 {
		t.Errorf("%d lists built, want 3", got)
	}
}

func TestListIsBuiltAnewWhenItsGameChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		game, _ := testGames(t).Lookup("gmtest")
		rows := func(mode Mode) int {
			v, err := f.srv.view(game, &inquiry{mode: mode})
			if err != nil {
				t.Fatal(err)
			}
			return v.rows
		}
		for i := range 5 { // time stands still: building took no time
			if got := rows(Plain); got != i {
				t.Errorf("%d servers listed, want %d", got, i)
			}
			put(t, f.reg, "gmtest", fmt.Sprintf("192.0.2.%d:6500", i), master.FromQR2)
		}
		rows(Groups)
		built := f.value(t, "respawnd_legacylist_view_builds_total", "")
		time.Sleep(maxHold - time.Millisecond)
		if rows(Groups); f.value(t, "respawnd_legacylist_view_builds_total", "") != built {
			t.Errorf("rooms built anew within %v", maxHold)
		}
		time.Sleep(time.Millisecond)
		if rows(Groups); f.value(t, "respawnd_legacylist_view_builds_total", "") != built+1 {
			t.Errorf("rooms not built anew after %v", maxHold)
		}
	})
}

func TestOneBuildsWhileOthersWait(t *testing.T) {
	v := newViews(newMetrics(nil), 10, 1<<20)
	var builds int // changed by one at a time, or the race detector tells
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := v.get(viewKey{game: "a"}, always, func() (*view, error) { builds++; return sized(10)() })
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if builds != 1 {
		t.Errorf("%d builds, want 1", builds)
	}
}

func TestRefusedListIsNotTriedAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newViews(newMetrics(nil), 10, 1<<20)
		builds := 0
		ask := func() error {
			_, err := v.get(viewKey{game: "a"}, always, func() (*view, error) { builds++; return nil, endedExpensive })
			return err
		}
		for range 3 {
			if err := ask(); !errors.Is(err, endedExpensive) {
				t.Errorf("get = %v, want %v", err, endedExpensive)
			}
		}
		time.Sleep(refuseFor)
		_ = ask()
		if builds != 2 {
			t.Errorf("%d builds, want 2", builds)
		}
	})
}

func TestKeptListsAreBounded(t *testing.T) {
	get := func(v *views, game string, n int) *view {
		t.Helper()
		w, err := v.get(viewKey{game: game}, always, sized(n))
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	t.Run("in number", func(t *testing.T) {
		v := newViews(newMetrics(nil), 3, 1<<20)
		a := get(v, "a", 1)
		get(v, "b", 1)
		get(v, "c", 1)
		get(v, "a", 1)
		get(v, "d", 1) // b goes
		if len(v.slots) != 3 || v.bytes != 3 || get(v, "a", 1) != a {
			t.Errorf("%d lists of %d bytes, want 3 of 3 with the one used again", len(v.slots), v.bytes)
		}
		if _, ok := v.slots[viewKey{game: "b"}]; ok {
			t.Error("the one unused for longest is still there")
		}
	})
	t.Run("in bytes", func(t *testing.T) {
		v := newViews(newMetrics(nil), 100, 1000)
		get(v, "a", 400)
		get(v, "b", 600)
		if v.bytes != 1000 || len(v.slots) != 2 {
			t.Errorf("%d lists of %d bytes, want 2 of 1000", len(v.slots), v.bytes)
		}
		get(v, "c", 1)
		if v.bytes != 601 || len(v.slots) != 2 {
			t.Errorf("%d lists of %d bytes, want 2 of 601", len(v.slots), v.bytes)
		}
		get(v, "huge", 5000) // the one used last stays
		if v.bytes != 5000 || len(v.slots) != 1 {
			t.Errorf("%d lists of %d bytes, want the huge one", len(v.slots), v.bytes)
		}
		get(v, "a", 1)
		if v.bytes != 1 || len(v.slots) != 1 {
			t.Errorf("%d lists of %d bytes, want 1 of 1", len(v.slots), v.bytes)
		}
	})
}

func TestListsThatAreBeingSentAreBounded(t *testing.T) {
	v := newViews(newMetrics(nil), 10, 1<<20)
	half, _ := sized(maxSendingBytes / 2)()
	rest, _ := sized(maxSendingBytes - maxSendingBytes/2)()
	more, _ := sized(1)()
	for _, w := range []*view{half, rest, half} {
		if err := v.begin(w); err != nil {
			t.Fatalf("begin: %v", err)
		}
	}
	if err := v.begin(more); !errors.Is(err, endedBusy) {
		t.Errorf("begin of a byte too much = %v, want %v", err, endedBusy)
	}
	v.end(half)
	if err := v.begin(more); !errors.Is(err, endedBusy) {
		t.Errorf("begin while the first is sent once more = %v, want %v", err, endedBusy)
	}
	v.end(half)
	if err := v.begin(more); err != nil {
		t.Errorf("begin after the first was sent = %v, want nil", err)
	}
	v.end(more)
	v.end(rest)
	if got := v.sending.Load(); got != 0 {
		t.Errorf("%d bytes are being sent, want 0", got)
	}
}
