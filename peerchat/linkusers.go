package peerchat

import (
	"github.com/respawnd/respawnd/storage"
)

// info returns the state of a user for other nodes.
func (l *links) info(u *user) userInfo {
	x := u.session
	var former []string
	for _, n := range u.former {
		former = append(former, n.nick)
	}
	return userInfo{
		former: former, away: u.away,
		id: l.id(u), nick: u.nick, field: u.field, realName: u.realName, host: u.host, mask: u.mask, game: x.game,
		peer: x.peer, account: uint64(x.account), profile: uint64(x.profile), since: u.since,
	}
}

// entered publishes a client of this node that signed on.
func (l *links) entered(u *user) {
	l.users[l.id(u)] = u
	l.leases.end(l.id(u))
	l.index(u)
	l.publish(&event{kind: evEnter, info: l.info(u)})
}

// left publishes that a client of this node has gone.
func (l *links) left(u *user, reason string) {
	if l.users[l.id(u)] == u {
		delete(l.users, l.id(u))
		l.publish(&event{kind: evLeave, who: l.id(u), text: cut(reason, maxLine)})
	}
}

// learn returns the user of an info, which it adds if it is not known. It is nil for a
// client of this node that has left, and for one of a node that is not there.
func (l *links) learn(info *userInfo) *user {
	u := l.users[info.id]
	if _, live := l.live[info.id.node]; u != nil || !live {
		return u
	}
	x := &session{
		server: l.server, peer: info.peer, game: info.game, node: info.id.node, serial: info.id.serial,
		login: login{account: storage.UserID(info.account), profile: storage.ProfileID(info.profile)},
	}
	u = &user{
		session: x, node: info.id.node, serial: info.id.serial, field: info.field, realName: info.realName,
		host: info.host, mask: info.mask, since: info.since, away: info.away,
	}
	u.rename(info.nick)
	u.setFormer(info.former)
	x.heardAt.Store(info.since.Unix())
	x.user = u
	l.users[info.id] = u
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

// enter adds a user of the sender.
func (l *links) enter(e *event) {
	if e.info.id.node != l.from {
		l.server.metrics.linkDrops.WithLabelValues(linkMalformed).Inc()
		return
	}
	if in := l.incoming[l.from]; in != nil {
		delete(in.users, e.info.id)
	}
	l.leases.end(e.info.id)
	u := l.learn(&e.info)
	if u == nil {
		return
	}
	if u.nick != e.info.nick {
		l.rename(u, e.info.nick)
	}
	u.keys.pairs, u.away = e.keys, e.info.away
	u.setFormer(e.info.former)
	for _, m := range u.joined {
		m.barred = m.channel.banned(u)
	}
}

// forget removes a user of another node.
func (l *links) forget(u *user, reason string) {
	delete(l.users, l.id(u))
	if !u.left {
		l.hall.leave(u, reason)
	}
}

// rename gives a user of another node a nick.
func (l *links) rename(u *user, nick string) {
	if nick == "" || len(nick) > maxNick {
		return
	}
	l.leases.end(l.id(u))
	l.hall.renamed(u, nick)
}

// ofSender returns the user of the sender that an event is about, nil if there is none.
func (l *links) ofSender(e *event) *user { return l.users[userID{l.from, e.who.serial}] }

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
func (l *links) closed(e *event) {
	u := l.here(e)
	if u == nil {
		return
	}
	why := error(quit{cut(e.text, maxLine)})
	if e.text == endedTexts[endedBanned] {
		why = endedBanned
	}
	u.session.Kick(why)
}

// leaving notes that a user leaves the hall, while it is still a member of its channels.
// The other nodes learn that from its own one, and from the owner of each channel: a
// JOIN of it may still be on the way from there.
func (l *links) leaving(u *user, reason string) {
	if u.node == "" {
		l.left(u, reason)
		return
	}
	if l.from == "" {
		return // its node is lost, as all notice
	}
	for _, m := range u.joined {
		if m.channel.owner == l.self {
			l.tell(m.channel, event{kind: evGone, who: l.id(u), text: cut(reason, maxLine)})
		}
	}
}

// tellJoin publishes a member that joined a channel of this node.
func (l *links) tellJoin(m *member) {
	l.tell(m.channel, event{kind: evJoin, info: l.info(m.user), rank: rank{m.op, m.voice, m.owner}, since: m.since, word: m.as})
}

// tellModes publishes changes of modes of a channel of this node.
func (l *links) tellModes(c *channel, from, but *user, changes []modeChange) {
	e := event{kind: evModes, by: l.author(from)}
	for _, m := range changes {
		change := linkedChange{modeChange: m}
		if m.letter == 'o' || m.letter == 'v' {
			if u := l.hall.nicks[foldNick(m.arg)]; u != nil {
				change.who = l.id(u)
			}
		}
		e.changes = append(e.changes, change)
	}
	if but != nil {
		e.who = l.id(but)
	}
	l.tell(c, e)
}
