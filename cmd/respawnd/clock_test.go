package main

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/bolt"
)

// A clock that was wrong for hours takes no ban with it, however far it jumped;
// with the right time the bans are in force again. What is over by a clock that
// is right goes after a while.
func TestTimedBansSurviveClockJumps(t *testing.T) {
	t.Parallel()
	store, err := bolt.Open(t.Context(), filepath.Join(t.TempDir(), storeName), bolt.Options{NoSync: true})
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	log := newLogBook()
	d := &daemon{store: store, bans: bans.New(store), log: zerolog.New(log)}
	began := time.Now()
	banned := netip.MustParseAddr("192.0.2.7")
	must(t, d.bans.Add(t.Context(), storage.Ban{
		Prefix: netip.PrefixFrom(banned, 32), Scope: storage.ScopeAll, Expires: began.Add(48 * time.Hour),
	}))
	watch := clock.NewWatch(began)
	wall, running := began, time.Duration(0)
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	for _, step := range []struct {
		what       string
		jump       time.Duration // beside the hour that passes
		in, stored bool
	}{
		{"an hour", 0, true, true},
		{"forward by a week", 7 * day, false, true},
		{"an hour of that", 0, false, true},
		{"another", 0, false, true},
		{"set right", -7 * day, true, true},
		{"forward by ten years", 10 * year, false, true},
		{"set right", -10 * year, true, true},
		{"back by fifty years", -50 * year, true, true},
		{"set right", 50 * year, true, true},
		{"an hour", 0, true, true},
	} {
		wall, running = wall.Add(time.Hour+step.jump), running+time.Hour
		d.sweepBansOnce(t.Context(), watch, wall, running)
		_, in := d.bans.Check(storage.ScopeLists, banned, wall)
		if stored := len(d.bans.List()) == 1; in != step.in || stored != step.stored {
			t.Errorf("%s: in force %v, stored %v, want %v and %v", step.what, in, stored, step.in, step.stored)
		}
	}
	fresh := bans.New(store) // as after a restart
	must(t, fresh.Load(t.Context()))
	if _, in := fresh.Check(storage.ScopeLists, banned, wall); !in {
		t.Error("after a restart the ban is gone")
	}
	for range 40 * 24 { // 40 days that are really over
		wall, running = wall.Add(time.Hour), running+time.Hour
		d.sweepBansOnce(t.Context(), watch, wall, running)
	}
	if left := d.bans.List(); len(left) != 0 {
		t.Errorf("bans that ended long ago: %v", left)
	}
	warned := 0
	lines, _ := log.since(0)
	for _, e := range lines {
		if e.text("level") == "warn" {
			warned++
		}
	}
	if warned != 6 {
		t.Errorf("%d warnings of jumps, want one for each of 6:\n%s", warned, log)
	}
}

func TestBanThatIsOverIsListedAsSuch(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for want, expires := range map[string]time.Time{
		"further notice":                           {},
		stamp(now.Add(time.Hour)):                  now.Add(time.Hour),
		"over since " + stamp(now.Add(-time.Hour)): now.Add(-time.Hour),
		"over since " + stamp(now):                 now,
	} {
		if got := banEnd(storage.Ban{Expires: expires}, now); got != want {
			t.Errorf("banEnd(%s) = %q, want %q", fmt.Sprint(expires), got, want)
		}
	}
}
