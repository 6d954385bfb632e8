package replica

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/master"
)

// subject is that of all messages: its order is that of a node's list.
const subject = "list"

const (
	// collect is how long changes are collected before they are published.
	collect = 50 * time.Millisecond
	// partEvery is the interval at which parts of a complete list are sent, and
	// partsAtOnce their number: a large list must not fill the queues of the cluster.
	partEvery   = 20 * time.Millisecond
	partsAtOnce = 8
	// partSize is the length in bytes from which a batch or part is sent.
	partSize = 128 << 10
	// askAgain is how long a node waits for the next message of a complete list, and
	// askPause the least time between two requests for one.
	askAgain  = 5 * time.Second
	askPause  = time.Second
	checkPace = 500 * time.Millisecond
	// maxAsks is how many requests of other nodes wait; further ones come again.
	maxAsks = 64
	// maxKnown is the number of nodes that are remembered.
	maxKnown = 256
)

// Options are the settings of a Replica. Bus and Registry are required.
type Options struct {
	Bus      cluster.Bus
	Registry *master.Registry
	// Sources parse the reports of servers, by origin. They must not change.
	Sources map[master.Origin]*master.Source
	// Shown returns the address under which machines elsewhere reach a server with
	// a loopback address, the same one if none is known: then other nodes do not list
	// it. nil: all nodes are on this machine.
	Shown func(public netip.AddrPort) netip.AddrPort
	// Banned reports whether servers may not be listed from an address; nil: never.
	Banned func(master.Origin, netip.Addr) bool
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
	asks    chan ask
	cancels []func()

	mu    sync.Mutex // guards the fields below
	peers map[string]*peer
	asked uint64 // number of the last request
	// known are the last incarnations of nodes, also of those that left, at most
	// maxKnown.
	known map[string]uint64

	// The fields below belong to the goroutine of receive.

	decoder decoder

	// The fields below belong to the goroutine of Run.

	serial    uint64 // of the last change that was published
	number    uint64 // of the last batch
	published map[netip.AddrPort]publication
	changes   []master.Change
	jobs      map[string]*job
}

// publication is the published state of a server of this node.
type publication struct {
	serial uint64
	source netip.AddrPort // as they know it
}

// ask is the request of a node for the complete list.
type ask struct {
	node   string
	number uint64
}

// peer is a live node whose list is followed.
type peer struct {
	incarnation uint64
	next        uint64 // number of its next batch; 0: any
	round       uint32
	restarted   bool // it may not know all servers that it had
	wanted      bool // its complete list is needed
	number      uint64
	receiving   bool
	items       uint64 // received of the complete list
	last        time.Time
	since       time.Time // when the list became complete; zero: it is not
}

// New returns a Replica that receives from now on. Run publishes.
func New(o Options) *Replica {
	r := &Replica{
		opt: o, metrics: newMetrics(o.Registerer), asks: make(chan ask, maxAsks), peers: make(map[string]*peer), known: make(map[string]uint64),
		decoder:   decoder{registry: o.Registry, sources: o.Sources},
		published: make(map[netip.AddrPort]publication), jobs: make(map[string]*job),
	}
	o.Registry.SetNode(o.Bus.Self())
	r.cancels = append(r.cancels, o.Bus.Subscribe(subject, r.receive), o.Bus.OnLoss(r.lost))
	return r
}

// Run follows the nodes and publishes the servers of this one until ctx ends.
func (r *Replica) Run(ctx context.Context) {
	defer func() {
		for _, cancel := range r.cancels {
			cancel()
		}
	}()
	tick := time.NewTicker(checkPace)
	defer tick.Stop()
	parts := time.NewTicker(partEvery)
	defer parts.Stop()
	parts.Stop()
	for {
		nodes := r.opt.Bus.Changed()
		r.follow()
		select {
		case <-ctx.Done():
			return
		case <-nodes:
		case <-tick.C:
			r.askAgain()
		case a := <-r.asks:
			r.begin(a)
			parts.Reset(partEvery)
		case <-parts.C:
			if r.sendParts(); len(r.jobs) == 0 {
				parts.Stop()
			}
		case <-r.opt.Registry.Changed(r.serial):
			began := time.Now()
			select {
			case <-ctx.Done():
				return
			case <-time.After(collect):
			}
			r.publish()
			r.metrics.delay.Observe(time.Since(began).Seconds())
		}
	}
}

// follow begins to follow nodes that came or restarted, and gives up those that left.
func (r *Replica) follow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	live := make(map[string]bool)
	for _, node := range r.opt.Bus.Nodes() {
		incarnation := r.opt.Bus.Incarnation(node)
		if node == r.opt.Bus.Self() || incarnation == 0 {
			continue
		}
		live[node] = true
		p := r.peers[node]
		if p == nil || p.incarnation != incarnation {
			if p != nil {
				r.opt.Registry.Orphan(node, r.opt.RestoreFor())
			}
			p = &peer{incarnation: incarnation, round: r.nextRound(), restarted: r.known[node] != incarnation, wanted: true}
			if len(r.known) >= maxKnown {
				clear(r.known) // names change with every start; the servers then stay longer than they need
			}
			r.peers[node], r.known[node] = p, incarnation
			r.ask(node, p)
		}
	}
	for node := range r.peers {
		if !live[node] {
			delete(r.peers, node)
			delete(r.jobs, node)
			r.opt.Registry.Orphan(node, r.opt.RestoreFor())
		}
	}
}

// nextRound returns a number that no round of a node has. r.mu is held.
func (r *Replica) nextRound() uint32 {
	r.asked++
	return uint32(r.asked)
}

// ask requests the complete list of a node. r.mu is held.
func (r *Replica) ask(node string, p *peer) {
	p.wanted, p.receiving, p.last = true, false, time.Now()
	p.round = r.nextRound()
	p.number = r.asked
	r.metrics.asked.Inc()
	_ = r.opt.Bus.Send(node, subject, message{kindAsk, p.number}.append(nil)) // askAgain repeats it
}

// askAgain repeats requests that were not answered.
func (r *Replica) askAgain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for node, p := range r.peers {
		pause := askPause
		if p.receiving {
			pause = askAgain
		}
		if p.wanted && time.Since(p.last) >= pause {
			r.ask(node, p)
		}
	}
}

// lost wants the complete list of a node of which messages were lost.
func (r *Replica) lost(from string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.peers[from]; p != nil {
		r.want(from, p)
	}
}

// want requests the complete list, at once if the last request was some time ago.
// r.mu is held.
func (r *Replica) want(node string, p *peer) {
	p.wanted, p.receiving, p.since = true, false, time.Time{}
	if time.Since(p.last) >= askPause {
		r.ask(node, p)
	}
}

// receive handles a message of another node.
func (r *Replica) receive(from string, data []byte) {
	m, items, err := parseMessage(data)
	switch {
	case errors.Is(err, errVersion):
		r.metrics.drop(dropVersion)
		return
	case err != nil:
		r.metrics.drop(dropMalformed)
		return
	case m.kind == kindAsk:
		select {
		case r.asks <- ask{from, m.number}:
		default: // it comes again
		}
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.peers[from]
	if p == nil {
		r.metrics.drop(dropEarly) // the complete list is requested when it is followed
		return
	}
	if m.kind == kindBatch {
		gap := p.next != 0 && m.number != p.next
		p.next = m.number + 1
		r.apply(from, p, items)
		if gap {
			r.metrics.gaps.Inc()
			r.want(from, p)
		}
		return
	}
	if m.number != p.number || !p.wanted {
		return // of an earlier request
	}
	p.last = time.Now()
	switch m.kind {
	case kindBegin:
		p.receiving, p.items = true, 0
	case kindPart:
		if p.receiving {
			p.items += r.apply(from, p, items)
		}
	case kindEnd:
		r.end(from, p, items)
	}
}

// end handles the end of a complete list. r.mu is held.
func (r *Replica) end(from string, p *peer, items []byte) {
	if !p.receiving || len(items) != 8 || binary.BigEndian.Uint64(items) != p.items {
		r.want(from, p) // a part is missing
		return
	}
	var keep time.Duration
	if p.restarted {
		keep = r.opt.RestoreFor()
	}
	r.opt.Registry.EndRound(from, p.round, keep)
	p.wanted, p.receiving, p.restarted, p.since = false, false, false, time.Now()
	r.opt.Log.Info().Str("node", from).Uint64("servers", p.items).Msg("the list of another node is complete")
}

// apply lists or removes the servers of some items and returns their number. r.mu is
// held.
func (r *Replica) apply(node string, p *peer, items []byte) (n uint64) {
	now := time.Now()
	for len(items) > 0 {
		one, rest, err := nextItem(items)
		if err != nil {
			r.metrics.drop(dropMalformed)
			break
		}
		items = rest
		n++
		it, err := r.decoder.item(one, node, now)
		if err != nil {
			r.metrics.drop(dropMalformed)
			continue
		}
		r.metrics.servers.WithLabelValues("in").Inc()
		s := &it.server
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
	return n
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
		out[node] = State{Servers: out[node].Servers, Complete: !p.since.IsZero()}
	}
	return out
}
