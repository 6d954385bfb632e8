package peerchat

import (
	"slices"
	"strconv"
	"time"
)

// incoming is the state of another node while it arrives.
type incoming struct {
	users    map[userID]bool   // of the node, that it did not name yet
	channels map[*channel]bool // owned by the node, that it did not name yet

	channel *channel // the one whose members arrive; nil: they are left out
	adopt   bool     // the node owns it: those that it does not name are no members
	moved   bool     // it was another node's before
	dirty   bool     // it is published already without the sender's state
	members map[*member]bool
}

// outgoing collects events into messages for one node, or for all others if it is empty.
type outgoing struct {
	l   *links
	to  string
	buf []byte
}

func (o *outgoing) add(e *event) {
	b, ok := appendEvent(o.buf, e)
	if !ok {
		o.l.server.metrics.linkDrops.WithLabelValues(linkTooLong).Inc()
		return
	}
	if o.buf = b; len(b) >= messageBytes {
		o.flush()
	}
}

func (o *outgoing) flush() {
	switch {
	case len(o.buf) == 0:
		return
	case o.to == "":
		o.l.sent(o.l.bus.Publish(subjectEvents, o.buf))
	default:
		o.l.sent(o.l.bus.Send(o.to, subjectEvents, o.buf))
	}
	o.buf = o.buf[:0]
}

// sendState sends another node all clients of this one, the channels that it owns, and
// its members of the others.
func (l *links) sendState(to string) {
	out := &outgoing{l: l, to: to}
	out.add(&event{kind: evBegin})
	for _, u := range l.users {
		if u.node == "" {
			out.add(&event{kind: evEnter, info: l.info(u), keys: u.keys.pairs})
		}
	}
	for _, c := range l.hall.channels {
		l.sendChannel(out, c, func(m *member) bool { return c.owner == l.self || m.user.node == "" })
	}
	out.add(&event{kind: evEnd})
	out.flush()
}

// sendChannel sends a channel with some of its members. One that this node does not own
// is left out if there are none.
func (l *links) sendChannel(out *outgoing, c *channel, of func(*member) bool) {
	owned := c.owner == l.self
	if !owned && !slices.ContainsFunc(c.members, of) {
		return
	}
	out.add(&event{kind: evChannel, channel: c.name, rev: c.rev, state: channelState{
		since: c.since, topic: c.topic, flags: c.flags, key: c.key, limit: c.limit, bans: c.bans, keys: c.keys.pairs,
		owned: owned, followed: c.owner == out.to && out.to != "",
	}})
	for _, m := range c.members {
		if of(m) {
			out.add(&event{kind: evMember, channel: c.name, rev: c.rev, info: l.info(m.user), rank: rank{m.op, m.voice, m.owner}, since: m.since, word: m.as, keys: m.keys.pairs})
		}
	}
	out.add(&event{kind: evChannelEnd, channel: c.name, rev: c.rev})
}

// begin begins the state of the sender.
func (l *links) begin() {
	in := &incoming{users: make(map[userID]bool), channels: make(map[*channel]bool)}
	for id := range l.users {
		if id.node == l.from {
			in.users[id] = true
		}
	}
	for folded, c := range l.hall.channels {
		if c.owner == l.from || c.owner == "" && l.owner(folded) == l.from {
			in.channels[c] = true
		}
	}
	l.incoming[l.from] = in
}

// end ends the state of the sender: users and channels that it did not name do not exist.
func (l *links) end() {
	in := l.incoming[l.from]
	if in == nil {
		return
	}
	delete(l.incoming, l.from)
	delete(l.missed, l.from)
	for id := range in.users {
		if u := l.users[id]; u != nil {
			l.forget(u, "Connection reset")
		}
	}
	for c := range in.channels {
		l.unnamed(c)
	}
	if !l.awaited[l.from] {
		return
	}
	if delete(l.awaited, l.from); len(l.awaited) == 0 {
		l.settle()
	}
}

// unnamed handles a channel that its owner, the sender, does not know: clients of this node
// make it known there, others are no members.
func (l *links) unnamed(c *channel) {
	folded := foldChannel(c.name)
	if l.hall.channels[folded] != c || c.owner != l.from && c.owner != "" || l.owner(folded) == l.self {
		return
	}
	c.owner = ""
	for _, m := range slices.Clone(c.members) {
		if m.user.node != "" {
			l.hall.part(m, "")
		}
	}
	if len(c.members) == 0 {
		l.hall.end(c)
		return
	}
	out := &outgoing{l: l, to: l.from}
	l.sendChannel(out, c, func(*member) bool { return true })
	out.flush()
}

// settle makes this node the owner of the channels that belong to it now, and publishes
// them.
func (l *links) settle() {
	out := &outgoing{l: l}
	for folded, c := range l.hall.channels {
		if c.owner == l.self || l.owner(folded) != l.self {
			continue
		}
		if len(c.members) == 0 {
			l.hall.end(c)
			continue
		}
		c.owner = l.self
		c.rev++
		if len(l.live) > 0 {
			l.sendChannel(out, c, func(*member) bool { return true })
		}
	}
	out.flush()
	l.retry()
}

// beginChannel begins a channel as the sender knows it. From its owner it replaces the local state.
// The node that owns it merges the states of the others.
func (l *links) beginChannel(e *event) {
	in := l.incoming[l.from]
	if in == nil {
		in = &incoming{}
		l.incoming[l.from] = in
	}
	folded := foldChannel(e.channel)
	c, owner := l.hall.channels[folded], l.owner(folded)
	in.channel, in.adopt, in.dirty, in.members = nil, false, false, nil
	if c != nil {
		delete(in.channels, c)
	}
	switch {
	case owner == l.from && e.state.owned:
		if c == nil {
			c = l.hall.make(e.channel, e.state.since)
		}
		in.channel, in.adopt, in.moved = c, true, c.owner != l.from
		in.members = make(map[*member]bool)
		for _, m := range c.members {
			in.members[m] = true
		}
		l.hall.adopt(c, &e.state)
		c.owner, c.rev = l.from, e.rev
	case owner != l.self, e.state.followed && c != nil && c.owner == l.self:
	case c == nil:
		c = l.hall.make(e.channel, e.state.since)
		l.hall.adopt(c, &e.state)
		in.channel, c.rev = c, e.rev
		if len(l.awaited) == 0 {
			c.owner, in.dirty = l.self, true
		}
	default:
		in.channel, in.dirty = c, c.owner == l.self
		if e.rev > c.rev { // more happened there
			l.hall.adopt(c, &e.state)
			c.rev = e.rev
		}
	}
}

// republish sends all nodes a channel that this node owns.
func (l *links) republish(c *channel) {
	if len(l.live) == 0 {
		return
	}
	c.rev++
	out := &outgoing{l: l}
	l.sendChannel(out, c, func(*member) bool { return true })
	out.flush()
}

// addMember adds a member of the channel that the sender has begun.
func (l *links) addMember(e *event) {
	in := l.incoming[l.from]
	if in == nil || in.channel == nil || foldChannel(e.channel) != foldChannel(in.channel.name) {
		return
	}
	c := in.channel
	u := l.learn(&e.info)
	if u == nil {
		return
	}
	m := u.member(c)
	if m != nil {
		delete(in.members, m)
		if !in.adopt { // merged: the state of one node is added to that of the others
			e.rank.op, e.rank.voice, e.rank.owner = e.rank.op || m.op, e.rank.voice || m.voice, e.rank.owner || m.owner
		}
		l.showRank(m, e.rank)
	} else {
		r := e.rank
		e.rank = rank{} // it joins, and then gets its rank
		m = l.put(e, u)
		l.showRank(m, r)
	}
	m.keys.pairs = e.keys
}

// showRank gives a member a rank and shows the difference to the others.
func (l *links) showRank(m *member, r rank) {
	var changes []modeChange
	if m.op != r.op {
		changes = append(changes, modeChange{add: r.op, letter: 'o', arg: m.user.nick})
	}
	if m.voice != r.voice {
		changes = append(changes, modeChange{add: r.voice, letter: 'v', arg: m.user.nick})
	}
	m.op, m.voice, m.owner = r.op, r.voice, r.owner
	l.hall.showModes(m.channel, nil, nil, changes)
}

// endChannel ends a channel that the sender has begun. Members that its owner did not
// name are none, but for clients of this node if the owner is a new one, which is sent them.
func (l *links) endChannel(*event) {
	in := l.incoming[l.from]
	if in == nil || in.channel == nil {
		return
	}
	c := in.channel
	own := make(map[*member]bool)
	for m := range in.members {
		switch {
		case m.user.left || m.user.member(c) != m:
		case m.user.node == "" && time.Since(m.claimed) < settleTime: // on its way
		case in.moved && m.user.node == "":
			own[m], m.claimed = true, time.Now()
		case in.moved && m.user.node != l.from: // its own node informs the owner
		default:
			l.hall.part(m, "")
		}
	}
	in.channel, in.members = nil, nil
	if in.dirty {
		l.republish(c)
	}
	if len(own) > 0 {
		out := &outgoing{l: l, to: l.from}
		c.owner = "" // not followed: the owner adds them
		l.sendChannel(out, c, func(m *member) bool { return own[m] })
		out.flush()
		c.owner = l.from
	}
	l.endIfEmpty(c)
}

// adopt gives a channel the state that another node has of it and shows its members the
// differences.
func (h *hall) adopt(c *channel, s *channelState) {
	changes := c.changesTo(s)
	c.flags, c.key, c.limit, c.bans, c.keys.pairs = s.flags, s.key, s.limit, s.bans, s.keys
	c.bar()
	for len(changes) > 0 {
		n := min(len(changes), maxModes)
		h.showModes(c, nil, nil, changes[:n])
		changes = changes[n:]
	}
	if c.topic != s.topic {
		h.topic(c, nil, s.topic)
	}
}

// changesTo returns the changes of modes that lead to another state.
func (c *channel) changesTo(s *channelState) (changes []modeChange) {
	for i := range len(flagLetters) {
		if f := flags(1) << i; c.flags&f != s.flags&f {
			changes = append(changes, modeChange{add: s.flags&f != 0, letter: flagLetters[i]})
		}
	}
	switch {
	case c.key == s.key:
	case s.key == "":
		changes = append(changes, modeChange{letter: 'k', arg: c.key})
	default:
		changes = append(changes, modeChange{add: true, letter: 'k', arg: s.key})
	}
	switch {
	case c.limit == s.limit:
	case s.limit == 0:
		changes = append(changes, modeChange{letter: 'l'})
	default:
		changes = append(changes, modeChange{add: true, letter: 'l', arg: strconv.Itoa(s.limit)})
	}
	is := func(b ban) func(ban) bool { return func(other ban) bool { return other.mask == b.mask } }
	for _, b := range c.bans {
		if !slices.ContainsFunc(s.bans, is(b)) {
			changes = append(changes, modeChange{letter: 'b', arg: b.mask})
		}
	}
	for _, b := range s.bans {
		if !slices.ContainsFunc(c.bans, is(b)) {
			changes = append(changes, modeChange{add: true, letter: 'b', arg: b.mask})
		}
	}
	return changes
}
