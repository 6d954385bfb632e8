package presence

import (
	"context"
	"slices"
	"time"

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

// compareNodes joins new nodes and leaves those that are gone.
func (c *Clustered) compareNodes() {
	live := c.bus.Nodes()
	for _, node := range live {
		if node != c.bus.Self() {
			c.knows(node, c.bus.Incarnation(node))
		}
	}
	c.far.mu.RLock()
	var gone []string
	for node := range c.far.nodes {
		if !slices.Contains(live, node) {
			gone = append(gone, node)
		}
	}
	c.far.mu.RUnlock()
	for _, node := range gone {
		c.leftNode(node)
	}
}

// knows reports whether messages of an incarnation of a node count. A new one is
// asked for its players.
func (c *Clustered) knows(node string, incarnation uint64) bool {
	if _, known := c.incarnation(node, incarnation); known {
		return true
	}
	c.joining.Lock()
	defer c.joining.Unlock()
	was, known := c.incarnation(node, incarnation)
	if known { // a message and the list of nodes reported it at once
		return true
	}
	if incarnation == 0 || c.bus.Incarnation(node) != incarnation {
		return false
	}
	if was {
		c.leftNode(node)
	}
	switch c.lastOf(node) {
	case 0:
	case incarnation: // it was cut off; before it can pass on anything newer
		c.showMailboxes()
	default:
		c.died(node)
	}
	c.far.mu.Lock()
	delete(c.far.left, node)
	if c.far.nodes[node] == nil {
		c.far.nodes[node] = &farNode{incarnation: incarnation, people: make(map[storage.ProfileID]*far)}
	}
	c.far.mu.Unlock()
	c.ask(node)
	c.askHeld(0)
	return true
}

// incarnation reports whether a node is known, and whether as that incarnation.
func (c *Clustered) incarnation(node string, incarnation uint64) (some, same bool) {
	c.far.mu.RLock()
	defer c.far.mu.RUnlock()
	n := c.far.nodes[node]
	return n != nil, n != nil && n.incarnation == incarnation
}

// lastOf returns the incarnation of a node that left, 0 if it is not remembered. If it comes
// back as the same, it was cut off, and either may have stored messages for players of the other.
func (c *Clustered) lastOf(node string) uint64 {
	c.far.mu.RLock()
	defer c.far.mu.RUnlock()
	return c.far.left[node]
}

// leftNode forgets the players of a node that left the bus. They are offline unless they are
// elsewhere. Whether the node is dead, or only cut off, its beats say.
func (c *Clustered) leftNode(node string) {
	c.far.mu.Lock()
	n := c.far.nodes[node]
	if n == nil {
		c.far.mu.Unlock()
		return
	}
	if len(c.far.left) >= maxLeft {
		clear(c.far.left)
	}
	c.far.left[node] = n.incarnation
	c.post.left(node)
	var changed []storage.ProfileID
	for id := range n.people {
		if c.changes(id, func() { c.far.remove(node, id) }) {
			changed = append(changed, id)
		}
	}
	delete(c.far.nodes, node)
	c.far.mu.Unlock()
	c.oweHere(changed)
	c.pulse.beatNow()
}

// died stores what a dead node took and may not have delivered.
func (c *Clustered) died(node string) { c.keepLost(c.post.died(node)) }

// maxLeft bounds the nodes that are remembered after they left.
const maxLeft = 256

// changes calls do and reports whether the status of a profile is another one after
// it. far.mu is held for writing.
func (c *Clustered) changes(id storage.ProfileID, do func()) bool {
	before, was := c.effective(id)
	do()
	after, is := c.effective(id)
	return was != is || !before.Equal(after)
}

// askPause is how long after a loss a node is asked for its players. The answer may be
// lost too.
const askPause = 300 * time.Millisecond

// askSoon asks a node for its players after a pause, once for all losses until then.
func (c *Clustered) askSoon(node string) {
	c.far.mu.Lock()
	defer c.far.mu.Unlock()
	n := c.far.nodes[node]
	if n == nil {
		return
	}
	n.whole = false
	if n.asking {
		return
	}
	n.asking = true
	time.AfterFunc(askPause, func() {
		c.far.mu.Lock()
		n.asking = false
		c.far.mu.Unlock()
		c.ask(node)
	})
}

// askMissing asks nodes for their players unless they are known: all, or one.
func (c *Clustered) askMissing(only string) {
	c.far.mu.RLock()
	var missing []string
	for node, n := range c.far.nodes {
		if !n.whole && !n.asking && (only == "" || node == only) {
			missing = append(missing, node)
		}
	}
	c.far.mu.RUnlock()
	for _, node := range missing {
		c.askSoon(node)
	}
}

// ask asks a node for its players.
func (c *Clustered) ask(node string) { _ = c.to(node, c.header(kindAsk)) }

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
	case kindAsk:
		c.chore.do(func(t *tasks) { t.askers[from] = struct{}{} })
		c.askMissing(from) // it did not hear this node before
	case kindChange:
		err = c.receiveChange(from, b)
	case kindSnapshot:
		err = c.receiveSnapshot(from, b)
	case kindEvent:
		err = c.receiveEvent(from, b)
	case kindAck:
		err = c.receiveAck(b)
	case kindSettled:
		err = c.receiveSettled(b)
	case kindDisplaced:
		err = c.receiveDisplaced(b)
	case kindShow:
		err = c.receiveShow(b)
	case kindHeld:
		err = c.receiveHeld(from, b)
	}
	if err != nil {
		c.metrics.dropped.WithLabelValues(dropMalformed).Inc()
		c.log.Warn().Err(err).Str("node", from).Uint8("kind", uint8(k)).Msg("message of a node was dropped")
	}
}

func (c *Clustered) receiveChange(from string, b []byte) error {
	m, err := parseChange(b)
	if err != nil {
		return err
	}
	c.far.mu.Lock()
	defer c.far.mu.Unlock()
	if c.far.nodes[from] == nil {
		return nil // it left meanwhile
	}
	news := c.changes(m.profile, func() { c.apply(from, m.profile, m.person) })
	switch {
	case !news && m.flags&flagAlways == 0:
		return nil
	case m.flags&flagTold == 0: // the message with the news was lost
		c.oweHere([]storage.ProfileID{m.profile})
		return nil
	}
	st, _ := c.effective(m.profile)
	event := Event(StatusChanged{m.profile, st})
	for _, w := range m.watchers {
		c.deliver(w, event)
	}
	return nil
}

// apply puts a profile into the replica; nil: it is gone. far.mu is held.
func (c *Clustered) apply(from string, id storage.ProfileID, f *far) {
	if f == nil {
		c.far.remove(from, id)
	} else if !c.far.put(from, f) {
		c.metrics.dropped.WithLabelValues(dropFull).Inc()
	}
}

func (c *Clustered) receiveSnapshot(from string, b []byte) error {
	m, err := parseSnapshot(b)
	if err != nil {
		return err
	}
	var changed []storage.ProfileID
	c.far.mu.Lock()
	n := c.far.nodes[from]
	if n == nil {
		c.far.mu.Unlock()
		return nil
	}
	if m.flags&flagFirst != 0 {
		n.round++
		n.begun = true
	}
	for _, f := range m.persons {
		if c.changes(f.profile, func() { c.apply(from, f.profile, f) }) {
			changed = append(changed, f.profile)
		}
	}
	if m.flags&flagLast != 0 {
		for id, f := range n.people {
			if f.round != n.round && c.changes(id, func() { c.far.remove(from, id) }) {
				changed = append(changed, id)
			}
		}
		n.whole, n.begun = n.begun, false
	}
	c.far.mu.Unlock()
	c.oweHere(changed)
	return nil
}

func (c *Clustered) receiveDisplaced(b []byte) error {
	in := cursor{b: b}
	pairs := in.ids(maxWireIDs)
	if in.bad || len(pairs)%2 != 0 {
		return errWire
	}
	run := c.run.Load()
	for pair := range slices.Chunk(pairs, 2) {
		if pair[0] == run {
			c.displace(pair[1])
		}
	}
	return nil
}

func (c *Clustered) receiveShow(b []byte) error {
	in := cursor{b: b}
	flags, ids := in.byte(), in.profiles(2)
	if in.bad || len(ids) != 2 {
		return errWire
	}
	c.far.mu.RLock()
	defer c.far.mu.RUnlock()
	c.showHere(ids[0], ids[1], flags)
	return nil
}
