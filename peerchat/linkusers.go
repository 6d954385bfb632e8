package peerchat

import (
	"slices"

	"github.com/respawnd/respawnd/storage"
)

// info returns the entry of a client of this node.
func (l *links) info(u *user) *userState {
	x := u.session
	v := &userState{
		id: l.id(u), nick: u.nick, field: u.field, realName: u.realName, host: u.host, mask: u.mask, game: x.game, away: u.away,
		peer: x.peer, account: uint64(x.account), profile: uint64(x.profile), since: u.since, keys: copyPairs(u.keys.pairs),
	}
	for _, n := range u.former {
		v.former = append(v.former, n.nick)
	}
	for _, m := range u.joined {
		v.joined = append(v.joined, claim{membershipOf(m), m.claims})
	}
	return v
}

// entered makes a client of this node known that signed on.
func (l *links) entered(u *user) {
	l.index(u)
	if l.bus == nil {
		return
	}
	l.users[l.id(u)] = u
	l.leases.end(l.id(u))
	l.touchUser(u)
}

// touchUser is touch for a client of this node.
func (l *links) touchUser(u *user) { l.touch(linkKey{user: l.id(u)}) }

// leaving notes that a user leaves the hall, while it is still a member of its channels. The other
// nodes learn that from its own one: the owner of a channel only says that its member is gone.
func (l *links) leaving(u *user, reason string) {
	id := l.id(u)
	if u.node == "" && l.users[id] == u {
		delete(l.users, id)
		l.note(linkKey{user: id}, &event{kind: evLeave, text: cut(reason, maxLine)})
	}
	for _, m := range u.joined {
		if l.mine(m.channel) {
			l.note(linkKey{foldChannel(m.channel.name), id}, &event{kind: evGone})
		}
	}
}

func (l *links) applyUser(c *linkChange, e *event) {
	u := l.users[c.Key.user]
	if c.Removed {
		if u != nil {
			reason := "Connection reset"
			if e.kind == evLeave {
				reason = e.text
			}
			l.forget(u, reason)
		}
		return
	}
	v := c.Value.(*userState)
	l.leases.end(v.id)
	if u == nil {
		u = l.learn(v)
	}
	if u.left {
		return
	}
	if u.nick != v.nick {
		l.hall.renamed(u, v.nick)
	}
	u.keys.pairs, u.away = copyPairs(v.keys), v.away
	u.setFormer(v.former)
	for _, m := range u.joined {
		m.barred = m.channel.banned(u)
	}
	old, _ := c.Old.(*userState)
	l.applyClaims(u, v, old)
}

// applyClaims makes a user a member of the channels that it is in as its own node says: of those of
// other owners that have it, and later of those of this node if the claim is new.
func (l *links) applyClaims(u *user, v, old *userState) {
	for i := range v.joined {
		j := &v.joined[i]
		k := linkKey{foldChannel(j.name), v.id}
		c := l.hall.channels[k.channel]
		if c != nil && u.member(c) != nil {
			continue
		}
		if owner := l.owner(k.channel); owner != l.self && slices.Contains(l.chats, v.id.node) {
			if m, ok := l.entry(owner, k).(*memberState); ok {
				l.from = owner
				l.put(u, k.channel, &m.membership)
			}
			continue
		}
		if old == nil || j.number > old.number(j.name) {
			l.claims[k] = *j
			l.needMerge()
		}
	}
}

// number returns the number of the claim of a channel.
func (v *userState) number(name string) uint64 {
	for i := range v.joined {
		if foldChannel(v.joined[i].name) == foldChannel(name) {
			return v.joined[i].number
		}
	}
	return 0
}

// learn adds a user of another node.
func (l *links) learn(v *userState) *user {
	x := &session{
		server: l.server, peer: v.peer, game: v.game, node: v.id.node, serial: v.id.serial,
		login: login{account: storage.UserID(v.account), profile: storage.ProfileID(v.profile)},
	}
	u := &user{
		session: x, node: v.id.node, serial: v.id.serial, field: v.field, realName: v.realName,
		host: v.host, mask: v.mask, since: v.since, away: v.away,
	}
	u.rename(v.nick)
	x.heardAt.Store(v.since.Unix())
	x.user = u
	l.users[v.id] = u
	l.index(u)
	return u
}

// index makes a user of another node known by its nick and its profile. After a cut two
// nodes may have one each with the same: the same one gives way on all nodes.
func (l *links) index(u *user) {
	h := l.hall
	if holder := h.nicks[foldNick(u.nick)]; holder == nil || l.beats(u, holder) {
		h.nicks[foldNick(u.nick)] = u
		l.giveWay(holder, u)
	} else {
		l.giveWay(u, holder)
	}
	p := u.session.profile
	if p == 0 {
		return
	}
	if holder := h.profiles[p]; holder == nil || l.beats(u, holder) {
		h.profiles[p] = u
		l.giveWay(holder, u)
	} else {
		l.giveWay(u, holder)
	}
}

// beats reports whether a keeps the nick or the profile of b. Of two sessions of a
// player the newer one stays, else the older.
func (l *links) beats(a, b *user) bool {
	switch same := a.session.profile != 0 && a.session.profile == b.session.profile; {
	case a == b:
		return true
	case !a.since.Equal(b.since):
		return a.since.After(b.since) == same
	}
	x, y := l.id(a), l.id(b)
	return x.node < y.node || x.node == y.node && x.serial < y.serial
}

// giveWay ends the session of a user whose nick or profile another one has, on its own
// node.
func (l *links) giveWay(u, to *user) {
	if u == nil || u == to {
		return
	}
	if l.beaten[l.id(u)] = true; u.node != "" {
		return
	}
	reason := "Nickname is in use on another server"
	if u.session.profile != 0 && u.session.profile == to.session.profile {
		reason = "Duplicate Login"
	}
	u.session.Kick(quit{reason})
}

// freed indexes a beaten user again after gone, which held its nick or profile, has left or changed
// its nick.
func (l *links) freed(gone *user) {
	delete(l.beaten, l.id(gone))
	for id := range l.beaten {
		switch u := l.users[id]; {
		case u == nil || u.left:
			delete(l.beaten, id)
		case foldNick(u.nick) == foldNick(gone.nick) || u.session.profile != 0 && u.session.profile == gone.session.profile:
			delete(l.beaten, id)
			l.index(u)
		}
	}
}

// forget removes a user of another node.
func (l *links) forget(u *user, reason string) {
	delete(l.users, l.id(u))
	if !u.left {
		l.hall.leave(u, reason)
	}
}

// receive handles an event of another node for this one.
func (l *links) receive(from string, data []byte) {
	e, ok := parseEvent(data)
	if !ok {
		l.drop(linkMalformed)
		return
	}
	l.locked(func() {
		switch u := l.here(&e); {
		case e.kind == evOut:
			l.throwOut(&e)
		case u == nil:
		case e.kind == evLines:
			l.hall.deliver(u, []byte(e.text))
		case e.kind == evClose:
			closed(u, &e)
		}
	})
}

// throwOut removes a member as an operator on another node commands.
func (l *links) throwOut(e *event) {
	c, u := l.hall.channel(e.channel), l.users[e.who]
	if c == nil || u == nil || !l.mine(c) {
		return
	}
	if m := u.member(c); m != nil {
		l.hall.kickOut(nil, m, e.text)
	}
}

// here returns the client of this node that an event is about, nil if it has gone.
func (l *links) here(e *event) *user {
	if u := l.users[userID{l.self, e.who.serial}]; u != nil && !u.left {
		return u
	}
	return nil
}

// deliver sends lines to a user of another node.
func (l *links) deliver(u *user, lines []byte) {
	l.send(u.node, &event{kind: evLines, who: l.id(u), text: string(lines)})
}

// close ends the session of a user of another node.
func (l *links) close(x *session, reason error) {
	text := closingText(reason)
	if text == "" {
		text = "Closed"
	}
	l.send(x.node, &event{kind: evClose, who: userID{x.node, x.serial}, text: text})
}

// closed ends the session of a client of this node as another node says.
func closed(u *user, e *event) {
	why := error(quit{cut(e.text, maxLine)})
	if e.text == endedBanned.Text() {
		why = endedBanned
	}
	u.session.Kick(why)
}

// tellModes sends changes of modes of a channel of this node.
func (l *links) tellModes(c *channel, from *user, changes []modeChange) {
	if l.bus == nil {
		return
	}
	e := event{kind: evModes, by: l.author(from)}
	for _, m := range changes {
		change := linkedChange{modeChange: m}
		if m.letter == 'o' || m.letter == 'v' {
			if u := l.hall.nicks[foldNick(m.arg)]; u != nil {
				change.who = l.id(u)
				if in := u.member(c); in != nil {
					l.touchMember(in)
				}
			}
		}
		e.changes = append(e.changes, change)
	}
	l.tell(c, e)
	l.touchChannel(c)
}
