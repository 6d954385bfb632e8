package peerchat

import (
	"context"
	"strconv"
	"time"
)

// Bounds of the parameters of modes.
const (
	maxKey   = 64 // bytes of the password of a channel
	maxLimit = 1 << 20
)

// mode is the command of that name, for a channel or for the client itself.
func (x *session) mode(_ context.Context, m *message) error {
	target := m.params[0]
	if target == "" || target[0] != '#' {
		x.userMode(target, m.param(1))
		return nil
	}
	c := x.server.hall.channel(target)
	if c == nil {
		x.answer(numNoSuchChannel, "No such channel", target)
		return nil
	}
	if len(m.params) == 1 {
		letters, params := c.modes(x.user.member(c) != nil)
		x.answerPlain(numModes, append([]string{target, letters}, params...)...)
		return nil
	}
	changes, ok := parseModes(m.params[1], m.params[2:])
	switch {
	case !ok:
		x.answer(numUnknownMode, "is not a list of modes", cut(m.params[1], maxKey))
		return nil
	case len(changes) == 1 && changes[0].isQuery():
		x.sendBans(c, target)
		return nil
	}
	if in := x.operatorOf(target); in != nil {
		x.changeModes(in, target, changes)
	}
	return nil
}

// userMode changes a mode of the client. The only one is q: no traffic of channels.
// A client that ends it gets the members of all of its channels.
func (x *session) userMode(nick, text string) {
	u := x.user
	if foldNick(nick) != foldNick(u.nick) {
		x.answer(numUsersDontMatch, "Can't change mode for other users")
		return
	}
	add := true
	for _, l := range []byte(text) {
		switch l {
		case '+', '-':
			add = l == '+'
		case 'q':
			back := u.quiet && !add
			if u.quiet = add; back {
				for _, m := range u.joined {
					x.sendNames(m.channel, m.as)
				}
			}
		}
	}
}

func (x *session) sendBans(c *channel, name string) {
	for _, b := range c.bans {
		x.answerPlain(numBan, name, b.mask, b.by, strconv.FormatInt(b.at.Unix(), 10))
	}
	x.answer(numEndOfBans, "End of Channel Ban List", name)
}

// changeModes makes the possible ones of changes and sends them to the members.
func (x *session) changeModes(by *member, name string, changes []modeChange) {
	done := changes[:0:0]
	for _, change := range changes {
		if x.change(by, name, &change) {
			done = append(done, change)
		}
	}
	if len(done) == 0 {
		return
	}
	c := by.channel
	h := x.server.hall
	h.serial.Add(1)
	h.showModes(c, x.user, nil, done)
	h.links.tellModes(c, x.user, done)
}

// showModes sends changes of modes to the members of a channel but one.
func (h *hall) showModes(c *channel, from, but *user, changes []modeChange) {
	if len(changes) == 0 {
		return
	}
	h.toMembers(c, from, but, func(dst []byte, prefix, name string) []byte {
		return appendModes(appendFrom(dst, prefix, "MODE", name), changes)
	})
}

// changed makes changes of modes that the owner of the channel made, and shows them.
func (h *hall) changed(c *channel, from *user, changes []modeChange, by string) {
	now := time.Now()
	for i := range changes {
		m := &changes[i]
		switch m.letter {
		case 'o', 'v':
			if u := h.nicks[foldNick(m.arg)]; u != nil {
				if in := u.member(c); in != nil {
					in.give(m)
					h.links.touchMember(in)
				}
			}
		case 'b':
			c.setBan(ban{m.arg, by, now}, m.add)
		default:
			c.set(m)
		}
	}
	h.showModes(c, from, nil, changes)
}

// set sets or clears a mode that is not about a user, and returns false if it is not one.
func (c *channel) set(change *modeChange) bool {
	switch change.letter {
	case 'k':
		change.arg = cut(change.arg, maxKey)
		if c.key = ""; change.add {
			c.key = change.arg
		}
		return true
	case 'l':
		n, err := strconv.Atoi(change.arg)
		if change.add && (err != nil || n < 1 || n > maxLimit) {
			return false
		}
		c.limit = n // 0 for -l
		return true
	}
	f := flagOf(change.letter)
	if c.flags &^= f; change.add {
		c.flags |= f
	}
	return f != 0
}

// give makes a member an operator or gives it a voice, or takes that.
func (m *member) give(change *modeChange) {
	if change.letter == 'v' {
		m.voice = change.add
		return
	}
	m.op = change.add
}

// change carries out one change and reports whether it could.
func (x *session) change(by *member, name string, change *modeChange) bool {
	c := by.channel
	switch letter := change.letter; {
	case letter == 'b':
		return x.changeBan(c, name, change)
	case c.kind.ofService():
		x.drop(droppedNotAllowed)
		x.answer(numNotOperator, "The modes of this room are fixed", name)
		return false
	case letter == 'o', letter == 'v':
		return x.changeRank(c, name, change)
	case letter == 'k', letter == 'l':
		return c.set(change)
	}
	if !c.set(change) {
		x.answer(numUnknownMode, "is unknown mode char to me", string(change.letter))
		return false
	}
	return true
}

// changeRank makes a member an operator or gives it a voice, or takes that.
func (x *session) changeRank(c *channel, name string, change *modeChange) bool {
	m := x.other(c, change.arg, name)
	if m == nil {
		return false
	}
	if change.letter == 'o' && m.owner && !change.add && m.user != x.user {
		x.drop(droppedNotAllowed)
		x.answer(numNotOperator, "The channel belongs to that user", name)
		return false
	}
	m.give(change)
	return true
}

// changeBan adds or removes a mask.
func (x *session) changeBan(c *channel, name string, change *modeChange) bool {
	if change.arg == "" {
		x.sendBans(c, name)
		return false
	}
	mask, ok := cleanBanMask(change.arg)
	if !ok {
		x.answer(numBadMask, "Bad mask", name)
		return false
	}
	change.arg = mask
	if !c.setBan(ban{mask, x.user.nick, time.Now()}, change.add) {
		x.answer(numBanListFull, "Channel ban list is full", name, mask)
		return false
	}
	return true
}

// setBan removes the ban of the same mask and adds this one if add. It returns false if
// there are too many.
func (c *channel) setBan(b ban, add bool) bool {
	defer c.bar()
	for i := range c.bans {
		if c.bans[i].mask == b.mask {
			c.bans = append(c.bans[:i], c.bans[i+1:]...)
			break
		}
	}
	if !add {
		return true
	}
	if len(c.bans) >= maxBans {
		return false
	}
	c.bans = append(c.bans, b)
	return true
}
