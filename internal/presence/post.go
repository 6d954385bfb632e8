package presence

import (
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/wake"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of events to players of other nodes.
const (
	// passWait is how long a node waits for the answer to an event before it sends it
	// again, passTries times in all.
	// While the store is away, so that the event cannot be stored, it is passTriesAlone times.
	passWait       = time.Second
	passTries      = 2
	passTriesAlone = 8
	// maxPost bounds the events that wait for an answer or are kept until they are
	// settled, and maxPostBytes their texts. Over it a sender stores its event.
	maxPost      = 1 << 16
	maxPostBytes = 32 << 20
	// heldLong is the age from which the receiver's node is asked whether an event must still
	// be kept: its report may be lost.
	heldLong = 15 * time.Second
	// keepPost is how long an unsettled event is kept while the
	// receiver's node lives: that node stores it if it cannot deliver it.
	keepPost = 15 * time.Minute
	// awaitTime is how long a message waits for older ones that another node has to store. It
	// looks at them every awaitStep.
	awaitTime = 10 * time.Second
	awaitStep = 50 * time.Millisecond
	// maxRecent is the number of events of one node whose answers are remembered. A
	// sender repeats one after passWait.
	maxRecent = 1 << 14
	// maxEarly is the number of events of one node that may wait for one before them.
	// Over it they are forgotten: their senders repeat them.
	maxEarly = 1 << 10
	// settlePause is how long settled events are collected before they are reported.
	settlePause = 50 * time.Millisecond
)

// post is the events between this node and the others.
type post struct {
	wake chan struct{} // has a token when there is something in settled

	mu      sync.Mutex // guards the fields below
	last    uint64
	out     map[uint64]*sentEvent
	to      map[storage.ProfileID][]*sentEvent // the same by receiver, in their order
	owed    map[owedTo]struct{}                // receivers whose node did not take an event, which may be stored now
	bytes   int
	recent  map[string]*recentEvents
	settled map[string][]uint64             // of other nodes, to be reported
	open    map[string]map[uint64]time.Time // of other nodes, not settled yet: when they came
}

// owedTo is a receiver on a node.
type owedTo struct {
	node string
	to   storage.ProfileID
}

// sentEvent is an event to a player of another node.
type sentEvent struct {
	id     uint64
	node   string
	to     storage.ProfileID
	event  Event
	weight int
	at     time.Time
	done   chan answer // gets the answer; closed if the node is gone
	behind bool        // it is sent with flagBehind

	answered bool   // mu of post
	got      answer // if answered; mu of post
}

// recentEvents are the events that came from a node, with their answers.
type recentEvents struct {
	answers map[uint64]answer
	order   []uint64 // ring, oldest at next when it is full
	next    int
	early   map[uint64]*parcel // events that wait for the one before them, by its id
}

func newPost() post {
	return post{
		wake: make(chan struct{}, 1), out: make(map[uint64]*sentEvent), to: make(map[storage.ProfileID][]*sentEvent),
		owed:   make(map[owedTo]struct{}),
		recent: make(map[string]*recentEvents), settled: make(map[string][]uint64), open: make(map[string]map[uint64]time.Time),
	}
}

// Send implements Hub. An event for a player of another node is acknowledged by it.
// One that would be missed is kept until it has arrived, and stored if that node dies
// before.
func (c *Clustered) Send(ctx context.Context, to storage.ProfileID, e Event) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	delivered := c.deliver(to, e)
	nodes := c.nodesOf(to)
	if _, ok := e.(BuddyRequest); ok && len(nodes) == 0 && !delivered {
		c.broadcast(to, e)
	}
	var err error
	for _, node := range nodes {
		switch c.begin(node, to, e, 0).answer() {
		case answerTaken:
			delivered = true
		case answerAbsent:
			err = ErrUnreachable
		case answerRefused:
		}
	}
	if delivered {
		return true, nil
	}
	return false, err
}

// nodesOf returns the other nodes that a profile is signed in on.
func (c *Clustered) nodesOf(id storage.ProfileID) (nodes []string) {
	for node := range c.far.Elsewhere(id) {
		nodes = append(nodes, node)
	}
	return nodes
}

// waiting is lookIn on all nodes: a session that came just now may have read the mailbox
// before. A node that does not hear it learns it from a beat.
func (c *Clustered) waiting(to storage.ProfileID) {
	c.deliver(to, MessagesWaiting{})
	c.broadcast(to, MessagesWaiting{})
	c.mail.add(to)
	if c.cut.Load() {
		c.pulse.beatNow()
	}
}

// broadcast sends an event to all nodes without waiting for answers.
func (c *Clustered) broadcast(to storage.ProfileID, e Event) {
	p := parcel{to: to, event: e}
	if b, ok := p.appendTo(c.header(kindEvent)); ok {
		c.toAll(b)
	}
}

// weightOf returns the size of the text of an event.
func weightOf(e Event) int {
	switch e := e.(type) {
	case Message:
		return len(e.Text)
	case BuddyRequest:
		return len(e.Reason)
	case Invite:
		return len(e.Location)
	}
	return 0
}

// add gives an event its id. It returns false if there is no room.
func (p *post) add(s *sentEvent) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.out) >= maxPost || p.bytes+s.weight > maxPostBytes {
		return false
	}
	p.last++
	s.id = p.last
	p.out[s.id] = s
	p.to[s.to] = append(p.to[s.to], s)
	p.bytes += s.weight
	_, s.behind = p.owed[owedTo{s.node, s.to}]
	return true
}

func (p *post) drop(s *sentEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(s)
}

// remove is drop with mu held.
func (p *post) remove(s *sentEvent) {
	if p.out[s.id] != s {
		return
	}
	delete(p.out, s.id)
	p.bytes -= s.weight
	if rest := slices.DeleteFunc(p.to[s.to], func(o *sentEvent) bool { return o == s }); len(rest) > 0 {
		p.to[s.to] = rest
	} else {
		delete(p.to, s.to)
	}
}

// behind returns the events of a profile to another that may not have been delivered: those
// taken by other nodes than some, and those older than a session here, which does not get
// them from there. If there is neither, the next message goes into the mailbox, where those
// that come back later are before it: nodes that are not on the bus do not count.
func (p *post) behind(from, to storage.ProfileID, nodes []string, session time.Time, onBus []string) (events []*sentEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.to[to] {
		missed := !slices.Contains(nodes, s.node) || !s.at.After(session)
		if len(nodes) == 0 && session.IsZero() {
			missed = slices.Contains(onBus, s.node)
		}
		if m, _ := Stored(s.event); s.answered && m.From == from && missed {
			events = append(events, s)
		}
	}
	return events
}

// Await implements Hub. A node that does not report events within awaitTime lives, and
// stores them itself. They need not be kept for longer.
func (c *Clustered) Await(ctx context.Context, from, to storage.ProfileID) {
	waited := time.Duration(0)
	for ; ; waited += awaitStep {
		events := c.post.behind(from, to, c.nodesOf(to), c.newest(to), c.bus.Nodes())
		if len(events) == 0 {
			break
		}
		if waited >= awaitTime {
			for _, s := range events {
				c.post.drop(s)
			}
			return
		}
		if !clock.Pause(ctx, awaitStep) {
			return
		}
	}
	_ = c.Flush(ctx, to) // if it fails, so does Leave
	if waited > 0 {
		c.waiting(to) // they may be in the mailbox
	}
}

// giveUp forgets an event unless it was answered, and reports whether it did.
func (p *post) giveUp(s *sentEvent) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.answered {
		return false
	}
	s.answered, s.got = true, answerAbsent
	p.remove(s)
	p.owe(s)
	return true
}

// owe notes that an event which its node did not take may be in the mailbox before the next one
// that it takes. mu is held.
func (p *post) owe(s *sentEvent) {
	if _, hold := Stored(s.event); !hold {
		return
	}
	if len(p.owed) >= maxPost {
		clear(p.owed) // their nodes learn it from a beat, perhaps after a newer message
	}
	p.owed[owedTo{s.node, s.to}] = struct{}{}
}

// answer notes the answer to an event.
func (p *post) answer(id uint64, a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.out[id]; s != nil && !s.answered {
		s.answered, s.got = true, a
		s.done <- a
		if s.behind && a == answerTaken {
			delete(p.owed, owedTo{s.node, s.to})
		}
	}
}

// left ends the events to a node that left the bus and has not answered them.
func (p *post) left(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.out {
		if s.node == node && !s.answered {
			p.remove(s)
			p.owe(s)
			s.answered, s.got = true, answerAbsent
			close(s.done)
		}
	}
}

// Flush implements Hub. A player who signed in here after his node left the bus gets what that
// node took and may not have shown, before anything newer: it is not known yet whether it died.
func (c *Clustered) Flush(ctx context.Context, to storage.ProfileID) error {
	if c.here(to) {
		c.keepLost(c.post.stranded(to, c.bus.Nodes()))
	}
	return c.backlog.Flush(ctx, to)
}

// stranded removes the events of a profile that nodes took which are not on the bus, and returns
// those that must not be missed, in their order.
func (p *post) stranded(to storage.ProfileID, onBus []string) (lost []*sentEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range slices.Clone(p.to[to]) {
		if !s.answered || slices.Contains(onBus, s.node) {
			continue
		}
		p.remove(s)
		if _, hold := Stored(s.event); hold {
			lost = append(lost, s)
		}
	}
	return lost
}

// died forgets a dead node, and returns the events that it took but may not have delivered,
// in their order.
func (p *post) died(node string) (lost []*sentEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.out {
		if s.node != node || !s.answered {
			continue
		}
		p.remove(s)
		if _, hold := Stored(s.event); hold {
			lost = append(lost, s)
		}
	}
	maps.DeleteFunc(p.owed, func(o owedTo, _ struct{}) bool { return o.node == node })
	delete(p.recent, node)
	delete(p.settled, node)
	delete(p.open, node)
	slices.SortFunc(lost, func(a, b *sentEvent) int { return cmp.Compare(a.id, b.id) })
	return lost
}

// kept returns the ids of the events of at least some age that are kept, by nodes.
func (p *post) kept(age time.Duration) map[string][]uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[string][]uint64)
	for id, s := range p.out {
		if s.answered && time.Since(s.at) >= age {
			all[s.node] = append(all[s.node], id)
		}
	}
	return all
}

// askHeld asks the other nodes whether events of some age must still be kept.
func (c *Clustered) askHeld(age time.Duration) { c.sendIDs(kindHeld, c.post.kept(age)) }

// sendIDs sends ids of events to nodes.
func (c *Clustered) sendIDs(k kind, all map[string][]uint64) {
	for node, ids := range all {
		for part := range slices.Chunk(ids, maxWireIDs) {
			_ = c.to(node, appendIDs(c.header(k), part))
		}
	}
}

// receiveHeld reports events of a node again that are settled.
func (c *Clustered) receiveHeld(from string, b []byte) error {
	in := cursor{b: b}
	ids := in.ids(maxWireIDs)
	if in.bad {
		return errWire
	}
	for _, id := range ids {
		if !c.post.isOpen(from, id) {
			c.post.settle(from, id)
		}
	}
	return nil
}

// isOpen reports whether an event of a node came not long ago and is not settled.
func (p *post) isOpen(node string, id uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, open := p.open[node][id]
	return open && time.Since(at) < keepPost
}

// expect notes that an event of a node will be settled, or that it will not.
func (p *post) expect(node string, id uint64, settled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[node] == nil {
		p.open[node] = make(map[uint64]time.Time)
	}
	if p.open[node][id] = time.Now(); !settled {
		delete(p.open[node], id)
	}
}

// held returns the number of events that wait or are kept.
func (p *post) held() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.out)
}

// receiveEvent delivers an event of another node, once, and those that came before it
// although they follow it.
func (c *Clustered) receiveEvent(from string, b []byte) error {
	m, err := parseParcel(b)
	if err != nil {
		return err
	}
	if m.id == 0 {
		c.deliver(m.to, m.event)
		return nil
	}
	for next := &m; next != nil; next = c.post.follower(from, next.id) {
		got, repeated := c.post.recall(from, next.id)
		if !repeated {
			if c.post.early(from, next) {
				return nil
			}
			got = c.take(from, next)
			c.post.remember(from, next.id, got)
		}
		_ = c.to(from, append(binary.AppendUvarint(c.header(kindAck), next.id), byte(got)))
	}
	return nil
}

// take delivers an event.
func (c *Clustered) take(from string, m *parcel) answer {
	e := m.event
	if m.flags&flagBehind != 0 {
		c.deliver(m.to, MessagesWaiting{})
	}
	if m.flags&flagHold != 0 {
		c.post.expect(from, m.id, true)
		e = withReceipt(e, &Receipt{settled: func() { c.post.settle(from, m.id) }})
	}
	if c.deliver(m.to, e) {
		return answerTaken
	}
	c.post.expect(from, m.id, false)
	if c.here(m.to) {
		return answerRefused
	}
	return answerAbsent
}

// here reports whether a profile is signed in on this node.
func (c *Clustered) here(id storage.ProfileID) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.profiles[id] != nil
}

// recall returns the answer to an event that came before.
func (p *post) recall(node string, id uint64) (got answer, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.recent[node]; r != nil {
		got, ok = r.answers[id]
	}
	return got, ok
}

// remember notes the answer to an event of a node.
func (p *post) remember(node string, id uint64, a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.of(node)
	if len(r.order) < maxRecent {
		r.order = append(r.order, id)
	} else {
		delete(r.answers, r.order[r.next])
		r.order[r.next] = id
		r.next = (r.next + 1) % maxRecent
	}
	r.answers[id] = a
}

// of returns the recent events of a node. mu is held.
func (p *post) of(node string) *recentEvents {
	r := p.recent[node]
	if r == nil {
		r = &recentEvents{answers: make(map[uint64]answer), early: make(map[uint64]*parcel)}
		p.recent[node] = r
	}
	return r
}

// early keeps an event whose predecessor has not come, and reports whether that is so.
func (p *post) early(node string, m *parcel) bool {
	if m.after == 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.of(node)
	if _, there := r.answers[m.after]; there {
		return false
	}
	if len(r.early) >= maxEarly {
		clear(r.early) // some may wait for events that their senders gave up
	}
	r.early[m.after] = m
	return true
}

// follower removes the event that waited for another one, and returns it; nil: none did.
func (p *post) follower(node string, id uint64) *parcel {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.recent[node]
	if r == nil {
		return nil
	}
	m := r.early[id]
	delete(r.early, id)
	return m
}

// settle has the sender of an event informed that it need not be kept.
func (p *post) settle(node string, id uint64) {
	p.mu.Lock()
	delete(p.open[node], id)
	p.settled[node] = append(p.settled[node], id)
	p.mu.Unlock()
	wake.Up(p.wake)
}

// sendSettled reports settled events until ctx ends.
func (c *Clustered) sendSettled(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.post.wake:
		}
		if !clock.Pause(ctx, settlePause) {
			return
		}
		c.post.mu.Lock()
		all := maps.Clone(c.post.settled)
		clear(c.post.settled)
		c.post.mu.Unlock()
		c.sendIDs(kindSettled, all)
	}
}

func (c *Clustered) receiveAck(b []byte) error {
	in := cursor{b: b}
	id, got := in.number(maxID), answer(in.byte())
	if in.bad || got > answerAbsent {
		return errWire
	}
	c.post.answer(id, got)
	return nil
}

// maxID is the highest id of an event.
const maxID = 1<<64 - 1

func (c *Clustered) receiveSettled(b []byte) error {
	in := cursor{b: b}
	ids := in.ids(maxWireIDs)
	if in.bad {
		return errWire
	}
	c.post.mu.Lock()
	defer c.post.mu.Unlock()
	for _, id := range ids {
		if s := c.post.out[id]; s != nil && s.answered {
			c.post.remove(s)
		}
	}
	return nil
}

// keepLost keeps events whose receiver's node is gone until they are stored.
func (c *Clustered) keepLost(lost []*sentEvent) {
	for _, s := range lost {
		m, _ := Stored(s.event)
		m.Again = true
		c.keep(s.to, []storage.Message{m})
	}
	wake.Up(c.wake)
}
