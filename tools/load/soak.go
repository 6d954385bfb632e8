package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/quake2"
)

// soakPlayers is how many accounts a soak makes.
const soakPlayers = 300

// soakers are the users of a soak, on the default limits of the daemon.
func soakers() []population {
	return []population{
		{"qr2 heartbeat and keepalive", openHost, 1000, 400, 120},
		{"qr2 register and leave", openNewcomer, 20, 20, 0},
		{"serverbrowse list", openBrowser, 60, 15, 0},
		{"serverbrowse updates", openWatcher, 20, 4, 60},
		{"legacylist list", openOldBrowser, 30, 10, 0},
		{"gpcm message", openPair, 50, 100, 300},
		{"gpcm login and logout", visitors(100), 100, 25, 0},
		{"gpcm idle session", sessions(200), 100, 5, 20},
		{"gpsp look-up", openSearcher, 30, 15, 0},
		{"gstats player, one block", openStatsGame, 40, 10, 0},
		{"gstats setpd", openStatsWriter, 30, 10, 60},
		{"peerchat sign-on", openLobbyVisitor, 20, 10, 0},
		{"peerchat names", openIdler, 60, 12, 50},
		{"natneg pair", openNegotiator, 50, 60, 200},
		{"zanmaster heartbeat", openZanServer, 200, 60, 100},
		{"zanmaster list", openLauncher, 400, 15, 20},
		{"ssq select", openTool, 60, 15, 50},
		{"valvemaster heartbeat", openValveServer, 100, 10, 30},
		{"valvemaster list", openValveBrowser, 30, 20, 100},
		{"q3master heartbeat", openQuake3Server, 100, 10, 30},
		{"q3master list", openQuake3Browser, 30, 20, 100},
		{"q2master heartbeat", quake2Servers("q2master", quake2.Two, groupQuake2), 60, 10, 30},
		{"q2master list", quake2Browsers("q2master", quake2.Two, groupQuake2Browsers), 20, 10, 100},
		{"qwmaster heartbeat", quake2Servers("qwmaster", quake2.World, groupQuakeWorld), 60, 10, 30},
		{"qwmaster list", quake2Browsers("qwmaster", quake2.World, groupQuakeWorldBrowsers), 20, 10, 100},
		{"utmaster state", openEpicServer, 60, 10, 30},
		{"utmaster list", openEpicBrowser, 30, 20, 0},
		{"idmaster heartbeat", openDoom3Server, 60, 10, 30},
		{"idmaster list", openDoom3Browser, 20, 10, 100},
		{"codmaster heartbeat", openCoDServer, 60, 10, 30},
		{"codmaster list", openCoDBrowser, 20, 10, 100},
		{"codmaster player", openCoDAsker, 20, 10, 100},
		{"nwmaster keys", openNWNServer, 20, 10, 100},
		{"nwmaster account", openNWNPlayer, 20, 5, 50},
		{"mangler question", openMangled, 10, 5, 50},
		{"relayed packet", openRelayed, 20, 60, 600},
		{"web pages", openReader, 20, 8, 100},
		{"web events", openListener, 20, 4, 60},
		{"dns answer", openResolver, 20, 20, 100},
	}
}

// soakOptions say how a soak is done.
type soakOptions struct {
	program string
	length  time.Duration
	every   time.Duration // between two lines
	scale   float64       // of the rates of soakers
}

// sample is the state of the daemon at a time.
type sample struct {
	cost
	after        time.Duration
	unread       int // bytes in the longest queue of packets
	goroutines   int
	heap         int64 // bytes in use
	total        int
	failed       int
	warnings, es int
}

// Bounds of a soak that passes: how much more the median of the last third of
// the samples may be than that of the first, and how many operations may fail.
const (
	moreRSS        = 16 << 20
	moreGoroutines = 100
	moreFDs        = 100
	maxFailed      = 0.001
	maxMissed      = 5 // samples that did not come in time
)

var errSoak = errors.New("the soak found something; see above")

// soak runs a daemon under a mixed load and reports how it does. The error is
// errSoak if a bound is passed.
func soak(ctx context.Context, out io.Writer, opt soakOptions) error {
	dir, err := os.MkdirTemp("", "respawnd-load")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	other, settings, stop, err := soakFederation()
	if err != nil {
		return err
	}
	defer stop()
	d, err := startDaemon(ctx, opt.program, dir, settings...)
	if err != nil {
		return err
	}
	s := &soaker{other: other, opt: opt, out: out, world: &world{daemon: d, run: strconv.FormatInt(time.Now().Unix(), 36)}, tally: newTally(), queues: make(worstQueues)}
	err = s.run(ctx)
	if stopErr := d.stop(); stopErr != nil {
		err = errors.Join(err, fmt.Errorf("respawnd ended: %w", stopErr))
	}
	return errors.Join(err, s.summary())
}

type soaker struct {
	opt     soakOptions
	out     io.Writer
	world   *world
	tally   *tally
	other   *otherMaster // that the daemon reads; nil: none
	samples []sample
	queues  worstQueues
	missed  int
}

func (s *soaker) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(s.out, format+"\n", args...)
}

// run lets the populations live for the time of the soak and takes samples.
func (s *soaker) run(ctx context.Context) error {
	d := s.world.daemon
	s.printf("respawnd runs as process %d", d.cmd.Process.Pid)
	if err := makePlayers(ctx, s.world, soakPlayers); err != nil {
		return err
	}
	if err := makeBuddies(ctx, s.world); err != nil {
		return err
	}
	// It is cancelled, without a deadline that dialling would stop before.
	ctx, cancel := context.WithCancel(ctx)
	defer time.AfterFunc(s.opt.length, cancel).Stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for _, c := range soakers() {
		c.rate *= s.opt.scale
		wg.Go(func() { c.run(ctx, s.world, s.tally) })
	}
	s.printf("%8s %9s %9s %10s %6s %7s %7s %10s %10s %8s %6s %6s", "after", "RSS MiB", "heap MiB", "goroutines", "fds", "CPU %", "wait %", "unread KiB", "operations", "failed", "warn", "error")
	begin := time.Now()
	was, err := d.measure()
	if err != nil {
		return err
	}
	for at := begin; pause(ctx, s.opt.every); {
		m, err := s.sample(ctx, begin)
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			if s.missed++; s.missed > maxMissed {
				return err
			}
			s.printf("%8s no sample: %v", time.Since(begin).Round(time.Second), err)
			continue
		}
		s.samples = append(s.samples, m)
		now := time.Now()
		s.printf("%8s %9.1f %9.1f %10d %6d %7.1f %7.1f %10d %10d %8d %6d %6d", m.after.Round(time.Second), mib(m.rss), mib(m.heap), m.goroutines,
			m.fds, percent(m.cpu-was.cpu, now.Sub(at)), percent(m.waited-was.waited, now.Sub(at)), m.unread>>10, m.total, m.failed, m.warnings, m.es)
		was, at = m.cost, now
	}
	return nil
}

func percent(part, of time.Duration) float64 { return 100 * part.Seconds() / of.Seconds() }

func mib(n int64) float64 { return float64(n) / (1 << 20) }

func (s *soaker) sample(ctx context.Context, begin time.Time) (sample, error) {
	c, err := s.world.daemon.measure()
	if err != nil {
		return sample{}, err
	}
	values, err := s.world.daemon.metrics(ctx)
	if err != nil {
		return sample{}, err
	}
	queues, err := readQueues()
	if err != nil {
		return sample{}, err
	}
	m := sample{
		cost: c, after: time.Since(begin), unread: s.queues.note(s.world.daemon.addresses(), queues),
		goroutines: int(values["go_goroutines"]), heap: int64(values["go_memstats_heap_inuse_bytes"]),
	}
	m.total, m.failed = s.tally.sums()
	m.warnings, m.es = s.world.daemon.said()
	return m, nil
}

// warmUp is the beginning of a soak, in which lists and buffers fill.
const warmUp = 3 * time.Minute

// summary writes the samples, and compares the last third of the samples with
// the first. The warm-up is left out.
func (s *soaker) summary() error {
	s.tally.write(s.out)
	s.queues.write(s.out)
	bad := false
	check := func(wrong bool, format string, args ...any) {
		verdict := "ok    "
		if wrong {
			verdict, bad = "WRONG ", true
		}
		s.printf(verdict+format, args...)
	}
	rest := slices.Clone(s.samples)
	rest = slices.DeleteFunc(rest, func(m sample) bool { return m.after < warmUp })
	third := len(rest) / 3
	if third == 0 {
		s.printf("too short to measure growth")
	} else {
		first, last := rest[:third], rest[len(rest)-third:]
		grown := func(of func(sample) int64) (from, to int64) { return median(first, of), median(last, of) }
		from, to := grown(func(m sample) int64 { return m.rss })
		check(to > from+from/10+moreRSS, "RSS %.1f MiB, then %.1f MiB", mib(from), mib(to))
		from, to = grown(func(m sample) int64 { return m.heap })
		check(to > from+from/10+moreRSS, "heap in use %.1f MiB, then %.1f MiB", mib(from), mib(to))
		from, to = grown(func(m sample) int64 { return int64(m.goroutines) })
		check(to > from+moreGoroutines, "%d goroutines, then %d", from, to)
		from, to = grown(func(m sample) int64 { return int64(m.fds) })
		check(to > from+moreFDs, "%d file descriptors, then %d", from, to)
	}
	total, failed := s.tally.sums()
	check(total == 0 || float64(failed) > maxFailed*float64(total), "%d operations, %d failed", total, failed)
	if s.other != nil {
		reads := s.other.reads.Load()
		check(reads < int64(s.opt.length/soakEvery/2), "another master was read %d times", reads)
	}
	warnings, errs := s.world.daemon.said()
	check(errs > 0, "%d lines of errors in the log, %d of warnings", errs, warnings)
	for _, line := range s.world.daemon.complaints {
		s.printf("%s", line)
	}
	if bad {
		return errSoak
	}
	return nil
}

// median returns the middle value of samples, of which there is at least one.
func median(samples []sample, of func(sample) int64) int64 {
	values := make([]int64, len(samples))
	for i, m := range samples {
		values[i] = of(m)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
