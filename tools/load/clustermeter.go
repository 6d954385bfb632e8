package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// clusterMeter measures a cluster beside a lone node.
type clusterMeter struct {
	opt   clusterOptions
	out   io.Writer
	tally *tally
	lone  *world
	nodes []*world
}

func (m *clusterMeter) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(m.out, format+"\n", args...)
}

func (m *clusterMeter) measure(ctx context.Context) error {
	load, _ := os.ReadFile("/proc/loadavg")
	m.printf("%s, %s\nload before: %s", time.Now().UTC().Format(time.DateTime), machine(), load[:max(len(load)-1, 0)])
	m.printf("%-36s%7s%7s%7s%7s", "", "per s", "p50", "p99", "max")
	for _, part := range []func(context.Context) error{m.heartbeats, m.messages, m.replication} {
		if err := part(ctx); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if _, failed := m.tally.sums(); failed > 0 {
		m.tally.write(m.out)
		return errLost
	}
	return nil
}

// heartbeats has servers report to the lone node and to one of the cluster, in turn.
func (m *clusterMeter) heartbeats(ctx context.Context) error {
	var users [2][]user
	worlds := [2]*world{m.lone, m.nodes[0]}
	names := [2]string{"heartbeats, lone node", "heartbeats, node of three"}
	defer func() {
		for _, u := range slices.Concat(users[0], users[1]) {
			u.close(false) // those of later parts are counted
		}
	}()
	for i, w := range worlds {
		var err error
		if users[i], err = openAll(ctx, w, 16, several(16, openHost)); err != nil {
			return err
		}
	}
	var rates, each [2][]float64
	for range m.opt.rounds {
		for i, w := range worlds {
			p, cpu, err := m.closed(ctx, w, users[i], names[i])
			if err != nil {
				return err
			}
			rates[i] = append(rates[i], p.rate())
			each[i] = append(each[i], cpu.Seconds()*1e6/float64(max(len(p.times), 1)))
		}
	}
	m.printf("heartbeats per node: %.1f %% of a lone node per second; %.1f us of its processor time each, %.1f us on a lone node (median of %d)",
		100*middle(rates[1])/middle(rates[0]), middle(each[1]), middle(each[0]), m.opt.rounds)
	return nil
}

// closed runs a closed loop and writes its line.
func (m *clusterMeter) closed(ctx context.Context, w *world, users []user, name string) (p phase, cpu time.Duration, err error) {
	before, err := w.daemon.measure()
	if err != nil {
		return p, 0, err
	}
	p = closedLoop(ctx, users, m.opt.length, m.tally, name)
	after, err := w.daemon.measure()
	if err != nil {
		return p, 0, err
	}
	m.phase(name, &p)
	return p, after.cpu - before.cpu, nil
}

func (m *clusterMeter) phase(name string, p *phase) {
	m.printf("%-36s%s, lost %d", name, phaseText(p), p.lost)
}

func middle(of []float64) float64 {
	of = slices.Sorted(slices.Values(of))
	if len(of) == 0 {
		return 0
	}
	return of[len(of)/2]
}

// messageRate is the number of messages per second of all pairs.
const messageRate = 200

// messages has buddies write to each other, on the lone node and on two of the cluster.
func (m *clusterMeter) messages(ctx context.Context) error {
	var users [2][]user
	names := [2]string{"buddy message, lone node", "buddy message to another node"}
	defer func() { closeAll(users[0]); closeAll(users[1]) }()
	for i, w := range [2][2]*world{{m.lone, m.lone}, {m.nodes[0], m.nodes[1]}} {
		if _, err := buddies(2*m.opt.pairs)(ctx, w[0]); err != nil {
			return err
		}
		w[1].players = w[0].players
		var err error
		if users[i], err = openAll(ctx, w[0], m.opt.pairs, farPairs(w[1])); err != nil {
			return err
		}
	}
	for range m.opt.rounds {
		for i := range users {
			p := openLoop(ctx, users[i], messageRate, m.opt.length, m.tally, names[i])
			m.phase(names[i], &p)
		}
	}
	return nil
}

// farPairs returns an opener of buddies of whom the second is signed in on another node.
func farPairs(far *world) opener {
	return func(ctx context.Context, w *world, i int) (user, error) {
		a, err := signIn(ctx, w, 2*i)
		if err != nil {
			return nil, err
		}
		b, err := signIn(ctx, far, 2*i+1)
		if err != nil {
			a.close(true)
			return nil, err
		}
		return &pair{a, b}, nil
	}
}

// replication lists many servers, changes some of them all the time, and looks for new
// ones on the other nodes.
func (m *clusterMeter) replication(ctx context.Context) error {
	alone, err := m.changing(ctx, "changes, lone node", m.lone)
	if err != nil {
		return err
	}
	together, err := m.changing(ctx, "changes, cluster", m.nodes...)
	if err != nil {
		return err
	}
	one, all := alone.each(), together.each()
	m.printf("replication: %.1f us of processor time per change and node (a change costs a lone node %.1f us and all nodes of the cluster %.1f us)",
		(all-one)/clusterNodes, one, all)
	return m.visible(ctx, together.fleet)
}

// changed is the result of changing servers.
type changed struct {
	fleet   *fleet
	changes int
	cpu     time.Duration // of all nodes together, without their use when nothing changes
}

// each returns the processor time of a change in microseconds.
func (c *changed) each() float64 { return c.cpu.Seconds() * 1e6 / float64(max(c.changes, 1)) }

// changing lists servers, shared out among nodes, and then changes them for a time.
func (m *clusterMeter) changing(ctx context.Context, name string, on ...*world) (c changed, err error) {
	c.fleet = newFleet(m.opt.servers, on...)
	began := time.Now()
	if err := c.fleet.fill(ctx); err != nil {
		return c, err
	}
	filled := time.Since(began)
	for _, w := range on {
		if err := w.daemon.awaits(ctx, fmt.Sprintf("respawnd_servers{game=%q}", game), m.opt.servers); err != nil {
			return c, err
		}
	}
	m.printf("%-36s%d servers listed after %.1f s, by all nodes %.1f s later", name, m.opt.servers, filled.Seconds(), (time.Since(began) - filled).Seconds())
	idle, err := used(on, func() { _ = pause(ctx, m.opt.length) })
	if err != nil {
		return c, err
	}
	var p phase
	busy, err := used(on, func() {
		p = c.fleet.change(ctx, m.opt.changes, m.opt.length, m.tally)
		_ = pause(ctx, lastChanges)
	})
	c.changes, c.cpu = len(p.times), busy-idle
	m.phase(name, &p)
	return c, err
}

// lastChanges is the time in which the last changes reach the other nodes.
const lastChanges = 500 * time.Millisecond

// used returns the processor time that nodes use while f runs.
func used(of []*world, f func()) (time.Duration, error) {
	before, err := total(of)
	if err != nil {
		return 0, err
	}
	f()
	after, err := total(of)
	return after - before, err
}

// total returns the processor time that nodes have used.
func total(of []*world) (sum time.Duration, err error) {
	for _, w := range of {
		c, err := w.daemon.measure()
		if err != nil {
			return 0, err
		}
		sum += c.cpu
	}
	return sum, nil
}
