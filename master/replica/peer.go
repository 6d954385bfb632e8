package replica

import (
	"context"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/wake"
)

// askPause is the least time between two readings of the complete list of a node: messages are
// rarely lost alone.
const askPause = time.Second

// peer is a live node whose list is followed. Replica.mu guards it.
type peer struct {
	incarnation uint64
	next        uint64 // number of its next batch; 0: any
	round       uint32 // of the complete list that is read, or was
	restarted   bool   // it may not know all servers that it had
	complete    bool   // its list is all here
	lost        bool   // messages were lost since the complete list was requested
	// touched are the servers that batches named since then: what they say is followed by all that
	// changes later, so parts of the list do not overrule it. nil: the list is not being read.
	touched map[netip.AddrPort]struct{}
	wanted  chan struct{} // has one token if the complete list is to be read
	end     context.CancelFunc
}

// want has the complete list read. r.mu is held.
func (p *peer) want() {
	p.complete, p.lost = false, true
	wake.Up(p.wanted)
}

// follow begins to follow nodes that came or restarted, and gives up those that left.
func (r *Replica) follow(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	live := make(map[string]bool)
	for _, node := range r.opt.Bus.Nodes() {
		incarnation := r.opt.Bus.Incarnation(node)
		if node == r.opt.Bus.Self() || incarnation == 0 {
			continue
		}
		live[node] = true
		if p := r.peers[node]; p == nil || p.incarnation != incarnation {
			r.leave(node)
			r.meet(ctx, node, incarnation)
		}
	}
	for node := range r.peers {
		if !live[node] {
			r.leave(node)
		}
	}
}

// meet begins to follow a node. r.mu is held.
func (r *Replica) meet(ctx context.Context, node string, incarnation uint64) {
	if len(r.known) >= maxKnown {
		clear(r.known) // names change with every start; the servers then stay longer than they need
	}
	p := &peer{incarnation: incarnation, round: r.nextRound(), restarted: r.known[node] != incarnation, wanted: make(chan struct{}, 1)}
	ctx, p.end = context.WithCancel(ctx)
	r.peers[node], r.known[node] = p, incarnation
	p.want()
	r.readers.Go(func() { r.read(ctx, node, p) })
}

// leave ceases to follow a node, if it was followed: its servers stay for a time. r.mu is held.
func (r *Replica) leave(node string) {
	p := r.peers[node]
	if p == nil {
		return
	}
	p.end()
	delete(r.peers, node)
	r.opt.Registry.Orphan(node, r.opt.RestoreFor())
	r.progress()
}

// nextRound returns a number that no round of a node has. r.mu is held.
func (r *Replica) nextRound() uint32 {
	r.rounds++
	return r.rounds
}

// read reads the complete list of a node whenever it is wanted, until ctx ends.
func (r *Replica) read(ctx context.Context, node string, p *peer) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wanted:
		}
		err := r.readWhole(ctx, node, p)
		if err != nil && ctx.Err() == nil {
			r.opt.Log.Debug().Err(err).Str("node", node).Msg("the list of another node is read again")
			r.mu.Lock()
			p.want()
			r.mu.Unlock()
		}
		clock.Pause(ctx, askPause)
	}
}

// readWhole reads the complete list of a node once.
func (r *Replica) readWhole(ctx context.Context, node string, p *peer) error {
	r.metrics.asked.Inc()
	r.mu.Lock()
	p.round, p.lost, p.touched = r.nextRound(), false, make(map[netip.AddrPort]struct{})
	ask := message{kindFirst, uint64(p.round)}
	r.mu.Unlock()
	for {
		answer, err := r.opt.Bus.Request(ctx, node, subjectPart, ask.append(nil))
		if err != nil {
			return err
		}
		if last, err := r.receivePart(node, p, answer); last || err != nil {
			return err
		}
		ask.kind = kindNext
	}
}

// receivePart handles a part of the complete list of a node.
func (r *Replica) receivePart(node string, p *peer, part []byte) (last bool, err error) {
	m, items, err := parseMessage(part, kindPart, kindLast)
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.next == 0 {
		p.next = m.number + 1
	}
	r.apply(node, p, items, p.touched)
	if m.kind == kindLast {
		r.end(node, p)
	}
	return m.kind == kindLast, nil
}

// end handles the end of the complete list of a node, which is right unless messages were lost
// meanwhile: then it is wanted again. r.mu is held.
func (r *Replica) end(node string, p *peer) {
	p.touched = nil
	if p.lost || r.peers[node] != p {
		return
	}
	var keep time.Duration
	if p.restarted {
		keep = r.opt.RestoreFor()
	}
	r.opt.Registry.EndRound(node, p.round, keep)
	p.restarted, p.complete = false, true
	r.progress()
	r.opt.Log.Info().Str("node", node).Int("servers", r.opt.Registry.RemoteCounts()[node]).Msg("the list of another node is complete")
}

// progress wakes those who wait for complete lists. r.mu is held.
func (r *Replica) progress() {
	close(r.completed)
	r.completed = make(chan struct{})
}

// Await waits until the lists of all live nodes are complete here, while Run runs. It returns the
// nodes whose lists are not when ctx ends.
func (r *Replica) Await(ctx context.Context) (missing []string) {
	for {
		nodes := r.opt.Bus.Changed()
		r.mu.Lock()
		completed := r.completed
		missing = nil
		for _, node := range r.opt.Bus.Nodes() {
			if p := r.peers[node]; node != r.opt.Bus.Self() && (p == nil || !p.complete) {
				missing = append(missing, node)
			}
		}
		r.mu.Unlock()
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return missing
		case <-nodes:
		case <-completed:
		}
	}
}
