package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// clusterRows are the names of the rows whose costs for all nodes of a cluster are measured.
var clusterRows = []string{"qr2 register and leave", "qr2 heartbeat, keepalive", "qr2 keepalive", "gpcm login and logout", "gpcm message"}

// lastChanges is the time in which the last changes reach the other nodes.
const lastChanges = 500 * time.Millisecond

// costs measures what operations on the first of some nodes cost all of them, and writes a line
// for each.
func (m *clusterMeter) costs(ctx context.Context, name string, on ...*world) error {
	m.printf("\n%-28s%10s%12s%12s%14s", name+", for each:", "per s", "CPU, us", "statements", "bytes on bus")
	for i, r := range rows() {
		if !slices.Contains(clusterRows, r.name) {
			continue
		}
		to := &world{daemon: on[0].daemon, run: on[0].run + strconv.Itoa(i)} // with accounts of its own
		if err := m.cost(ctx, r, to, on); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	f := newFleet(m.opt.servers/5, on[0])
	before, began, err := consumed(ctx, on)
	if err == nil {
		err = f.fill(ctx)
	}
	if err == nil {
		err = m.costLine(ctx, "qr2 register", len(f.servers), on, before, time.Since(began))
	}
	return errors.Join(err, f.empty(ctx))
}

// cost measures an operation on one of some nodes.
func (m *clusterMeter) cost(ctx context.Context, r row, to *world, on []*world) error {
	if r.prepare != nil {
		there, err := r.prepare(ctx, to)
		defer leaveAll(there)
		if err != nil {
			return err
		}
	}
	users, err := openAll(ctx, to, r.users, r.open)
	defer leaveAll(users)
	if err != nil {
		return err
	}
	before, _, err := consumed(ctx, on)
	if err != nil {
		return err
	}
	p := closedLoop(ctx, users, m.opt.length, m.tally, r.name)
	if len(p.times) == 0 {
		return errors.New("no operation succeeded")
	}
	return m.costLine(ctx, r.name, len(p.times), on, before, p.took)
}

// costLine writes what so many operations have cost since nodes had used before.
func (m *clusterMeter) costLine(ctx context.Context, name string, done int, on []*world, before spending, took time.Duration) error {
	_ = pause(ctx, lastChanges)
	after, _, err := consumed(ctx, on)
	if err != nil {
		return err
	}
	each := func(before, after float64) float64 { return (after - before) / float64(done) }
	m.printf("%-28s%10.0f%12.1f%12.1f%14.0f", name, float64(done)/took.Seconds(), 1e6*each(before.cpu, after.cpu),
		each(before.statements, after.statements), each(before.bytes, after.bytes))
	return nil
}

// leaveAll closes users whose servers shall not be listed any more.
func leaveAll(users []user) {
	for _, u := range users {
		u.close(false)
	}
}

// spending is what nodes have used together.
type spending struct {
	cpu        float64 // seconds
	statements float64 // of the database
	bytes      float64 // that came from other nodes
}

// consumed returns what nodes have used together since they started, and the time at the end.
func consumed(ctx context.Context, of []*world) (s spending, now time.Time, err error) {
	for _, w := range of {
		used, err := w.daemon.measure()
		if err != nil {
			return s, now, err
		}
		text, err := w.daemon.metricsText(ctx)
		if err != nil {
			return s, now, err
		}
		s.cpu += used.cpu.Seconds()
		s.statements += metric(text, "respawnd_postgres_statements_total")
		s.bytes += metric(text, `respawnd_cluster_bytes_total{direction="in"}`)
	}
	return s, time.Now(), nil
}

// metric returns the value of a metric, with its labels; 0: there is none.
func metric(text, name string) float64 {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			f, _ := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return f
		}
	}
	return 0
}
