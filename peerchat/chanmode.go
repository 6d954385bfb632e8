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
// Who comes back gets the members of all of its channels.
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

// sendBans answers with the bans of a channel.
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
	x.server.hall.serial.Add(1)
	x.server.hall.toMembers(c, x.user, nil, func(dst []byte, prefix, name string) []byte {
		return appendModes(appendFrom(dst, prefix, "MODE", name), done)
	})
}

// change carries out one change and reports whether it could.
func (x *session) change(by *member, name string, change *modeChange) bool {
	c := by.channel
	switch change.letter {
	case 'o', 'v':
		return x.changeRank(c, name, change)
	case 'b':
		return x.changeBan(c, name, change)
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
	if f == 0 {
		x.answer(numUnknownMode, "is unknown mode char to me", string(change.letter))
		return false
	}
	if c.flags &^= f; change.add {
		c.flags |= f
	}
	return true
}

// changeRank makes a member an operator or gives it a voice, or takes that.
func (x *session) changeRank(c *channel, name string, change *modeChange) bool {
	m := x.other(c, change.arg, name)
	if m == nil {
		return false
	}
	if change.letter == 'v' {
		m.voice = change.add
		return true
	}
	if m.owner && !change.add && m.user != x.user {
		x.drop(droppedNotAllowed)
		x.answer(numNotOperator, "The channel belongs to that user", name)
		return false
	}
	m.op = change.add
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
	defer c.bar()
	for i := range c.bans {
		if c.bans[i].mask == mask {
			c.bans = append(c.bans[:i], c.bans[i+1:]...)
			break
		}
	}
	if !change.add {
		return true
	}
	if len(c.bans) >= maxBans {
		x.answer(numBanListFull, "Channel ban list is full", name, mask)
		return false
	}
	c.bans = append(c.bans, ban{mask, x.user.nick, time.Now()})
	return true
}
