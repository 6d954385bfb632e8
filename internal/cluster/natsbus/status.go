package natsbus

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// Peer is the state of a node as this one sees it.
type Peer struct {
	Name    string
	Self    bool
	Live    bool
	Version string
	Schema  int
	Started time.Time     // by its own clock
	Heard   time.Duration // since its last message; 0 for this node
	Clock   time.Duration // how far its clock is ahead of the one of this node
	Ping    time.Duration // time of a request; 0: not known
}

// Peers returns the nodes that were there since this one started, sorted by name.
func (b *Bus) Peers() []Peer {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []Peer{{
		Name: b.opt.Node, Self: true, Live: true, Version: b.opt.Version, Schema: b.opt.Schema, Started: time.Unix(0, int64(b.incarnation)),
	}}
	for _, p := range b.peers {
		one := Peer{
			Name: p.name, Live: p.live, Version: p.beat.Version, Schema: p.beat.Schema,
			Started: time.Unix(0, int64(p.incarnation)), Heard: time.Since(p.heard),
		}
		if p.pinged {
			one.Clock, one.Ping = p.offset, p.rtt
		}
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b Peer) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// ErrTwin reports that another node has the name of this one.
var ErrTwin = errors.New("cluster.node: another node of the cluster has the name of this one, which keeps apart")

// Trouble returns what an operator should look at: ErrTwin, or the nodes that were
// there and are not any more; nil: nothing.
func (b *Bus) Trouble() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.apart(time.Now()) {
		return ErrTwin
	}
	var gone []string
	for _, p := range b.peers {
		if !p.live {
			gone = append(gone, p.name)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	slices.Sort(gone)
	return errors.New("nodes of the cluster that are gone: " + strings.Join(gone, ", "))
}
