package peerchat

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/operator"
)

// Bounds of a channel.
const (
	maxBans    = 64
	maxInvites = 64  // of one user
	maxTopic   = 512 // bytes
)

// kindNames are the names of the kinds of channels in metrics and commands.
var kindNames = [...]string{roomOther: "other", roomTitle: "title", roomGroup: "group", roomStaging: "staging"}

// channel is a channel with members. Its modes, topic and keys end with its last
// member: title and group rooms exist without any, and are new for the next one. These have
// fixed modes, and their operators are the moderators.
type channel struct {
	name    string // as its first member wrote it
	kind    channelKind
	since   time.Time
	members []*member

	topic string
	flags flags
	key   string
	limit int // 0: none
	bans  []ban
	keys  keyStore
	said  []operator.ChatLine // the last ones, for operators

	// In a cluster:
	owner    string    // node that executes commands about it; empty: none yet
	rev      uint64    // counts changes of the fields above
	epoch    uint64    // counts owners
	orphaned time.Time // when the owner was lost
}

// ban is a mask that keeps users out.
type ban struct {
	mask string
	by   string
	at   time.Time
}

// member is a user in a channel.
type member struct {
	user    *user
	channel *channel
	index   int    // in channel.members
	as      string // name of the channel as the user wrote it
	op      bool
	voice   bool
	owner   bool // stays an operator
	barred  bool // a mask of the channel is for the user
	keys    keyStore
	since   time.Time
	claims  uint64 // in a cluster, of the own node, see claim
}

// mark returns the prefix of the nick of m in lists.
func (m *member) mark() string {
	switch {
	case m.op:
		return "@"
	case m.voice:
		return "+"
	}
	return ""
}

// flags are modes of a channel without parameters.
type flags uint16

// flagLetters are the letters of the flags, in the order of their bits.
const flagLetters = "ipsmnte"

// flagOf returns the flag with a letter, 0 if there is none.
func flagOf(letter byte) flags {
	if i := strings.IndexByte(flagLetters, letter); i >= 0 {
		return 1 << i
	}
	return 0
}

// has reports whether the mode with a letter is set.
func (f flags) has(letter byte) bool { return f&flagOf(letter) != 0 }

// modes returns the modes as one text with their parameters: letters first. The
// password is left out unless shown.
func (c *channel) modes(key bool) (letters string, params []string) {
	b := []byte{'+'}
	for _, l := range []byte(channelFlags) {
		switch {
		case l == 'k' && c.key != "":
			b = append(b, l)
			if key {
				params = append(params, c.key)
			} else {
				params = append(params, "*")
			}
		case l == 'l' && c.limit > 0:
			b = append(b, l)
			params = append(params, strconv.Itoa(c.limit))
		case c.flags.has(l):
			b = append(b, l)
		}
	}
	return string(b), params
}

// hidden reports whether users outside do not see the channel in lists.
func (c *channel) hidden() bool { return c.flags.has('p') || c.flags.has('s') }

// banned reports whether a mask of the channel is for u, under any nick that it had.
func (c *channel) banned(u *user) bool {
	return c.bars(&u.names) || slices.ContainsFunc(u.former, func(n names) bool { return c.bars(&n) })
}

// bars reports whether a mask of the channel matches names.
func (c *channel) bars(n *names) bool {
	for i := range c.bans {
		if matchMask(c.bans[i].mask, n.clear) || matchMask(c.bans[i].mask, n.masked) {
			return true
		}
	}
	return false
}

// bar looks at all members again after a change of the bans.
func (c *channel) bar() {
	for _, m := range c.members {
		m.barred = c.banned(m.user)
	}
}

// shownTo reports whether a user sees the members of the channel.
func (c *channel) shownTo(u *user) bool { return !c.hidden() || u.member(c) != nil }

// channel returns the channel of a name, nil if it has no members.
func (h *hall) channel(name string) *channel { return h.channels[foldChannel(name)] }

// make adds a channel. It does not exist.
func (h *hall) make(name string, now time.Time) *channel {
	c := &channel{name: name, kind: kindOf(name), since: now}
	if c.kind.ofService() {
		c.flags = flagOf('n') | flagOf('t')
	}
	h.links.made(c)
	h.channels[foldChannel(name)] = c
	h.kinds[c.kind.room].Add(1)
	return c
}

// end removes a channel without members.
func (h *hall) end(c *channel) {
	if folded := foldChannel(c.name); h.channels[folded] == c {
		delete(h.channels, folded)
		h.kinds[c.kind.room].Add(-1)
		h.links.touch(linkKey{channel: folded})
	}
}

// join adds a user to a channel, which is made if it has no members.
func (h *hall) join(u *user, name string, now time.Time) *member {
	c := h.channel(name)
	first := c == nil
	if first {
		c = h.make(name, now)
	}
	if name == c.name {
		name = c.name // shared by all members
	}
	m := &member{user: u, channel: c, index: len(c.members), as: name, op: first && !c.kind.ofService(), owner: first && c.kind.room == roomStaging, since: now}
	m.barred = c.banned(u)
	c.members = append(c.members, m)
	u.joined = append(u.joined, m)
	u.invites = slices.DeleteFunc(u.invites, func(i *channel) bool { return i == c })
	h.links.touchMember(m)
	h.serial.Add(1)
	return m
}

// drop removes a member, and its channel if it was the last one.
func (h *hall) drop(m *member) {
	c, u := m.channel, m.user
	last := len(c.members) - 1
	c.members[m.index] = c.members[last]
	c.members[m.index].index = m.index
	c.members[last] = nil
	c.members = c.members[:last]
	for i, in := range u.joined {
		if in == m {
			u.joined = append(u.joined[:i], u.joined[i+1:]...)
			break
		}
	}
	h.links.touchMember(m)
	if last == 0 && h.links.ends(c) {
		h.end(c)
	}
	h.serial.Add(1)
}

// toMembers sends a line to the members of c but one. build appends it; name is
// the receiver's name of the channel. from, if not nil, is its prefix: with its
// address for itself and for operators of the channel.
func (h *hall) toMembers(c *channel, from, but *user, build func(dst []byte, prefix, name string) []byte) (n int) {
	var lines [2][]byte // masked, clear
	for _, m := range c.members {
		if m.user == but || m.user.quiet && m.user != from || m.user.node != "" {
			continue
		}
		clear, prefix := 0, serverName
		if from != nil {
			if m.op || m.user == from {
				clear = 1
			}
			prefix = from.prefix(clear == 1)
		}
		n++
		if m.as != c.name {
			h.deliver(m.user, build(nil, prefix, m.as))
			continue
		}
		if lines[clear] == nil {
			lines[clear] = build(nil, prefix, c.name)
		}
		h.deliver(m.user, lines[clear])
	}
	return n
}
