package presence

import (
	"context"
	"slices"
	"sync"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/storage"
)

// follow follows the nodes that come and go until ctx ends.
func (c *Clustered) follow(ctx context.Context) {
	for {
		changed := c.bus.Changed()
		c.compareNodes()
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// nodes are the other nodes that are live, and those that were, with their incarnations.
type nodes struct {
	mu   sync.Mutex // guards the fields below; held while a node joins or leaves; comes before other locks
	live map[string]uint64
	left map[string]uint64 // at most maxLeft
}

// maxLeft bounds the nodes that are remembered after they left.
const maxLeft = 256

func newNodes() nodes { return nodes{live: make(map[string]uint64), left: make(map[string]uint64)} }

// compareNodes joins new nodes and leaves those that are gone.
func (c *Clustered) compareNodes() {
	live := c.bus.Nodes()
	for _, node := range live {
		if node != c.bus.Self() {
			c.knows(node, c.bus.Incarnation(node))
		}
	}
	c.nodes.mu.Lock()
	defer c.nodes.mu.Unlock()
	for node := range c.nodes.live {
		if !slices.Contains(live, node) {
			c.leftNode(node)
		}
	}
}

// knows reports whether messages of an incarnation of a node count. A new one joins.
func (c *Clustered) knows(node string, incarnation uint64) bool {
	n := &c.nodes
	n.mu.Lock()
	defer n.mu.Unlock()
	switch was := n.live[node]; {
	case was == incarnation && was != 0:
		return true
	case incarnation == 0 || c.bus.Incarnation(node) != incarnation:
		return false
	case was != 0:
		c.leftNode(node)
	}
	switch n.left[node] {
	case 0:
	case incarnation: // it was cut off, and either may have stored messages for players of the other: before newer ones come
		c.showMailboxes()
	default:
		c.died(node)
	}
	delete(n.left, node)
	n.live[node] = incarnation
	c.askHeld(0)
	return true
}

// leftNode notes that a node left the bus. Whether it is dead, or only cut off, its beats say.
// nodes.mu is held.
func (c *Clustered) leftNode(node string) {
	n := &c.nodes
	if len(n.left) >= maxLeft {
		clear(n.left)
	}
	n.left[node] = n.live[node]
	delete(n.live, node)
	c.post.left(node)
	c.pulse.beatNow()
}

// died stores what a dead node took and may not have delivered.
func (c *Clustered) died(node string) { c.keepLost(c.post.died(node)) }

// receive handles a message of another node. It never waits.
func (c *Clustered) receive(from string, b []byte) {
	k, incarnation, b, known := parseHeader(b)
	switch {
	case !known:
		c.metrics.dropped.WithLabelValues(dropVersion).Inc()
		return
	case from == c.bus.Self() || !c.knows(from, incarnation):
		c.metrics.dropped.WithLabelValues(dropNode).Inc()
		return
	}
	var err error
	switch k {
	case kindEvent:
		err = c.receiveEvent(from, b)
	case kindAck:
		err = c.receiveAck(b)
	case kindSettled:
		err = c.receiveSettled(b)
	case kindHeld:
		err = c.receiveHeld(from, b)
	}
	if err != nil {
		c.metrics.dropped.WithLabelValues(dropMalformed).Inc()
		c.log.Warn().Err(err).Str("node", from).Uint8("kind", uint8(k)).Msg("message of a node was dropped")
	}
}

// farChange is a change of a player on another node.
type farChange = cluster.Change[storage.ProfileID, *far]

// changed handles a change on another node.
func (c *Clustered) changed(m farChange) {
	n, err := parseNote(m.Note)
	if err != nil {
		c.metrics.dropped.WithLabelValues(dropMalformed).Inc()
	}
	if m.Old != nil {
		c.sessions.Add(-int64(len(m.Old.sessions)))
	}
	if m.Value != nil {
		c.sessions.Add(int64(len(m.Value.sessions)))
	}
	c.report(m, n)
	run := c.run.Load()
	for pair := range slices.Chunk(n.displaced, 2) {
		if pair[0] == run {
			c.displace(pair[1])
		}
	}
}

// report reports a change to the watchers here. Those of a change that was missed are found in
// the store.
func (c *Clustered) report(m farChange, n note) {
	c.telling.Lock()
	defer c.telling.Unlock()
	before := m.Old
	for node, f := range c.far.Elsewhere(m.Key) {
		if node != m.Node {
			before = newer(before, f)
		}
	}
	old, was := c.shown(m.Key, before)
	st, is := c.effective(m.Key)
	switch news := was != is || !old.Equal(st); {
	case !news && n.flags&flagAlways == 0:
	case n.flags&flagTold != 0:
		c.tell(m.Key, n.watchers, n.flags)
	case c.Local.Count() > 0:
		c.owe(m.Key, false)
	}
}
