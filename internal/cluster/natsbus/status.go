package natsbus

import (
	"errors"
	"fmt"
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
var ErrTwin = errors.New("cluster.node: another node of the cluster has the name of this one, which stays out of the cluster")

// Trouble returns problems for the operator: ErrTwin, or the nodes that are gone, and different
// schemas; nil: nothing.
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
	var texts []string
	if len(gone) > 0 {
		slices.Sort(gone)
		texts = append(texts, "nodes of the cluster that are gone: "+strings.Join(gone, ", "))
	}
	if text := b.schemas(); text != "" {
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}

// schemas describes the live nodes if they know different schemas of the database. b.mu is
// held.
func (b *Bus) schemas() string {
	known := []string{fmt.Sprintf("%s %d", b.opt.Node, b.opt.Schema)}
	differ := false
	for _, p := range b.peers {
		if p.live && p.beat.Schema != 0 && b.opt.Schema != 0 {
			known = append(known, fmt.Sprintf("%s %d", p.name, p.beat.Schema))
			differ = differ || p.beat.Schema != b.opt.Schema
		}
	}
	if !differ {
		return ""
	}
	slices.Sort(known)
	return "nodes of the cluster know different versions of the database schema (" + strings.Join(known, ", ") + "): update the older ones"
}
