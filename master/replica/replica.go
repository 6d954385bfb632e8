package replica

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/master"
)

// Subjects of batches, and of requests for parts of the complete list.
const (
	subject     = "list"
	subjectPart = "list.part"
)

const (
	// collect is how long changes are collected before they are published.
	collect = 20 * time.Millisecond
	// partSize is the length in bytes from which a batch or part is sent.
	partSize = 128 << 10
	// maxKnown is the number of nodes that are remembered.
	maxKnown = 256
)

// Options are the settings of a Replica. Bus and Registry are required.
type Options struct {
	Bus      cluster.Bus
	Registry *master.Registry
	Origins  master.Origins // servers of others are dropped
	// Sources parse the reports of servers, by origin. They must not change.
	Sources map[*master.Origin]*master.Source
	// Shown returns the address under which machines elsewhere reach a server with
	// a loopback address, the same one if none is known: then other nodes do not list
	// it. nil: all nodes are on this machine.
	Shown func(public netip.AddrPort) netip.AddrPort
	// Banned reports whether servers may not be listed from an address; nil: never.
	Banned func(*master.Origin, netip.Addr) bool
	// RestoreFor returns how long the servers of a node that is gone stay.
	RestoreFor func() time.Duration
	// Settled is called with a server of this node that was removed because other
	// nodes had listed too many from its address or network; nil: not.
	Settled    func(*master.Server)
	Log        zerolog.Logger
	Registerer prometheus.Registerer // nil: no metrics
}

// Replica keeps the list of this node and those of the others alike.
type Replica struct {
	opt     Options
	metrics *metrics
	cancels []func()
	jobs    jobs
	batches atomic.Uint64 // number of the last batch
	readers sync.WaitGroup

	mu        sync.Mutex // guards the fields below
	decoder   decoder
	peers     map[string]*peer
	rounds    uint32        // the last one given to a peer
	completed chan struct{} // closed when a list is complete, or no longer needed
	// known are the last incarnations of nodes, also of those that left, at most
	// maxKnown.
	known map[string]uint64

	sending   sync.Mutex // guards published; comes before the lock of the list
	published map[netip.AddrPort]publication

	// The fields below belong to the goroutine of Run.

	serial  uint64 // of the last change that was published
	changes []master.Change
}

// publication is the published state of a server of this node.
type publication struct {
	serial uint64         // 0: only a part of the complete list named it
	source netip.AddrPort // as they know it
}

// New returns a Replica that receives from now on. Run publishes.
func New(o Options) *Replica {
	r := &Replica{
		opt: o, metrics: newMetrics(o.Registerer), peers: make(map[string]*peer), known: make(map[string]uint64),
		decoder:   decoder{registry: o.Registry, origins: o.Origins, sources: o.Sources},
		published: make(map[netip.AddrPort]publication), completed: make(chan struct{}),
		jobs: jobs{all: make(map[string]*job)},
	}
	o.Registry.SetNode(o.Bus.Self())
	r.cancels = append(r.cancels, o.Bus.Subscribe(subject, r.receive), o.Bus.OnLoss(r.lost), o.Bus.Handle(subjectPart, r.handlePart))
	return r
}

// Run follows the nodes and publishes the servers of this one until ctx ends. It returns after
// all its goroutines.
func (r *Replica) Run(ctx context.Context) {
	defer r.readers.Wait()
	defer func() {
		for _, cancel := range r.cancels {
			cancel()
		}
	}()
	for {
		nodes := r.opt.Bus.Changed()
		r.follow(ctx)
		select {
		case <-ctx.Done():
			return
		case <-nodes:
		case <-r.opt.Registry.Changed(r.serial):
			began := time.Now()
			if !clock.Pause(ctx, collect) {
				return
			}
			r.publish()
			r.metrics.delay.Observe(time.Since(began).Seconds())
		}
	}
}

// lost wants the complete list of a node of which messages were lost.
func (r *Replica) lost(from string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.peers[from]; p != nil {
		p.want()
	}
}

// receive handles a batch of another node.
func (r *Replica) receive(from string, data []byte) {
	m, items, err := parseMessage(data, kindBatch, kindBatch)
	switch {
	case errors.Is(err, errVersion):
		r.metrics.drop(dropVersion)
		return
	case err != nil:
		r.metrics.drop(dropMalformed)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.peers[from]
	if p == nil {
		r.metrics.drop(dropEarly) // the complete list is requested when it is followed
		return
	}
	gap := p.next != 0 && m.number > p.next
	p.next = max(p.next, m.number+1)
	r.apply(from, p, items, nil)
	if gap {
		r.metrics.gaps.Inc()
		p.want()
	}
}

// apply lists or removes the servers of some items, except those that are in but. r.mu is held.
func (r *Replica) apply(node string, p *peer, items []byte, but map[netip.AddrPort]struct{}) {
	now := time.Now()
	for len(items) > 0 {
		one, rest, err := nextItem(items)
		if err != nil {
			r.metrics.drop(dropMalformed)
			break
		}
		items = rest
		it, err := r.decoder.item(one, node, now)
		if err != nil {
			r.metrics.drop(dropMalformed)
			continue
		}
		r.metrics.servers.WithLabelValues("in").Inc()
		s := &it.server
		if _, newer := but[s.Key.Source]; newer {
			continue
		}
		if but == nil && p.touched != nil {
			p.touched[s.Key.Source] = struct{}{}
		}
		if it.removed || r.opt.Banned != nil && r.opt.Banned(s.Origin, s.Key.Source.Addr()) {
			r.opt.Registry.RemoveRemote(node, s.Key.Source)
			continue
		}
		if !r.opt.Registry.PutRemote(*s, it.claim, p.round) {
			r.metrics.drop(dropClaimed)
		}
	}
	for _, s := range r.opt.Registry.Settle() {
		r.metrics.settled.Inc()
		if r.opt.Settled != nil {
			r.opt.Settled(s)
		}
	}
}

// State is the state of the list of another node.
type State struct {
	Servers  int
	Complete bool
}

// States returns the states of the lists of other nodes that are live or have servers
// in the list, by name.
func (r *Replica) States() map[string]State {
	out := make(map[string]State)
	for node, n := range r.opt.Registry.RemoteCounts() {
		out[node] = State{Servers: n}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for node, p := range r.peers {
		out[node] = State{Servers: out[node].Servers, Complete: p.complete}
	}
	return out
}
