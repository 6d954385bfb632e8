package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// clusterMeter measures a cluster beside a lone node.
type clusterMeter struct {
	opt   clusterOptions
	out   io.Writer
	tally *tally
	start func(nodes int) ([]*child, error) // starts a cluster
	lone  *world
	nodes []*world
}

func (m *clusterMeter) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(m.out, format+"\n", args...)
}

func (m *clusterMeter) measure(ctx context.Context) error {
	load, _ := os.ReadFile("/proc/loadavg")
	m.printf("%s, %s\nload before: %s", time.Now().UTC().Format(time.DateTime), machine(), load[:max(len(load)-1, 0)])
	if err := m.costs(ctx, "lone node", m.lone); err != nil {
		return err
	}
	for n := 1; n <= clusterNodes; n++ {
		if err := m.cluster(ctx, n); err != nil {
			return fmt.Errorf("%d nodes: %w", n, err)
		}
	}
	if _, failed := m.tally.sums(); failed > 0 {
		m.tally.write(m.out)
		return errLost
	}
	return nil
}

// cluster measures a cluster of n nodes.
func (m *clusterMeter) cluster(ctx context.Context, n int) (err error) {
	nodes, err := m.start(n)
	defer func() {
		for _, one := range nodes {
			err = errors.Join(err, one.stop())
		}
	}()
	if err != nil {
		return err
	}
	m.nodes = nil
	for _, one := range nodes {
		m.nodes = append(m.nodes, &world{daemon: one, run: "c"})
	}
	if err := m.costs(ctx, fmt.Sprintf("%d nodes", n), m.nodes...); err != nil || n < clusterNodes {
		return err
	}
	m.printf("%-36s%7s%7s%7s%7s", "", "per s", "p50", "p99", "max")
	if err := m.messages(ctx); err != nil {
		return err
	}
	return m.replication(ctx)
}

func (m *clusterMeter) phase(name string, p *phase) {
	m.printf("%-36s%s, lost %d", name, phaseText(p), p.lost)
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

// replication lists many servers on all nodes, and looks for new ones on the other nodes while
// some change all the time.
func (m *clusterMeter) replication(ctx context.Context) error {
	f := newFleet(m.opt.servers, m.nodes...)
	began := time.Now()
	if err := f.fill(ctx); err != nil {
		return err
	}
	filled := time.Since(began)
	for _, w := range m.nodes {
		if err := w.daemon.awaits(ctx, fmt.Sprintf("respawnd_servers{game=%q}", game), m.opt.servers); err != nil {
			return err
		}
	}
	m.printf("%d servers listed after %.1f s, by all nodes %.1f s later", m.opt.servers, filled.Seconds(), (time.Since(began) - filled).Seconds())
	return m.visible(ctx, f)
}
