// Package clustertest has a cluster.Bus in memory, for tests of its users, with the faults of a
// network. It opens no socket, and works inside testing/synctest. It is not for the daemon.
package clustertest

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
)

// queue is how many messages wait for one subscriber; further ones are lost.
const queue = 8192

// Net is a network of nodes in memory. All methods may be called concurrently.
type Net struct {
	mu      sync.Mutex // guards the fields below and those of nodes
	nodes   map[string]*Bus
	cuts    map[[2]string]bool
	started uint64
	silence time.Duration
	delay   time.Duration
	lose    func(from, to, subject string) bool
}

// New returns a network of live nodes that all see each other. Their goroutines end
// with the test.
func New(t testing.TB, names ...string) *Net {
	t.Helper()
	n := &Net{nodes: make(map[string]*Bus), cuts: make(map[[2]string]bool)}
	for _, name := range names {
		if err := cluster.CheckName(name); err != nil {
			t.Fatalf("node %q: %v", name, err)
		}
		n.Start(name)
	}
	t.Cleanup(n.close)
	return n
}

func (n *Net) close() {
	n.mu.Lock()
	all := slices.Collect(maps.Values(n.nodes))
	n.mu.Unlock()
	for _, b := range all {
		n.stop(b)
	}
}

// Bus returns the running incarnation of a node, the last one if it does not run.
func (n *Net) Bus(name string) *Bus {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.nodes[name]
}

// SetSilence sets how long a killed or unreachable node stays among the Nodes of the
// others. It is 0 unless set: they notice at once.
func (n *Net) SetSilence(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silence = d
}

// SetDelay sets how long each message, request and answer takes from now on.
func (n *Net) SetDelay(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delay = d
}

// Lose loses the messages of Publish and Send for which f returns true; nil: none. f
// must not call the Net. The receivers are informed by OnLoss.
func (n *Net) Lose(f func(from, to, subject string) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lose = f
}

// Start starts a node again, as a new incarnation, or a further one. One of this name
// that runs is killed before.
func (n *Net) Start(name string) *Bus {
	n.mu.Lock()
	old := n.nodes[name]
	n.mu.Unlock()
	if old != nil {
		n.stop(old)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.started++
	b := &Bus{
		net: n, name: name, incarnation: n.started, changed: make(chan struct{}), gone: make(chan struct{}),
		view: make(map[string]uint64), missed: make(map[string]uint64),
		subs: make(map[string][]*queued), handlers: make(map[string]*handler),
	}
	b.view[name] = b.incarnation
	b.list = []string{name}
	n.nodes[name] = b
	n.settle()
	return b
}

// Kill ends a node as a crash does: without a goodbye.
func (n *Net) Kill(name string) {
	n.mu.Lock()
	b := n.nodes[name]
	n.mu.Unlock()
	n.stop(b)
}

// Stop ends a node with a goodbye, so that the others notice at once.
func (n *Net) Stop(name string) {
	n.Kill(name)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, b := range n.nodes {
		b.forget(name)
	}
}

func (n *Net) stop(b *Bus) {
	n.mu.Lock()
	if b.dead {
		n.mu.Unlock()
		return
	}
	b.dead = true
	close(b.gone)
	n.settle()
	n.mu.Unlock()
	b.workers.Wait()
}

// Cut loses everything between two nodes until Heal.
func (n *Net) Cut(a, b string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cuts[pair(a, b)] = true
	n.settle()
}

// Isolate cuts a node off from all others until Heal.
func (n *Net) Isolate(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for other := range n.nodes {
		n.cuts[pair(name, other)] = true
	}
	n.settle()
}

// Heal undoes all cuts.
func (n *Net) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cuts)
	n.settle()
}

func pair(a, b string) [2]string {
	if b < a {
		a, b = b, a
	}
	return [2]string{a, b}
}

// reaches reports whether packets pass between two nodes.
func (n *Net) reaches(from, to *Bus) bool {
	return !from.dead && !to.dead && (from == to || !n.cuts[pair(from.name, to.name)])
}

// settle lets every node notice the nodes that are there, and after the silence those that are not. n.mu
// is held.
func (n *Net) settle() {
	for _, b := range n.nodes {
		for _, other := range n.nodes {
			if b == other || b.dead {
				continue
			}
			known, live := b.view[other.name]
			switch reached := n.reaches(b, other); {
			case reached && known != other.incarnation:
				b.learn(other)
			case reached && b.missed[other.name] == other.incarnation: // it was unreachable for less than the silence
				delete(b.missed, other.name)
				b.lost(other.name)
			case !reached && live && n.silence == 0:
				b.forget(other.name)
			case !reached && live:
				time.AfterFunc(n.silence, func() { n.silent(b, other) })
			}
		}
	}
}

// silent removes a node that was unreachable for the silence and still is.
func (n *Net) silent(b, other *Bus) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !b.dead && b.view[other.name] == other.incarnation && !n.reaches(b, other) {
		b.forget(other.name)
	}
}
