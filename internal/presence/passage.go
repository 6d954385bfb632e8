package presence

import (
	"time"

	"github.com/respawnd/respawnd/storage"
)

// Passage is an event on its way to the node of its receiver, see [Hub.Dispatch].
type Passage struct {
	hub    *Clustered
	event  *sentEvent // nil: it did not begin, known is the answer
	packet []byte
	hold   bool // it is kept until it is settled
	sent   bool // once
	known  answer
}

// Wait returns the result that Send would return. It is called once.
func (p *Passage) Wait() (delivered bool, err error) {
	switch p.answer() {
	case answerTaken:
		return true, nil
	case answerAbsent:
		return false, ErrUnreachable
	case answerRefused:
	}
	return false, nil
}

// Dispatch implements Hub.
func (c *Clustered) Dispatch(to storage.ProfileID, e Event, after *Passage) *Passage {
	nodes := c.nodesOf(to)
	if len(nodes) != 1 || c.here(to) {
		return nil
	}
	var last uint64
	if after != nil {
		if after.event == nil || after.event.node != nodes[0] {
			return nil
		}
		got, answered := c.post.answerOf(after.event)
		switch {
		case !answered:
			last = after.event.id
		case got != answerTaken:
			return nil // its sender may store it first
		}
	}
	return c.begin(nodes[0], to, e, last)
}

// begin sends an event to a node. after is the id of the event that must arrive before it,
// 0: none.
func (c *Clustered) begin(node string, to storage.ProfileID, e Event, after uint64) *Passage {
	_, hold := Stored(e)
	s := &sentEvent{node: node, to: to, event: e, weight: weightOf(e), at: time.Now(), done: make(chan answer, 1)}
	if !c.post.add(s) {
		c.metrics.passed.WithLabelValues(passFull).Inc()
		return &Passage{known: answerAbsent}
	}
	p := parcel{id: s.id, after: after, to: to, event: withReceipt(e, nil)}
	if hold {
		p.flags = flagHold
	}
	if s.behind {
		p.flags |= flagBehind
	}
	b, ok := p.appendTo(c.header(kindEvent))
	if !ok {
		c.post.drop(s)
		return &Passage{known: answerRefused}
	}
	return &Passage{hub: c, event: s, packet: b, hold: hold, sent: c.to(node, b) == nil}
}

// answer waits for the answer: answerAbsent if the player or the node is not there.
func (p *Passage) answer() answer {
	if p.event == nil {
		return p.known
	}
	c := p.hub
	got, ok := p.await()
	if !ok {
		c.metrics.passed.WithLabelValues(passUnreachable).Inc()
		return answerAbsent
	}
	if got != answerTaken || !p.hold {
		c.post.drop(p.event)
	}
	c.metrics.passed.WithLabelValues(passNames[got]).Inc()
	return got
}

// await waits until the event is answered, and sends it again now and then. ok is false if
// it is not.
func (p *Passage) await() (got answer, ok bool) {
	t := time.NewTimer(passWait)
	defer t.Stop()
	for try := 1; p.sent; try++ {
		select {
		case got, ok = <-p.event.done:
			return got, ok
		case <-t.C:
		}
		if try >= p.hub.tries() {
			break
		}
		p.sent = p.hub.to(p.event.node, p.packet) == nil
		t.Reset(passWait)
	}
	if p.hub.post.giveUp(p.event) {
		p.hub.cut.Store(true)
		return 0, false
	}
	got, ok = <-p.event.done // it came just now
	return got, ok
}

// tries returns how often an event is sent that is not answered.
func (c *Clustered) tries() int {
	if c.down.Load() {
		return passTriesAlone
	}
	return passTries
}

// answerOf returns the answer to an event, if it has one.
func (p *post) answerOf(s *sentEvent) (got answer, answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return s.got, s.answered
}
