package saved

import (
	"bytes"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/codmaster"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/idmaster"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/nwmaster"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/q2master"
	"github.com/respawnd/respawnd/q3master"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/qwmaster"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
	"github.com/respawnd/respawnd/utmaster"
	"github.com/respawnd/respawnd/valvemaster"
	"github.com/respawnd/respawnd/zanmaster"
)

// testGame is in every catalogue.
const testGame = "gmtest"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// testList is a List with the values that tests check.
type testList struct {
	*List
	store   *records.Store
	reports *master.Source
}

// newList returns a List on a store that other lists of the test may have used
// before.
func newList(t testing.TB, path string) *testList {
	t.Helper()
	store := storetest.File(t, path)
	return listOn(t, store)
}

// listOn returns a List on a store.
func listOn(t testing.TB, store *records.Store) *testList {
	t.Helper()
	catalogue := &operator.Catalogue{Embedded: games.Embedded{Games: configs.GameTable, Rooms: configs.RoomTable, Facts: configs.Games, Editions: configs.EditionTable}, Store: store}
	must(t, catalogue.Load(t.Context(), ""))
	l := &testList{store: store, List: &List{
		Store: store, Verdicts: verdicts.NewLog(zerolog.Nop(), 0), Games: catalogue.Catalog(), Log: zerolog.Nop(),
		Noting: (*master.Origin).String, Banned: func(*master.Origin, netip.Addr) bool { return false },
	}}
	l.fill(master.Limits{Servers: 1 << 20, PerAddr: 1 << 20, PerNet: 1 << 20})
	return l
}

// fill gives d an empty registry.
func (d *testList) fill(limits master.Limits) {
	d.Registry = master.NewRegistry(limits)
	d.reports = d.Registry.NewSource(qr2.NewDecoder(d.Registry))
	d.Origins = master.Origins{qr2.Origin, qr2.OldOrigin, valvemaster.Origin, zanmaster.Origin, q3master.Origin, utmaster.Origin, idmaster.Origin, codmaster.Origin, nwmaster.Origin, q2master.Origin, qwmaster.Origin, master.Static, master.Found, master.Federated}
	d.Sources = map[*master.Origin]*master.Source{qr2.Origin: d.reports}
}

// hostReport is a report of a server with 24 players, about 1.3 kB.
func hostReport(n int) []byte {
	var b []byte
	for i := range 30 {
		b = gamespy.AppendPair(b, fmt.Sprint("rule_name_", i), fmt.Sprint("value ", i*n))
	}
	b = gamespy.AppendEnd(gamespy.AppendPair(b, "hostname", fmt.Sprint("Server ", n)))
	rows := make([][]string, 24)
	for i := range rows {
		rows[i] = []string{fmt.Sprint("player ", n+i), "12", "45", "1"}
	}
	b, err := gamespy.AppendTable(b, []string{"player_", "score_", "ping_", "team_"}, rows)
	if err != nil {
		panic(err)
	}
	return append(b, 0, 0, 0)
}

// host lists a server, or replaces its report.
func (d *testList) host(t testing.TB, n, report int) {
	t.Helper()
	at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, byte(n >> 16), byte(n >> 8)}), uint16(1000+n%256))
	s := master.Server{Origin: qr2.Origin, Key: master.Key{Source: at, Instance: 7}, Game: testGame, Public: at, Seen: time.Now()}
	d.reports.Into(&s, d.reports.Text(hostReport(report)))
	if err := d.Registry.Put(s); err != nil {
		t.Fatal(err)
	}
}

// names returns the names of the listed servers.
func (d *testList) names() (all []string) {
	for _, s := range d.Registry.All() {
		name, _ := s.Field("hostname")
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func TestSaveWritesOnlyChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "respawnd.db")
	d := newList(t, path)
	for n := range 50 {
		d.host(t, n, n)
	}
	written := func(d *testList) int {
		t.Helper()
		list, revision := d.Registry.Records()
		saved, err := d.store.SaveServers(t.Context(), d.listed(list))
		if err != nil || saved.Servers != len(list) {
			t.Fatalf("SaveServers() = %+v, %v, want %d servers", saved, err, len(list))
		}
		d.saved = revision
		return saved.Written
	}
	if n := written(d); n != 50 {
		t.Errorf("%d records written first, want 50", n)
	}
	if n := written(d); n != 0 {
		t.Errorf("%d records written although nothing changed, want 0", n)
	}
	d.host(t, 3, 1003)
	d.Registry.Report(master.Key{Source: d.Registry.All()[0].Key.Source, Instance: 7}, master.Findings{Reached: master.ReachedDirect})
	hidden := d.Registry.All()[20]
	d.Registry.Hide(hidden.Public)
	if n := written(d); n < 2 || n > 3 {
		t.Errorf("%d records written after 3 changes", n)
	}
	next := *hidden.Server
	d.reports.Into(&next, d.reports.Text(hostReport(2000)))
	d.Registry.Update(&next)
	if n := written(d); n != 1 {
		t.Errorf("%d records written after a hidden server reported, want 1", n)
	}
	d.Registry.Unhide(hidden.Public)
	want := d.names()
	must(t, d.store.Close())

	d = newList(t, path)
	must(t, d.Restore(t.Context(), 90*time.Second, time.Minute))
	if n := written(d); n != 0 {
		t.Errorf("%d restored records written again, want 0", n)
	}
	if got := d.names(); !slices.Equal(got, want) {
		t.Errorf("restored are\n%q, want\n%q", got, want)
	}
}

// The first list after a start does not parse what was restored.
func TestRestoreReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "respawnd.db")
	d := newList(t, path)
	for n := range 3 {
		d.host(t, n, n)
	}
	must(t, d.save(t.Context()))
	must(t, d.store.Close())
	d = newList(t, path)
	must(t, d.Restore(t.Context(), 90*time.Second, time.Minute))
	for _, s := range d.Registry.All() {
		if s.IsUnread() {
			t.Errorf("the report of %v was not parsed", s.Public)
		}
	}
	if n := d.Registry.Len(); n != 3 {
		t.Errorf("%d servers restored, want 3", n)
	}
}

// A killed daemon has saved a server as it was at the last save, up to save_every ago.
func TestRestoreAfterAKill(t *testing.T) {
	const window, saveEvery = 90 * time.Second, time.Minute
	for _, c := range []struct {
		name string
		down time.Duration // from the last report that was saved
		want int
	}{
		{"at the edge", window + saveEvery, 1},
		{"too long ago", window + saveEvery + time.Nanosecond, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "respawnd.db")
				d := newList(t, path)
				d.host(t, 1, 1)
				must(t, d.save(t.Context()))
				must(t, d.store.Close())
				time.Sleep(c.down)
				d = newList(t, path)
				must(t, d.Restore(t.Context(), window, saveEvery))
				if n := d.Registry.Len(); n != c.want {
					t.Errorf("%d servers restored, want %d", n, c.want)
				}
				must(t, d.store.Close())
			})
		})
	}
}

// BenchmarkSaveList saves a list of full reports: all of it, 2 in 100, and none.
func BenchmarkSaveList(b *testing.B) {
	for _, servers := range []int{50_000, 200_000} {
		for name, every := range map[string]int{"all": 1, "2 in 100": 50, "none": servers + 1} {
			b.Run(fmt.Sprint(servers, "/", name), func(b *testing.B) { benchmarkSave(b, servers, every) })
		}
	}
}

func benchmarkSave(b *testing.B, servers, every int) {
	d := newList(b, filepath.Join(b.TempDir(), "respawnd.db"))
	for n := range servers {
		d.host(b, n, n)
	}
	for b.Loop() {
		b.StopTimer()
		for n := every; n <= servers; n += every {
			d.host(b, n-1, n)
		}
		d.compact(b.Context())
		b.StartTimer()
		if err := d.save(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// A daemon whose last save takes too long stops without an error: the list that
// was saved before stays.
func TestLastSaveIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		d := newList(t, filepath.Join(t.TempDir(), "respawnd.db"))
		d.Log = zerolog.New(&lines)
		d.host(t, 1, 1)
		must(t, d.save(t.Context()))
		release, ended := make(chan struct{}), make(chan struct{})
		go func() { // holds the list until the test is over
			defer close(ended)
			_, _ = d.store.SaveServers(t.Context(), func(func(storage.ListedServer) bool) { <-release })
		}()
		synctest.Wait()
		began := time.Now()
		if err := d.SaveLast(); err != nil || time.Since(began) != lastSave {
			t.Errorf("SaveLast() = %v after %v, want nil after %v", err, time.Since(began), lastSave)
		}
		if !strings.Contains(lines.String(), "were not saved") {
			t.Errorf("the log says %q, want that changes were not saved", &lines)
		}
		close(release)
		<-ended
		must(t, d.store.Close())
	})
}
