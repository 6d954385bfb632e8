package peerchat

import (
	"slices"
	"strconv"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/wake"
)

// linkChange is a change of an entry of another node.
type linkChange = cluster.Change[linkKey, linkValue]

// apply applies a change of another node: first the event that comes with it, then what the entry
// says more.
func (l *links) apply(c linkChange) {
	l.locked(func() {
		l.from = c.Node
		var e event
		if len(c.Note) > 0 {
			ok := false
			if e, ok = parseEvent(c.Note); !ok {
				l.drop(linkMalformed)
			}
		}
		l.happened(&e)
		switch k := c.Key; {
		case k == linkKey{}:
		case k.channel == "" && k.user.node == c.Node:
			l.applyUser(&c, &e)
		case k.channel == "":
			l.drop(linkMalformed)
		case k.user == userID{}:
			l.applyChannel(&c, &e)
		default:
			l.applyMember(&c, &e)
		}
	})
}

// happened shows an event of a channel to the clients of this node.
func (l *links) happened(e *event) {
	c := l.hall.channel(e.channel)
	if c == nil || e.kind != evMessage && l.from != c.owner && l.from != l.owner(foldChannel(e.channel)) {
		return
	}
	if u := l.users[e.actor]; u != nil {
		u.request = max(u.request, e.request)
	}
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
	case evKick:
		if in != nil {
			h.kick(l.byAuthor(&e.by), in, e.text)
		}
	case evModes:
		h.changed(c, l.byAuthor(&e.by), l.resolved(e), e.by.nick)
	case evTopic:
		h.topic(c, l.byAuthor(&e.by), cut(e.text, maxTopic))
	case evMemberKeys:
		if in != nil {
			h.memberKeys(in, e.text, nil)
		}
	case evChannelKeys:
		h.channelKeys(c, e.text, nil)
	case evMessage:
		l.message(c, e)
	default:
	}
	h.serial.Add(1)
}

// message shows a message to a channel to the clients of this node.
func (l *links) message(c *channel, e *event) {
	u := l.byAuthor(&e.by)
	if u != nil && u.session != nil {
		u.session.heardAt.Store(time.Now().Unix())
	}
	l.server.show(c, u, e.word, e.text)
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

// follows reports whether this node takes the members of a channel from the sender: its owner, or
// the one before, until the owner has taken it.
func (l *links) follows(c *channel, folded string) bool {
	return l.from == l.owner(folded) || c != nil && l.from == c.owner
}

// applyMember applies a member of a channel of the sender.
func (l *links) applyMember(c *linkChange, e *event) {
	in, u := l.hall.channels[c.Key.channel], l.users[c.Key.user]
	if u == nil || u.left || !l.follows(in, c.Key.channel) {
		return
	}
	if !c.Removed {
		v := c.Value.(*memberState)
		u.request = max(u.request, v.request)
		l.put(u, c.Key.channel, &v.membership)
	} else if m := u.member(in); m != nil && !c.Gone && e.kind != evGone { // else the node of the user informs all
		l.hall.part(m, "")
	}
}

// put makes a user a member of a channel, or gives a member its state.
func (l *links) put(u *user, folded string, v *membership) {
	h := l.hall
	m := u.member(h.channels[folded])
	if m == nil {
		m = h.join(u, v.name, v.since)
		m.op, m.voice, m.as = false, false, m.channel.name
		if v.as != m.as {
			m.as = v.as
		}
		h.toMembers(m.channel, u, u, func(dst []byte, prefix, name string) []byte {
			return appendText(appendFrom(dst, prefix, "JOIN"), name)
		})
		l.showRank(m, v, u)
		if u.node == "" {
			x := &session{server: l.server, user: u}
			x.sendJoined(m)
			u.session.out.push(x.reply)
		}
	}
	l.showRank(m, v, nil)
	m.owner, m.keys.pairs = v.owner, copyPairs(v.keys)
	l.touchMember(m)
}

// showRank gives a member a rank and shows the difference to the others but one.
func (l *links) showRank(m *member, v *membership, but *user) {
	var changes []modeChange
	if m.op != v.op {
		changes = append(changes, modeChange{add: v.op, letter: 'o', arg: m.user.nick})
	}
	if m.voice != v.voice {
		changes = append(changes, modeChange{add: v.voice, letter: 'v', arg: m.user.nick})
	}
	m.op, m.voice = v.op, v.voice
	l.hall.showModes(m.channel, nil, but, changes)
}

func (l *links) applyChannel(c *linkChange, e *event) {
	folded := c.Key.channel
	in, owner := l.hall.channels[folded], l.owner(folded)
	switch {
	case c.Removed:
		if in != nil && in.owner == c.Node {
			l.orphan(in, c.Gone || e.kind == evGone)
		}
	case owner == l.self:
		l.needMerge()
	case owner == c.Node:
		l.follow(folded, c.Value.(*channelState))
	case in != nil && in.owner == c.Node:
		l.hall.adopt(in, c.Value.(*channelState))
	}
}

// orphan handles a channel that its owner no longer has: it is gone, another one has taken the
// channel, or has no members. Clients of this node are claimed from the next owner.
func (l *links) orphan(c *channel, taken bool) {
	folded := foldChannel(c.name)
	next := l.owner(folded)
	c.owner, c.orphaned = "", time.Now()
	for _, m := range slices.Clone(c.members) {
		switch {
		case m.user.node == "":
			m.claims++
			l.touchMember(m)
		case !taken && l.entry(next, linkKey{folded, l.id(m.user)}) == nil:
			l.hall.part(m, "")
		}
	}
	l.endIfEmpty(c)
	l.touch(linkKey{channel: folded})
}

// orphans claims channels again that no owner took.
func (l *links) orphans(now time.Time) {
	for _, c := range l.hall.channels {
		if c.owner == "" && now.Sub(c.orphaned) >= lookEvery {
			l.orphan(c, slices.ContainsFunc(c.members, func(m *member) bool { return m.user.node == "" }))
		}
	}
}

// resolve ends the memberships that the owner of a channel still does not have after a while.
func (l *links) resolve(now time.Time) {
	for k, since := range l.doubts {
		if now.Sub(since) < settleTime {
			continue
		}
		delete(l.doubts, k)
		c, u := l.hall.channels[k.channel], l.users[k.user]
		if c == nil || u == nil || l.mine(c) || l.entry(c.owner, k) != nil {
			continue
		}
		if m := u.member(c); m != nil {
			l.hall.part(m, "")
		}
	}
}

// follow applies a channel as its owner has it. Another one than before has taken it when it knows
// all changes: members that it does not have are none, but for clients of this node.
func (l *links) follow(folded string, v *channelState) {
	h := l.hall
	c := h.channels[folded]
	if c == nil {
		c = h.make(v.name, v.since)
	}
	if was := c.owner; was != v.node {
		if v.epoch <= c.epoch || v.rev < c.rev {
			return // it learns of more from the entry of this node or of the last owner
		}
		c.owner = v.node
		l.merges = true // the next look adds members that the last owner removed
		for _, m := range slices.Clone(c.members) {
			k := linkKey{folded, l.id(m.user)}
			switch {
			case l.entry(v.node, k) != nil:
			case m.user.node == v.node:
				h.part(m, "")
			case m.user.node != "":
				l.doubts[k] = time.Now() // its node may be gone, or claim it
			default:
				m.claims++
				l.touchMember(m)
			}
			if was == l.self {
				l.touch(k)
			}
		}
		l.touch(linkKey{channel: folded})
	}
	h.adopt(c, v)
}

// entry returns an entry of another node, nil if there is none.
func (l *links) entry(node string, k linkKey) linkValue {
	for n, v := range l.shared.Elsewhere(k) {
		if n == node {
			return v
		}
	}
	return nil
}

// needMerge has look merge the channels of this node with those that others know.
func (l *links) needMerge() {
	l.merges = true
	wake.Up(l.wake)
}

// merge takes the channels that this node owns now, with what the other nodes know of them, and
// follows the owners of the others.
func (l *links) merge() {
	owners, states := make(map[string]string), make(map[string][]*channelState)
	for folded := range l.hall.channels {
		owners[folded], states[folded] = l.owner(folded), nil
	}
	members := make(map[string]map[linkKey]*memberState) // by node and channel
	for k, v := range l.shared.Others() {
		if k.channel != "" && owners[k.channel] == "" {
			owners[k.channel] = l.owner(k.channel)
		}
		switch v := v.(type) {
		case *channelState:
			if slices.Contains(l.chats, v.node) {
				states[k.channel] = append(states[k.channel], v)
			}
		case *memberState:
			if members[v.node+k.channel] == nil {
				members[v.node+k.channel] = make(map[linkKey]*memberState)
			}
			members[v.node+k.channel][k] = v
		}
	}
	var taken []linkKey
	add := func(node, folded string) {
		for k, v := range members[node+folded] {
			if u := l.users[k.user]; u != nil && !u.left {
				l.put(u, folded, &v.membership)
			}
		}
	}
	for folded, list := range states {
		if l.from = ""; owners[folded] == l.self {
			last, took := l.take(folded, list)
			add(last, folded)
			if took {
				taken = append(taken, linkKey{channel: folded})
			}
			continue
		}
		for _, v := range list {
			if l.from = v.node; v.node == owners[folded] {
				add(v.node, folded)
				l.follow(folded, v)
			}
		}
	}
	l.from = ""
	for k, v := range l.claims {
		u, c := l.users[k.user], l.hall.channels[k.channel]
		if u != nil && !u.left && c != nil && l.mine(c) && owners[k.channel] == l.self && u.member(c) == nil {
			l.put(u, k.channel, &v.membership)
		}
	}
	clear(l.claims)
	for _, k := range taken {
		l.touch(k) // after its members: others would show that those left
	}
	l.endEmpty()
	l.merges = false // whatever was made
}

// take makes this node the owner of a channel that belongs to it, with the state that has the most
// changes. list is what other nodes know. It returns the last owner, whose members it has to add,
// empty if there is none or this node is. took reports whether the entry of the channel changed.
func (l *links) take(folded string, list []*channelState) (last string, took bool) {
	h := l.hall
	c := h.channels[folded]
	var best *channelState
	epoch := uint64(0)
	for _, v := range list {
		if last == "" || v.epoch > epoch {
			last, epoch = v.node, v.epoch
		}
		if best == nil || v.rev > best.rev {
			best = v
		}
	}
	was := c != nil && l.mine(c)
	if c == nil {
		c = h.make(best.name, best.since)
		h.adopt(c, best)
	} else if best == nil && was {
		return "", false
	}
	epoch = max(epoch, c.epoch) + 1
	if best != nil && best.rev > c.rev {
		h.adopt(c, best)
	}
	c.epoch, c.owner = epoch, l.self
	if was {
		return "", true
	}
	for _, m := range c.members {
		l.touch(linkKey{folded, l.id(m.user)})
	}
	return last, true
}

// ends reports whether a channel that has lost its last member ends: its owner, if it is another
// node, may have one on the way.
func (l *links) ends(c *channel) bool { return c.owner == l.self || c.owner == "" }

// endIfEmpty ends a channel without members.
func (l *links) endIfEmpty(c *channel) {
	if len(c.members) == 0 {
		l.hall.end(c)
	}
}

// endEmpty ends channels without members whose owner does not do it.
func (l *links) endEmpty() {
	for folded, c := range l.hall.channels {
		if c.owner == "" || c.owner == l.self || c.owner != l.owner(folded) {
			l.endIfEmpty(c)
		}
	}
}

// adopt gives a channel the state that another node has of it and shows its members the
// differences.
func (h *hall) adopt(c *channel, s *channelState) {
	changes := c.changesTo(s)
	c.flags, c.key, c.limit, c.bans, c.keys.pairs = s.flags, s.key, s.limit, append([]ban(nil), s.bans...), copyPairs(s.keys)
	c.rev, c.epoch = s.rev, s.epoch
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
