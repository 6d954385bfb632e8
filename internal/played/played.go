// Package played holds what players said of their games: that one could be played here, or the last
// step before it stopped. It decides which reports count, and sums them up for pages, the API
// and commands.
//
// A report counts only if this daemon saw the player's address at services of the game within the
// last hour, see Trace. It has no name and no address: the reporter is a keyed hash that is
// another one each day. The package stores nothing itself (package storage does) and knows no
// protocol.
package played

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
)

// Limits of reports.
const (
	MaxPerDay   = 500                      // MaxPerDay is how many reports of one day are kept.
	MaxUnseen   = 50                       // MaxUnseen is how many of them may be of addresses that no service saw.
	KeptFor     = 3 * 365 * 24 * time.Hour // KeptFor is how long a report is kept.
	lastReports = 6                        // of a copy, that say whether it stopped working
	mostOfThem  = 5                        // that stopped at the same step
)

// Errors of Add. Their texts are for players.
var (
	ErrUnseen  = errors.New("no service of this game has seen your address within the last hour: report right after you played, from the same network")
	ErrTooMany = errors.New("there are enough reports for today: try again tomorrow")
)

// Table has all reports in memory. All methods may be called concurrently.
type Table struct {
	store  storage.PlayReports
	serial atomic.Uint64
	counts *prometheus.CounterVec

	// changing is held through a change, also while the store writes: the order in
	// which changes reach the store must be the order in which they come into force.
	changing sync.Mutex

	mu      sync.RWMutex // guards the fields below
	reports map[storage.PlayReportID]storage.PlayReport
	sums    map[string][]storage.PlayReport // by game: those that count, the newest last
	peers   []*Peer
}

// New returns a table without reports. Load fills it from store. The metrics are registered
// unless reg is nil.
func New(store storage.PlayReports, reg prometheus.Registerer) *Table {
	t := &Table{store: store, counts: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "respawnd_play_reports_total", Help: "Reports of players on games, by what became of them.",
	}, []string{"result"})}
	t.set(nil)
	if reg != nil {
		reg.MustRegister(t.counts)
	}
	return t
}

// Load loads the reports of the store. Damaged ones are left out.
func (t *Table) Load(ctx context.Context) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	var all []storage.PlayReport
	for p, err := range t.store.PlayReports(ctx) {
		if err != nil && !errors.Is(err, storage.ErrDamaged) {
			return fmt.Errorf("load reports on games: %w", err)
		}
		if err == nil {
			all = append(all, p)
		}
	}
	t.set(all)
	return nil
}

func (t *Table) set(all []storage.PlayReport) {
	reports, sums := make(map[storage.PlayReportID]storage.PlayReport, len(all)), make(map[string][]storage.PlayReport)
	for i := range all {
		reports[all[i].PlayReportID] = all[i]
		if all[i].Counts() {
			sums[all[i].Game] = append(sums[all[i].Game], all[i])
		}
	}
	t.mu.Lock()
	t.reports, t.sums = reports, sums
	t.mu.Unlock()
	t.serial.Add(1)
}

// Serial returns a number that changes with the reports.
func (t *Table) Serial() uint64 { return t.serial.Load() }

// Reporter returns the reporter of an address on a day: mac is a keyed hash.
func Reporter(mac func([]byte) []byte, day string, from netip.Addr) string {
	return hex.EncodeToString(mac([]byte("play report\x00" + day + from.String()))[:12])
}

// Add adds a report of a player, in place of one that he made of the game on that day. One that
// says that the game was played must count; others are kept for operators.
func (t *Table) Add(ctx context.Context, p storage.PlayReport) (err error) {
	defer func() { t.counts.WithLabelValues(resultOf(&p, err)).Inc() }()
	if err := check(&p); err != nil {
		return err
	}
	if p.Worked() && !p.Counts() {
		return ErrUnseen
	}
	t.changing.Lock()
	defer t.changing.Unlock()
	if err := t.room(&p); err != nil {
		return err
	}
	was, _ := t.Get(p.PlayReportID)
	p.Struck = was.Struck // an operator's word stays
	return t.put(ctx, p)
}

// check gives a report that names no copy the one for that, and returns an error that matches
// storage.ErrInvalid for one that cannot be.
func check(p *storage.PlayReport) error {
	if p.Copy = cmp.Or(p.Copy, "other"); !slices.Contains(games.ReportedCopies(), p.Copy) {
		return fmt.Errorf("%w: %.40q is not a copy: %s", storage.ErrInvalid, p.Copy, strings.Join(games.ReportedCopies(), ", "))
	}
	return p.Check()
}

// resultOf is the label of a report.
func resultOf(p *storage.PlayReport, err error) string {
	switch {
	case errors.Is(err, ErrUnseen):
		return "unseen"
	case errors.Is(err, ErrTooMany):
		return "day_full"
	case errors.Is(err, storage.ErrInvalid):
		return "invalid"
	case err != nil:
		return "failed"
	case !p.Counts():
		return "kept"
	}
	return "counted"
}

// room returns ErrTooMany if the day has enough reports. t.changing is held.
func (t *Table) room(p *storage.PlayReport) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if _, again := t.reports[p.PlayReportID]; again {
		return nil
	}
	day, unseen := 0, 0
	for _, r := range t.reports {
		if r.Day == p.Day && r.Source == "" {
			day++
			if len(r.Services) == 0 {
				unseen++
			}
		}
	}
	if day >= MaxPerDay || !p.Counts() && unseen >= MaxUnseen {
		return ErrTooMany
	}
	return nil
}

// Write stores a report as an operator wants it: one of a source, or one that is struck out.
func (t *Table) Write(ctx context.Context, p storage.PlayReport) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	return t.put(ctx, p)
}

// put stores a report. If there are too many, those of the oldest day leave. t.changing is held.
func (t *Table) put(ctx context.Context, p storage.PlayReport) error {
	if err := check(&p); err != nil {
		return err
	}
	err := t.store.PutPlayReport(ctx, p)
	if errors.Is(err, storage.ErrFull) {
		if err = t.forget(ctx, t.secondDay()); err == nil {
			err = t.store.PutPlayReport(ctx, p)
		}
	}
	if err != nil {
		return err
	}
	all := slices.DeleteFunc(t.List(""), func(r storage.PlayReport) bool { return r.PlayReportID == p.PlayReportID })
	all = append(all, p)
	slices.SortFunc(all, compare)
	t.set(all)
	return nil
}

// secondDay returns the oldest day but one.
func (t *Table) secondDay() time.Time {
	all := t.List("")
	i := slices.IndexFunc(all, func(p storage.PlayReport) bool { return p.Day != all[0].Day })
	if i < 0 {
		return time.Now()
	}
	day, _ := time.Parse(time.DateOnly, all[i].Day) // Check has parsed it
	return day
}

// Sweep removes the reports that were kept long enough.
func (t *Table) Sweep(ctx context.Context, now time.Time) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	return t.forget(ctx, now.Add(-KeptFor))
}

// forget removes the reports of the days before the day of before. t.changing is held.
func (t *Table) forget(ctx context.Context, before time.Time) error {
	n, err := t.store.RemovePlayReports(ctx, before)
	if n > 0 {
		day := before.UTC().Format(time.DateOnly)
		t.set(slices.DeleteFunc(t.List(""), func(p storage.PlayReport) bool { return p.Day < day }))
	}
	return err
}

// compare orders reports by day, game and reporter.
func compare(a, b storage.PlayReport) int { return strings.Compare(a.String(), b.String()) }

// List returns the reports on a game, or all, in the order of days.
func (t *Table) List(game string) []storage.PlayReport {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := make([]storage.PlayReport, 0, len(t.reports))
	for _, p := range t.reports {
		if game == "" || p.Game == game {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, compare)
	return all
}

// Get returns a report.
func (t *Table) Get(id storage.PlayReportID) (storage.PlayReport, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	p, ok := t.reports[id]
	return p, ok
}

// Of returns the sum of the reports on a game, by the copies that they are about: games.Outlooks
// asks for those of an edition. A report that names no copy is about any.
func (t *Table) Of(game string) games.Reports {
	return func(copies []string) (r games.Reported) {
		t.mu.RLock()
		defer t.mu.RUnlock()
		r = sum(of(t.sums[game], copies))
		r.Elsewhere = t.elsewhere(game, copies)
		return r
	}
}

// On is Of for a list of reports in the order of days.
func On(game string, all []storage.PlayReport) games.Reports {
	counting := slices.DeleteFunc(slices.Clone(all), func(p storage.PlayReport) bool { return p.Game != game || !p.Counts() })
	return func(copies []string) games.Reported { return sum(of(counting, copies)) }
}

// of returns the reports that are about some of the copies.
func of(reports []storage.PlayReport, copies []string) (list []storage.PlayReport) {
	for _, p := range reports {
		if len(copies) == 0 || slices.Contains(copies, "any") || slices.Contains(copies, p.Copy) {
			list = append(list, p)
		}
	}
	return list
}

// sum sums reports up that count, the newest last.
func sum(list []storage.PlayReport) (r games.Reported) {
	stopped := make(map[string]int)
	for i := range list {
		p := &list[i]
		if !p.Worked() {
			if i >= len(list)-lastReports {
				stopped[p.Step]++
			}
			continue
		}
		r.Times++
		r.Met = r.Met || p.Met || p.Source != ""
		r.Last, r.Version = p.Day, cmp.Or(p.Version, r.Version)
	}
	for step, n := range stopped {
		if n >= mostOfThem {
			r.StoppedAt = step
		}
	}
	return r
}
