package peerchat

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/verdicts"
)

// maxJoinTargets is the maximum number of channels in one JOIN or PART.
const maxJoinTargets = 16

// namesLine is the maximum length of a line of members, in bytes.
const namesLine = 400

// join is the command of that name: "JOIN #a,#b key,key" as IRC programs write it.
func (x *session) join(_ context.Context, m *message) error {
	keys := strings.Split(m.param(1), ",")
	for i, name := range strings.SplitN(m.params[0], ",", maxJoinTargets+1) {
		if i == maxJoinTargets {
			x.answer(numTooManyChannels, "Too many channels", "*")
			break
		}
		key := ""
		if i < len(keys) {
			key = keys[i]
		}
		x.joinOne(strings.Clone(name), key)
	}
	return nil
}

// joinOne joins a channel, or answers with the reason for a refusal.
func (x *session) joinOne(name, key string) {
	h, u := x.server.hall, x.user
	if !validChannel(name) {
		x.answer(numNoSuchChannel, "No such channel", name)
		return
	}
	c := h.channel(name)
	if c != nil {
		if m := u.member(c); m != nil { // the client waits for the end of the names
			m.as = name
			x.sendJoined(m)
			return
		}
	}
	moderator := x.isModerator(name)
	if n, text := x.mayJoin(c, name, key, moderator); n != 0 {
		x.answer(n, text, name)
		return
	}
	first := !x.program && x.server.onlyPrograms(c)
	m := h.join(u, name, time.Now())
	m.op = m.op || moderator
	m.owner = m.owner || moderator
	h.toMembers(m.channel, u, u, func(dst []byte, prefix, name string) []byte {
		return appendText(appendFrom(dst, prefix, "JOIN"), name)
	})
	if u.node == "" { // else its own node answers, in the order of the channel
		x.sendJoined(m)
	}
	if moderator && len(m.channel.members) > 1 {
		h.showModes(m.channel, nil, u, []modeChange{{add: true, letter: 'o', arg: u.nick}})
	}
	if first && x.server.opt.Up != nil {
		x.server.opt.Up(name)
	}
}

// isModerator reports whether the client is an operator of a channel whenever it is
// in it.
func (x *session) isModerator(channel string) bool {
	return x.program || x.server.opt.Rules != nil && x.server.opt.Rules.Moderates(x.profile, channel)
}

// mayJoin returns why a client may not join a channel, 0 if it may. c is nil for a
// channel without members.
func (x *session) mayJoin(c *channel, name, key string, moderator bool) (numeric, string) {
	h, u, live := x.server.hall, x.user, x.server.live.Load()
	if banned, _ := x.server.sanctioned(x, name); banned {
		x.noteVerdict(verdicts.ChatBanned)
		return numBanned, "Cannot join channel (+b)"
	}
	switch {
	case len(u.joined) >= live.MaxJoined:
		return numTooManyChannels, "You have joined too many channels"
	case c == nil && len(h.channels) >= live.MaxChannels:
		return numTooManyChannels, "There are too many channels"
	case c == nil:
		return 0, ""
	case len(c.members) >= live.MaxMembers:
		return numChannelFull, "Cannot join channel (+l)"
	case moderator && !c.flags.has('e'):
		return 0, ""
	}
	invited := slices.Contains(u.invites, c)
	switch {
	case c.flags.has('i') && !invited:
		return numInviteOnly, "Cannot join channel (+i)"
	case c.banned(u) && !invited:
		return numBanned, "Cannot join channel (+b)"
	case c.key != "" && c.key != key && !invited:
		return numBadKey, "Cannot join channel (+k)"
	case c.limit > 0 && len(c.members) >= c.limit:
		return numChannelFull, "Cannot join channel (+l)"
	}
	return 0, ""
}

// sendJoined answers a JOIN: its echo, the topic and the members. The client
// ignores members after the end of the list.
func (x *session) sendJoined(m *member) {
	x.reply = appendText(appendFrom(x.reply, x.user.clear, "JOIN"), m.as)
	if m.channel.topic != "" {
		x.answer(numTopic, m.channel.topic, m.as)
	}
	x.sendNames(m.channel, m.as)
}

// sendNames answers with the members of a channel under the name that the client
// wrote. c is nil for a channel without any.
func (x *session) sendNames(c *channel, name string) {
	var line []byte
	kind := "="
	if c != nil && c.flags.has('s') {
		kind = "@"
	}
	flush := func() {
		if len(line) > 0 {
			x.answer(numNames, string(line), kind, name)
			line = line[:0]
		}
	}
	if c != nil {
		for _, m := range c.members {
			if len(line) > 0 {
				line = append(line, ' ')
			}
			line = append(append(line, m.mark()...), m.user.nick...)
			if len(line) >= namesLine {
				flush()
			}
		}
	}
	flush()
	x.answer(numEndOfNames, "End of /NAMES list.", name)
}

// part is the command of that name.
func (x *session) part(_ context.Context, m *message) error {
	for _, name := range strings.SplitN(m.params[0], ",", maxJoinTargets) {
		in := x.memberOf(name)
		if in == nil {
			continue
		}
		h := x.server.hall
		h.links.tell(in.channel, event{kind: evPart, who: h.links.id(in.user), text: m.param(1)})
		h.part(in, m.param(1))
	}
	return nil
}

// part removes a member from its channel and informs all members, itself
// included.
func (h *hall) part(m *member, reason string) {
	h.toMembers(m.channel, m.user, nil, func(dst []byte, prefix, name string) []byte {
		return appendText(appendFrom(dst, prefix, "PART", name), reason)
	})
	h.drop(m)
}

// memberOf returns the membership of the client in a channel. If there is none
// it answers with an error and returns nil.
func (x *session) memberOf(name string) *member {
	c := x.server.hall.channel(name)
	if c == nil {
		x.answer(numNoSuchChannel, "No such channel", name)
		return nil
	}
	m := x.user.member(c)
	if m == nil {
		x.answer(numNotOnChannel, "You're not on that channel", name)
	}
	return m
}

// operatorOf is memberOf for commands that only operators of the channel may
// use.
func (x *session) operatorOf(name string) *member {
	m := x.memberOf(name)
	if m != nil && !m.op {
		x.drop(droppedNotAllowed)
		x.answer(numNotOperator, "You're not channel operator", name)
		return nil
	}
	return m
}

// other returns the member of c with a nick. If there is none it answers with
// an error and returns nil.
func (x *session) other(c *channel, nick, name string) *member {
	u := x.server.hall.nicks[foldNick(nick)]
	if u == nil {
		x.answer(numNoSuchNick, "No such nick", nick)
		return nil
	}
	m := u.member(c)
	if m == nil {
		x.answer(numUserNotInChannel, "They aren't on that channel", nick, name)
	}
	return m
}

// kick is the command of that name.
func (x *session) kick(_ context.Context, m *message) error {
	in := x.operatorOf(m.params[0])
	if in == nil {
		return nil
	}
	out := x.other(in.channel, m.params[1], m.params[0])
	switch {
	case out == nil:
		return nil
	case out.owner && out != in:
		x.drop(droppedNotAllowed)
		x.answer(numNotOperator, "The channel belongs to that user", m.params[0])
		return nil
	}
	x.server.hall.kickOut(x.user, out, m.param(2))
	return nil
}

// kickOut is kick by the owner of the channel.
func (h *hall) kickOut(by *user, out *member, reason string) {
	h.links.tell(out.channel, event{kind: evKick, who: h.links.id(out.user), by: h.links.author(by), text: reason})
	h.kick(by, out, reason)
}

// kick throws a member out of its channel. by is nil if the service does it, which always has
// a reason; that of others without one is their nick.
func (h *hall) kick(by *user, out *member, reason string) {
	if reason == "" && by != nil {
		reason = by.nick
	}
	h.toMembers(out.channel, by, nil, func(dst []byte, prefix, name string) []byte {
		return appendText(appendFrom(dst, prefix, "KICK", name, out.user.nick), reason)
	})
	if out.user.quiet && out.user != by && out.user.node == "" { // it must be informed nevertheless
		h.deliver(out.user, appendText(appendFrom(nil, h.author(by), "KICK", out.as, out.user.nick), reason))
	}
	h.drop(out)
}

// author returns the prefix of lines of a user, or of the service for nil.
func (h *hall) author(u *user) string {
	if u == nil {
		return serverName
	}
	return u.masked
}

// invite is the command of that name.
func (x *session) invite(_ context.Context, m *message) error {
	nick, name := m.params[0], m.params[1]
	in := x.memberOf(name)
	if in == nil {
		return nil
	}
	c := in.channel
	if c.flags.has('i') && !in.op {
		x.drop(droppedNotAllowed)
		x.answer(numNotOperator, "You're not channel operator", name)
		return nil
	}
	u := x.server.hall.nicks[foldNick(nick)]
	switch {
	case u == nil:
		x.answer(numNoSuchNick, "No such nick", nick)
		return nil
	case u.member(c) != nil:
		x.answer(numUserOnChannel, "is already on channel", nick, name)
		return nil
	}
	if in.op {
		u.invite(c)
	}
	x.server.hall.deliver(u, appendEnd(appendFrom(nil, x.user.masked, "INVITE", u.nick, c.name)))
	x.answerPlain(numInviting, u.nick, name)
	return nil
}

// invite notes that u may join c once, whatever its modes but the limit say.
// Only invitations by operators count: other members could invite banned users.
func (u *user) invite(c *channel) {
	u.invites = slices.DeleteFunc(u.invites, func(i *channel) bool { return i == c || len(i.members) == 0 })
	if len(u.invites) == maxInvites {
		u.invites = slices.Delete(u.invites, 0, 1)
	}
	u.invites = append(u.invites, c)
}

// setTopic is the command TOPIC.
func (x *session) setTopic(_ context.Context, m *message) error {
	name := m.params[0]
	in := x.memberOf(name)
	if in == nil {
		return nil
	}
	c := in.channel
	if len(m.params) == 1 {
		if c.topic == "" {
			x.answer(numNoTopic, "No topic is set", name)
		} else {
			x.answer(numTopic, c.topic, name)
		}
		return nil
	}
	if c.flags.has('t') && !in.op || x.muted(c) {
		x.drop(droppedNotAllowed)
		x.answer(numNotOperator, "You're not channel operator", name)
		return nil
	}
	h := x.server.hall
	h.topic(c, x.user, x.server.live.Load().words.clean(cut(m.params[1], maxTopic)))
	h.links.tell(c, event{kind: evTopic, by: h.links.author(x.user), text: c.topic})
	h.links.touchChannel(c)
	return nil
}

// topic sets the topic of a channel and shows it to its members.
func (h *hall) topic(c *channel, from *user, text string) {
	c.topic = text
	h.toMembers(c, from, nil, func(dst []byte, prefix, name string) []byte {
		return appendText(appendFrom(dst, prefix, "TOPIC", name), c.topic)
	})
}

// setGroup notes the group that a game puts a channel into.
func (x *session) setGroup(_ context.Context, m *message) error {
	if in := x.operatorOf(m.params[0]); in != nil {
		group := cut(m.params[1], maxKeyValue)
		in.channel.keys.set(groupKey, group)
		x.server.hall.links.touchChannel(in.channel)
	}
	return nil
}

// groupKey is the key of a channel that SETGROUP sets.
const groupKey = "groupname"
