package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// limitOptions say how the limits are measured.
type limitOptions struct {
	program  string
	length   time.Duration // of each loop
	openLoop time.Duration // of the heartbeats of the open loop
	only     string        // part of the names of parts; empty: all
	scale    float64       // of the numbers of servers, players and accounts
	accounts int           // stored ones at a start, before scale
}

// limitPart is a set of measurements on one daemon, or on several in turn.
type limitPart struct {
	name string
	do   func(b *bench, ctx context.Context) error
}

func limitParts() []limitPart {
	return []limitPart{
		{"pages", (*bench).pages},
		{"lists", (*bench).lists},
		{"first list", (*bench).firstLists},
		{"registration", (*bench).registration},
		{"heartbeats", (*bench).heartbeats},
		{"memory", (*bench).memory},
		{"sessions", (*bench).sessions},
		{"players", (*bench).players},
		{"start", (*bench).start},
		{"save", (*bench).saving},
		{"events", (*bench).events},
		{"push", (*bench).push},
		{"open loop", (*bench).openLoop},
	}
}

// limitNames returns the names of all parts.
func limitNames() string {
	var names []string
	for _, p := range limitParts() {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

// limitSettings admit the measured load, and keep servers that do not report.
var limitSettings = append([]string{
	"qr2.expire=1h", "master.max_servers=2000000", "master.restore_for=1h", "master.save_every=1h", "gpcm.max_conns=100000", "web.max_conns=100000", "admin.pprof=true",
}, tableSettings...)

// bench measures the costs of a full daemon.
type bench struct {
	opt   limitOptions
	out   io.Writer
	tally *tally
	bare  *child // the bare servers
}

// limit measures the parts and writes a line for each figure, with its goal. A goal
// that is not reached is no error.
func limit(ctx context.Context, out io.Writer, opt limitOptions) (err error) {
	b := &bench{opt: opt, out: out, tally: newTally()}
	if b.bare, err = startEcho(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.bare.stop()) }()
	raiseFiles()
	b.printf("%s, %s", time.Now().UTC().Format(time.DateOnly), machine())
	b.printf("load before: %s; CPU is the daemon's alone. bare: the cost of the same bytes for a server that keeps nothing", loadAverage())
	b.line("operation", "respawnd", "bare", "times", "goal", "")
	known := false
	for _, p := range limitParts() {
		if !strings.Contains(p.name, opt.only) {
			continue
		}
		known = true
		if err := p.do(b, ctx); err != nil {
			b.tally.write(out)
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if !known {
		return fmt.Errorf("there is no part %q: %s", opt.only, limitNames())
	}
	b.printf("load after: %s", loadAverage())
	if _, failed := b.tally.sums(); failed > 0 {
		b.tally.write(out)
	}
	return ctx.Err()
}

// loadAverage returns that of the last minutes.
func loadAverage() string {
	load, _ := os.ReadFile("/proc/loadavg")
	return strings.TrimSpace(string(load))
}

// raiseFiles lets this program and its children open as many files as the rights of
// the user allow.
func raiseFiles() {
	const wanted = 1 << 17
	for _, hard := range []uint64{wanted, 0} {
		var l syscall.Rlimit
		if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil || l.Cur >= wanted {
			return
		}
		l.Max = max(l.Max, hard)
		l.Cur = l.Max
		if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l) == nil {
			return
		}
	}
}

// maxFiles returns how many files a process may have open.
func maxFiles() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 1024
	}
	return int(min(l.Cur, 1<<30))
}

func (b *bench) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(b.out, format+"\n", args...)
}

// line writes a line of the table.
func (b *bench) line(name, now, bare, times, goal, note string) {
	b.printf("%-62s|%12s|%12s|%7s|%12s| %s", name, now, bare, times, goal, note)
}

// figure is a result.
type figure struct {
	name string
	unit string
	now  float64
	bare float64 // time of bare servers; 0: there is none
	goal float64 // of now, or of now by bare if there is that; 0: none is set
	note string
}

// write writes a figure. Goals are for full sizes.
func (b *bench) write(f figure) {
	value := func(v float64) string { return digits(v) + " " + f.unit }
	bare, times, goal, verdict := "", "", "", ""
	compared := f.now
	if f.bare > 0 {
		compared = f.now / f.bare
		bare, times = value(f.bare), strconv.FormatFloat(compared, 'f', 2, 64)
	}
	switch {
	case f.goal == 0:
	case f.bare > 0:
		goal = strconv.FormatFloat(f.goal, 'f', 2, 64)
	default:
		goal = value(f.goal)
	}
	if f.goal > 0 && b.opt.scale == 1 {
		verdict = "reached"
		if compared > f.goal {
			verdict = "MISSED"
		}
	}
	b.line(f.name, value(f.now), bare, times, goal, strings.TrimSpace(strings.Join([]string{verdict, f.note}, "  ")))
}

// resident writes the memory of a child in MiB, and how much of it are pages of files,
// mostly of the program, which the system takes back when it needs them.
func (b *bench) resident(c *child, name string, goal float64, note string) error {
	now, err := c.measure()
	if err != nil {
		return err
	}
	mapped, err := c.mapped()
	b.write(figure{name: name, unit: "MiB", now: mib(now.rss), goal: goal, note: fmt.Sprintf("%.0f of it of files%s", mib(mapped), note)})
	return err
}

// digits returns a number with three digits that count.
func digits(v float64) string {
	n := 0
	for limit := 100.0; n < 4 && v != 0 && v < limit; limit /= 10 {
		n++
	}
	return strconv.FormatFloat(v, 'f', n, 64)
}

// size returns a number of users at the scale of the run, at least 1.
func (b *bench) size(n int) int { return max(1, int(float64(n)*b.opt.scale)) }

// rate is size for events per second.
func (b *bench) rate(n int) float64 { return max(1, float64(n)*b.opt.scale) }

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

func us(d time.Duration) float64 { return d.Seconds() * 1e6 }

// withDaemon calls f with a fresh daemon, which may complain of nothing.
func (b *bench) withDaemon(ctx context.Context, settings []string, f func(w *world, restart func() error) error) error {
	dir, err := os.MkdirTemp("", "respawnd-load")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	w := &world{run: strconv.FormatInt(time.Now().Unix(), 36), dir: dir}
	open := func() (err error) {
		w.daemon, err = startDaemon(ctx, b.opt.program, dir, slices.Concat(limitSettings, settings)...)
		return err
	}
	if err := open(); err != nil {
		return err
	}
	err = f(w, open)
	stopErr := w.daemon.stop()
	if _, errs := w.daemon.said(); errs > 0 {
		err = errors.Join(err, errors.New(strings.Join(w.daemon.complaints, "\n")))
	}
	return errors.Join(err, stopErr)
}

// crowded calls f with a daemon that lists n servers.
func (b *bench) crowded(ctx context.Context, n int, settings []string, f func(w *world, s *swarm) error) error {
	return b.withDaemon(ctx, settings, func(w *world, _ func() error) error { return b.swarmed(ctx, w, n, f) })
}

// swarmed registers n servers with a daemon, or the bare server, and calls f.
func (b *bench) swarmed(ctx context.Context, w *world, n int, f func(w *world, s *swarm) error) error {
	s, err := newSwarm(w, n)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.register(ctx); err != nil {
		return err
	}
	return f(w, s)
}

// quiet is crowded with a daemon that has settled.
func (b *bench) quiet(ctx context.Context, n int, f func(w *world, s *swarm) error, settings ...string) error {
	return b.crowded(ctx, n, settings, func(w *world, s *swarm) error {
		if err := b.settle(ctx, w.daemon); err != nil {
			return err
		}
		return f(w, s)
	})
}

// spent returns the processor time that a child uses while f runs.
func spent(c *child, f func() error) (time.Duration, error) {
	before, err := c.measure()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := c.measure()
	return after.cpu - before.cpu, err
}

// each returns the processor time of one of the operations that f counts.
func each(c *child, f func() (int, error)) (time.Duration, error) {
	count := 0
	cpu, err := spent(c, func() (err error) {
		count, err = f()
		return err
	})
	if err == nil && count == 0 {
		err = errors.New("no operation succeeded")
	}
	return cpu / time.Duration(max(count, 1)), err
}

// looped returns the processor time of one operation of users in a closed loop, beyond the idle use of the daemon per
// second.
func (b *bench) looped(ctx context.Context, c *child, users []user, name string, idle float64) (time.Duration, error) {
	var p phase
	one, err := each(c, func() (int, error) {
		p = closedLoop(ctx, users, b.opt.length, b.tally, name)
		return len(p.times), nil
	})
	return max(0, one-time.Duration(idle*float64(p.took)/float64(max(len(p.times), 1)))), err
}

// settleStep is the time in which a daemon that has settled uses at most settleUse: longer than the
// interval between saves, and than a daemon takes to see that it is quiet and to collect its garbage.
const (
	settleStep = 2100 * time.Millisecond
	settleUse  = 40 * time.Millisecond
	maxSettle  = 20 * time.Second
)

// settle waits until the daemon has done the work after the last packets, such as
// saving the list, or for maxSettle.
func (b *bench) settle(ctx context.Context, c *child) error {
	for end := time.Now().Add(maxSettle); time.Now().Before(end); {
		cpu, err := spent(c, func() error {
			pause(ctx, min(settleStep, b.opt.length))
			return ctx.Err()
		})
		if err != nil || cpu <= settleUse {
			return err
		}
	}
	return nil
}

// idle returns the processor time that the daemon uses in a second of its own.
func (b *bench) idle(ctx context.Context, c *child) (float64, error) {
	began := time.Now()
	cpu, err := spent(c, func() error {
		pause(ctx, b.opt.length)
		return ctx.Err()
	})
	return cpu.Seconds() / time.Since(began).Seconds(), err
}

// beside calls f while servers report changes, so many per second.
func (b *bench) beside(ctx context.Context, s *swarm, rate float64, f func() error) error {
	during, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var churned error
	wg.Go(func() { churned = s.churn(during, rate) })
	err := f()
	cancel()
	wg.Wait()
	return cmp.Or(err, churned)
}

// measured opens users, calls f with them and closes them.
func measured(ctx context.Context, w *world, n int, open opener, f func([]user) error) error {
	users, err := openAll(ctx, w, n, open)
	defer func() { closeAll(users) }()
	if err != nil {
		return err
	}
	return f(users)
}
