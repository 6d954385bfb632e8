package played

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

func newTable(t *testing.T) (*Table, storage.Store) {
	t.Helper()
	store := storetest.New(t)
	return New(store, nil), store
}

// report is one that counts.
func report(reporter, step string) storage.PlayReport {
	return storage.PlayReport{
		PlayReportID: storage.PlayReportID{Day: "2026-11-28", Game: "swat4", Reporter: reporter},
		Copy:         "gog", Step: step, Services: []string{"qr2"},
	}
}

func add(t *testing.T, table *Table, p storage.PlayReport) {
	t.Helper()
	if err := table.Add(t.Context(), p); err != nil {
		t.Fatalf("Add(%+v) = %v", p, err)
	}
}

func wantSum(t *testing.T, what string, table *Table, copies []string, want games.Reported) {
	t.Helper()
	if diff := cmp.Diff(want, table.Of("swat4")(copies)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestReportsAreSummed(t *testing.T) {
	table, store := newTable(t)
	first := report("a", storage.Played)
	first.Version = "1.1"
	add(t, table, first)
	add(t, table, first) // again on the same day: it is one
	disc := report("b", storage.Played)
	disc.Copy, disc.Met = "retail", true
	add(t, table, disc)
	gog := games.Reported{Times: 1, Last: "2026-11-28", Version: "1.1"}
	wantSum(t, "GOG", table, []string{"gog"}, gog)
	wantSum(t, "discs", table, []string{"retail"}, games.Reported{Times: 1, Last: "2026-11-28", Met: true})
	wantSum(t, "both", table, []string{"retail", "gog"}, games.Reported{Times: 2, Last: "2026-11-28", Version: "1.1", Met: true})
	wantSum(t, "any", table, nil, games.Reported{Times: 2, Last: "2026-11-28", Version: "1.1", Met: true})
	wantSum(t, "Steam", table, []string{"steam"}, games.Reported{})

	again := New(store, nil)
	if err := again.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantSum(t, "GOG after a restart", again, []string{"gog"}, gog)

	disc.Struck = true
	if err := table.Write(t.Context(), disc); err != nil {
		t.Fatal(err)
	}
	wantSum(t, "discs without the one that is struck out", table, []string{"retail"}, games.Reported{})
	if got := len(table.List("swat4")); got != 2 {
		t.Errorf("the list has %d reports, want 2", got)
	}
	disc.Struck = false
	add(t, table, disc)
	wantSum(t, "one that was struck out and is sent again", table, []string{"retail"}, games.Reported{})
}

func TestLastReportsThatStopped(t *testing.T) {
	table, _ := newTable(t)
	add(t, table, report("a", storage.Played))
	for i := range lastReports - 1 {
		wantSum(t, fmt.Sprintf("after %d", i), table, nil, games.Reported{Times: 1, Last: "2026-11-28"})
		add(t, table, report(fmt.Sprint("b", i), "signed in"))
	}
	wantSum(t, "most stopped", table, nil, games.Reported{Times: 1, Last: "2026-11-28", StoppedAt: "signed in"})
	add(t, table, report("c", storage.Played))
	add(t, table, report("d", storage.Played))
	wantSum(t, "it works again", table, nil, games.Reported{Times: 3, Last: "2026-11-28"})
}

// TestForgedReports: what no service saw changes nothing that is said of a game.
func TestForgedReports(t *testing.T) {
	table, _ := newTable(t)
	kept := 0
	for i := range 10_000 {
		p := report(fmt.Sprint(i), storage.PlaySteps()[i%len(storage.PlaySteps())])
		p.Services = nil
		switch err := table.Add(t.Context(), p); {
		case err == nil:
			kept++
		case !errors.Is(err, ErrUnseen) && !errors.Is(err, ErrTooMany):
			t.Fatal(err)
		}
	}
	if kept != MaxUnseen || len(table.List("")) != kept {
		t.Errorf("%d were kept and %d are listed, want %d", kept, len(table.List("")), MaxUnseen)
	}
	wantSum(t, "forged reports", table, nil, games.Reported{})
	p := report("true", storage.Played)
	add(t, table, p)
	wantSum(t, "a true one among them", table, nil, games.Reported{Times: 1, Last: "2026-11-28"})
}

func TestDayIsFull(t *testing.T) {
	table, _ := newTable(t)
	for i := range MaxPerDay {
		add(t, table, report(fmt.Sprint(i), storage.Played))
	}
	if err := table.Add(t.Context(), report("more", storage.Played)); !errors.Is(err, ErrTooMany) {
		t.Errorf("beyond the limit of a day: %v", err)
	}
	add(t, table, report("0", "lobby")) // in place of the first
	other := report("more", storage.Played)
	other.Day = "2026-11-29"
	add(t, table, other)
}

// TestFullStore: the oldest day leaves for a new report.
func TestFullStore(t *testing.T) {
	store := &fullStore{Store: storetest.New(t)}
	table := New(store, nil)
	for i, day := range []string{"2026-11-01", "2026-11-02", "2026-11-03"} {
		p := report(fmt.Sprint(i), storage.Played)
		p.Day = day
		add(t, table, p)
	}
	store.most = 3
	p := report("new", storage.Played)
	add(t, table, p)
	var days []string
	for _, p := range table.List("") {
		days = append(days, p.Day)
	}
	if want := "2026-11-02 2026-11-03 2026-11-28"; strings.Join(days, " ") != want {
		t.Errorf("days %q, want %q", days, want)
	}
}

func TestOldReportsLeave(t *testing.T) {
	table, store := newTable(t)
	add(t, table, report("a", storage.Played))
	day := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		now  time.Time
		want int
	}{{day.Add(KeptFor - 24*time.Hour), 1}, {day.Add(KeptFor), 1}, {day.Add(KeptFor + 24*time.Hour), 0}} {
		if err := table.Sweep(t.Context(), step.now); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, err := range store.PlayReports(t.Context()) {
			if n++; err != nil {
				t.Fatal(err)
			}
		}
		if n != step.want || len(table.List("")) != step.want {
			t.Errorf("at %v: %d stored, %d listed, want %d", step.now, n, len(table.List("")), step.want)
		}
	}
}

func TestReporterChangesEachDay(t *testing.T) {
	mac := func(b []byte) []byte { return append([]byte("key "), b...) }
	long := func(b []byte) []byte { return append(mac(b), make([]byte, 32)...)[len("key play report\x00"):] }
	a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	of := Reporter(long, "1", a)
	if of != Reporter(long, "1", a) || of == Reporter(long, "2", a) || of == Reporter(long, "1", b) || len(of) != 24 {
		t.Errorf("Reporter() = %q", of)
	}
}

// The version of the game is the one that it said itself to a service of it.
func TestTraceOfVersion(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	g := games.Game{Name: "swat4"}
	entry := func(game, detail string) verdicts.Entry {
		return verdicts.Entry{Service: "webservices", Game: game, Verdict: verdicts.VersionAsked, Last: now, Detail: detail}
	}
	for want, entries := range map[string][]verdicts.Entry{
		"":     {entry("swat4", "something else"), entry("ut", verdicts.VersionDetail("436"))},
		"1.1":  {entry("swat4", ""), entry("swat4", verdicts.VersionDetail("1.1")), entry("swat4", verdicts.VersionDetail("1.0"))},
		"long": {entry("swat4", verdicts.VersionDetail("long\n"))}, "123456789": {entry("swat4", verdicts.VersionDetail("1234567890.123456789012345"))},
	} {
		var p storage.PlayReport
		if Trace(&p, entries, g, []string{"swat4"}, now); strings.TrimSuffix(p.Version, "…") != want && p.Version != want {
			t.Errorf("version %q, want %q", p.Version, want)
		}
		p.Version = "2.0" // of its server
		if Trace(&p, entries, g, []string{"swat4"}, now); p.Version != "2.0" {
			t.Errorf("the version of the server became %q", p.Version)
		}
	}
}

func TestTrace(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	g := games.Game{Name: "swat4", Facts: games.Facts{Needs: []games.Service{"qr2", "serverbrowse"}}}
	entry := func(service, game string, v verdicts.Verdict, ago time.Duration) verdicts.Entry {
		return verdicts.Entry{Service: service, Game: game, Verdict: v, Last: now.Add(-ago)}
	}
	for name, c := range map[string]struct {
		entries  []verdicts.Entry
		services []string
		met      bool
		last     string
	}{
		"nothing":              {},
		"another game":         {entries: []verdicts.Entry{entry("serverbrowse", "ut", verdicts.ListSent, 0)}},
		"too long ago":         {entries: []verdicts.Entry{entry("serverbrowse", "swat4", verdicts.ListSent, SeenFor+time.Second)}},
		"a list":               {[]verdicts.Entry{entry("serverbrowse", "swat4", verdicts.ListSent, SeenFor)}, []string{"serverbrowse"}, false, verdicts.ListSent.String()},
		"by its other name":    {[]verdicts.Entry{entry("serverbrowse", "swat4xp1", verdicts.ListSent, 0)}, []string{"serverbrowse"}, false, verdicts.ListSent.String()},
		"without a game":       {[]verdicts.Entry{entry("qr2", "", verdicts.Heard, 0)}, []string{"qr2"}, false, verdicts.Heard.String()},
		"a server alone":       {[]verdicts.Entry{entry("qr2", "swat4", verdicts.Listed, 0)}, []string{"qr2"}, false, verdicts.Listed.String()},
		"a service of others":  {entries: []verdicts.Entry{entry("dns", "", verdicts.Heard, 0)}},
		"a server and players": {[]verdicts.Entry{entry("natneg", "swat4", verdicts.Met, time.Minute), entry("serverbrowse", "swat4", verdicts.ListSent, time.Second)}, []string{"natneg", "serverbrowse"}, true, verdicts.ListSent.String()},
	} {
		var p storage.PlayReport
		Trace(&p, c.entries, g, []string{"swat4", "swat4xp1"}, now)
		if diff := cmp.Diff(c.services, p.Services); diff != "" || p.Met != c.met || p.Verdict != c.last {
			t.Errorf("%s: met %t, want %t, last %q, want %q, services (-want +got):\n%s", name, p.Met, c.met, p.Verdict, c.last, diff)
		}
	}
}
