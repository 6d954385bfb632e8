package peerchat

import (
	"time"
)

// apply handles an event of another node.
func (l *links) apply(e *event) {
	l.join(l.from)
	switch e.kind {
	case evHello:
		l.sendState(l.from)
	case evBegin:
		l.begin()
	case evEnd:
		l.end()
	case evEnter:
		l.enter(e)
	case evLeave:
		if u := l.ofSender(e); u != nil {
			l.forget(u, e.text)
		}
	case evNick:
		if u := l.ofSender(e); u != nil {
			l.rename(u, e.text)
		}
	case evKeys:
		if u := l.ofSender(e); u != nil {
			setPairs(&u.keys, e.text)
		}
	case evAway:
		if u := l.ofSender(e); u != nil {
			u.away = cut(e.text, maxAway)
		}
	case evChannel:
		l.beginChannel(e)
	case evMember:
		l.addMember(e)
	case evChannelEnd:
		l.endChannel(e)
	case evCommand:
		l.command(e)
	case evDone:
		l.answered(e)
	case evLines:
		if u := l.here(e); u != nil {
			l.hall.deliver(u, []byte(e.text))
		}
	case evClose:
		l.closed(e)
	case evOut:
		l.throwOut(e)
	case evMessage:
		l.message(e)
	case evJoin, evPart, evGone, evKick, evModes, evTopic, evMemberKeys, evChannelKeys:
		l.change(e)
	case lastEvent:
	}
}

// change applies a change of a channel by its owner.
func (l *links) change(e *event) {
	c := l.hall.channel(e.channel)
	if c == nil && (e.kind != evJoin || l.owner(foldChannel(e.channel)) != l.from) || c != nil && c.owner != l.from {
		return // it comes with the state of the owner
	}
	if u := l.users[e.actor]; u != nil {
		u.request = max(u.request, e.request)
	}
	if e.kind == evJoin {
		l.joined(c, e)
		return
	}
	c.rev = e.rev
	l.hall.serial.Add(1)
	l.changeIn(c, e)
}

// changeIn is change for a channel with members.
func (l *links) changeIn(c *channel, e *event) {
	h, who := l.hall, l.users[e.who]
	var in *member
	if who != nil {
		in = who.member(c)
	}
	switch e.kind {
	case evPart:
		if in != nil {
			h.part(in, e.text)
		}
	case evGone:
		if in != nil {
			l.forgotten(who, e.text)
		}
	case evKick:
		if in != nil {
			h.kick(l.byAuthor(&e.by), in, e.text)
		}
	case evModes:
		h.changed(c, l.byAuthor(&e.by), who, l.resolved(e), e.by.nick)
	case evTopic:
		h.topic(c, l.byAuthor(&e.by), e.text)
	case evMemberKeys:
		if in != nil {
			h.memberKeys(in, e.text, nil)
		}
	case evChannelKeys:
		h.channelKeys(c, e.word, e.text, nil)
	default:
	}
	l.endIfEmpty(c)
}

// forgotten removes a user that has left the hall, as the owner of a channel says. A
// client of this node is removed by its own session.
func (l *links) forgotten(u *user, reason string) {
	if u.node != "" {
		l.forget(u, reason)
	}
}

// ends reports whether a channel that has lost its last member ends: its owner, here or
// where a message comes from, has no other one on the way.
func (l *links) ends(c *channel) bool {
	return c.owner == l.self || c.owner != "" && c.owner == l.from
}

// endIfEmpty ends a channel without members, as its owner did.
func (l *links) endIfEmpty(c *channel) {
	if len(c.members) == 0 {
		l.hall.end(c)
	}
}

// endEmpty ends channels without members whose owner can no longer do it.
func (l *links) endEmpty() {
	for folded, c := range l.hall.channels {
		if len(c.members) == 0 && (c.owner == "" || c.owner != l.owner(folded)) && len(l.awaited) == 0 {
			l.hall.end(c)
		}
	}
}

// joined adds a member. The first one of a channel makes it.
func (l *links) joined(c *channel, e *event) {
	u := l.learn(&e.info)
	if u == nil {
		return // it has gone, and the owner says so too
	}
	if c != nil && e.rev == 1 { // another one of that name
		for len(c.members) > 0 {
			l.hall.drop(c.members[0])
		}
		l.hall.end(c)
	}
	m := l.put(e, u)
	m.channel.rev, m.channel.owner = e.rev, l.from
}

// put makes a user a member of a channel, or gives one its rank.
func (l *links) put(e *event, u *user) *member {
	h := l.hall
	if c := h.channel(e.channel); c != nil {
		if m := u.member(c); m != nil {
			m.op, m.voice, m.owner = e.rank.op, e.rank.voice, e.rank.owner
			return m
		}
	}
	m := h.join(u, e.channel, e.since)
	m.op, m.voice, m.owner = e.rank.op, e.rank.voice, e.rank.owner
	if e.word != m.channel.name {
		m.as = e.word
	}
	h.toMembers(m.channel, u, u, func(dst []byte, prefix, name string) []byte {
		return appendText(appendFrom(dst, prefix, "JOIN"), name)
	})
	return m
}

// resolved returns the changes of modes of an event with the nicks that their users
// have here.
func (l *links) resolved(e *event) []modeChange {
	changes := make([]modeChange, 0, len(e.changes))
	for _, m := range e.changes {
		if u := l.users[m.who]; u != nil && (m.letter == 'o' || m.letter == 'v') {
			m.arg = u.nick
		}
		changes = append(changes, m.modeChange)
	}
	return changes
}

// message shows a message to a channel to the clients of this node.
func (l *links) message(e *event) {
	c := l.hall.channel(e.channel)
	if c == nil {
		return
	}
	u := l.byAuthor(&e.by)
	if known := l.users[e.actor]; known != nil {
		known.request = max(known.request, e.request)
	}
	if u != nil && u.session != nil {
		u.session.heardAt.Store(time.Now().Unix())
	}
	l.server.show(c, u, e.word, e.text)
}

// throwOut removes a member as an operator on another node commands.
func (l *links) throwOut(e *event) {
	c, u := l.hall.channel(e.channel), l.users[e.who]
	if c == nil || u == nil || c.owner != l.self {
		return
	}
	if m := u.member(c); m != nil {
		l.hall.kick(nil, m, e.text)
	}
}
