package daemon

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/chatrules"
	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
)

// A clock that was wrong for hours removes no ban, however far it jumped; with
// the right time the bans are in force again. Bans that expired by a right
// clock are removed after a while.
func TestBanSweepAfterClockJumps(t *testing.T) {
	t.Parallel()
	store := storetest.New(t)
	var log bytes.Buffer
	began := time.Now()
	watch := clock.NewWatch(began)
	book := stats.New(store, stats.Options{Limits: stats.Limits{KeepFor: 30 * 24 * time.Hour}})
	reports := func() int {
		totals, err := book.Totals(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return totals.Reports
	}
	if err := book.Report(t.Context(), stats.Snapshot{Game: "gmtest"}); err != nil {
		t.Fatal(err)
	}
	w := banSweep{bans: bans.New(store), rules: chatrules.New(store), stats: book, played: played.New(store, nil), log: zerolog.New(&log)}
	banned := netip.MustParseAddr("192.0.2.7")
	ban := storage.Ban{Prefix: netip.PrefixFrom(banned, 32), Scope: storage.ScopeAll, Expires: began.Add(48 * time.Hour)}
	if err := w.bans.Add(t.Context(), ban); err != nil {
		t.Fatal(err)
	}
	mute := storage.ChatRule{ChatRuleKey: storage.ChatRuleKey{Kind: storage.ChatMute, Profile: 7}, Expires: ban.Expires}
	if err := w.rules.Put(t.Context(), mute); err != nil {
		t.Fatal(err)
	}
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
		w.once(t.Context(), watch, wall, running)
		_, in := w.bans.Check(storage.ScopeLists, banned, wall)
		if stored := len(w.bans.List()) == 1 && len(w.rules.List()) == 1 && reports() == 1; in != step.in || stored != step.stored {
			t.Errorf("%s: in force %v, stored %v, want %v and %v", step.what, in, stored, step.in, step.stored)
		}
	}
	fresh := bans.New(store) // as after a restart
	if err := fresh.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, in := fresh.Check(storage.ScopeLists, banned, wall); !in {
		t.Error("after a restart the ban is gone")
	}
	for range 40 * 24 { // 40 days really pass
		wall, running = wall.Add(time.Hour), running+time.Hour
		w.once(t.Context(), watch, wall, running)
	}
	if left, rules := w.bans.List(), w.rules.List(); len(left)+len(rules)+reports() != 0 {
		t.Errorf("bans and rules that ended long ago: %v, %v, %d reports of games", left, rules, reports())
	}
	warned := strings.Count(log.String(), `"level":"warn"`)
	if warned != 6 {
		t.Errorf("%d warnings of jumps, want one for each of 6:\n%s", warned, &log)
	}
}
