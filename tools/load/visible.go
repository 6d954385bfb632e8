package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/respawnd/respawnd/master/serverbrowse"
)

const (
	lookEvery    = 5 * time.Millisecond // between two lists
	visibleLimit = 5 * time.Second      // after which a new server counts as lost
)

// lookout asks a node for its list all the time.
type lookout struct {
	w *world

	mu   sync.Mutex // guards the fields below
	seen map[netip.AddrPort]time.Time
	err  error
}

// when returns when a server was seen first.
func (l *lookout) when(server netip.AddrPort) (at time.Time, seen bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, seen = l.seen[server]
	return at, seen
}

// watch notes when it sees a server first, until ctx ends.
func (l *lookout) watch(ctx context.Context, i int) {
	for pause(ctx, lookEvery) {
		if err := l.look(ctx, i); err != nil && ctx.Err() == nil {
			l.mu.Lock()
			l.err = err
			l.mu.Unlock()
			return
		}
	}
}

func (l *lookout) look(ctx context.Context, i int) error {
	conn, err := dialTCP(ctx, address(groupLookouts, i), l.w.daemon.at("serverbrowse"))
	if err != nil {
		return err
	}
	c := serverbrowse.NewClient(conn, otherSecret)
	defer func() { _ = c.Close() }()
	reply, err := c.List(soon(), serverbrowse.NewRequest(otherGame, "", `\hostname`, 0))
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range reply.Entries {
		if _, known := l.seen[e.Public]; !known {
			l.seen[e.Public] = now
		}
	}
	return err
}

// arrival is a new server.
type arrival struct {
	address netip.AddrPort
	node    int
	at      time.Time // of its registration
}

// visible registers new servers while others change, and measures when the other nodes
// list them.
func (m *clusterMeter) visible(ctx context.Context, f *fleet) error {
	ctx, cancel := context.WithCancel(ctx)
	var busy sync.WaitGroup
	busy.Go(func() { f.change(ctx, m.opt.changes, time.Hour, m.tally) })
	var looks []*lookout
	for i, w := range m.nodes {
		l := &lookout{w: w, seen: make(map[netip.AddrPort]time.Time)}
		looks = append(looks, l)
		busy.Go(func() { l.watch(ctx, i) })
	}
	arrivals, err := m.arrive(ctx)
	p := phase{took: m.opt.length}
	for end := time.Now().Add(visibleLimit); err == nil && pause(ctx, lookEvery); {
		p.times, p.lost, err = sighted(arrivals, looks)
		if p.lost == 0 || time.Now().After(end) {
			break
		}
	}
	cancel()
	busy.Wait()
	if err != nil {
		return err
	}
	slices.Sort(p.times)
	m.phase("new server on other nodes", &p)
	m.printf("new server on other nodes: p99 %v, of %d servers %d change per second", p.quantile(0.99).Round(100*time.Microsecond), m.opt.servers, m.opt.changes)
	if p.lost > 0 {
		return fmt.Errorf("%w: %d times a new server was not seen", errLost, p.lost)
	}
	return nil
}

// sighted returns how long the nodes that new servers do not report to took to list them,
// and how often that has not happened.
func sighted(arrivals []arrival, looks []*lookout) (times []time.Duration, missing int, err error) {
	for _, a := range arrivals {
		for i, l := range looks {
			if i == a.node {
				continue
			}
			if at, seen := l.when(a.address); seen {
				times = append(times, max(at.Sub(a.at), 0))
			} else {
				missing++
			}
		}
	}
	for _, l := range looks {
		l.mu.Lock()
		err = errors.Join(err, l.err)
		l.mu.Unlock()
	}
	return times, missing, err
}

// arrive registers new servers at a steady rate.
func (m *clusterMeter) arrive(ctx context.Context) (all []arrival, err error) {
	began := time.Now()
	for n := 0; time.Since(began) < m.opt.length && ctx.Err() == nil; n++ {
		_ = pause(ctx, time.Duration(n)*time.Second/time.Duration(m.opt.fresh)-time.Since(began))
		a := arrival{node: n % len(m.nodes)}
		h, err := newHost(m.nodes[a.node], address(groupFresh, n), "Newcomer", otherGame, otherSecret)
		if err != nil {
			return all, err
		}
		err = h.Register(soon())
		a.at, a.address = time.Now(), h.Local()
		h.close(true) // it stays listed
		if err != nil {
			return all, err
		}
		all = append(all, a)
	}
	return all, ctx.Err()
}
