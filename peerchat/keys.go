package peerchat

import (
	"context"
	"slices"
)

// Bounds of the keys of one user, member or channel.
const (
	maxKeys     = 64
	maxKeyName  = 64      // bytes
	maxKeyValue = 512     // bytes
	maxKeyBytes = 2 << 10 // an answer for a room of 2,000 has at most 4 MiB
)

// usernameKey is a key that every user has without setting it: its USER field.
const usernameKey = "username"

// keyStore keeps keys with their values, in the order in which they were set first.
// The zero value is empty.
type keyStore struct{ pairs []keyPair }

// get returns the value of a key, empty if it is not set.
func (s *keyStore) get(key string) string {
	for i := range s.pairs {
		if s.pairs[i].key == key {
			return s.pairs[i].value
		}
	}
	return ""
}

// set sets a key, or removes it if the value is empty. It reports whether there was
// room.
func (s *keyStore) set(key, value string) bool {
	at := slices.IndexFunc(s.pairs, func(p keyPair) bool { return p.key == key })
	switch {
	case value == "" && at < 0:
		return true
	case value == "":
		s.pairs = slices.Delete(s.pairs, at, at+1)
		return true
	case len(key) > maxKeyName || len(value) > maxKeyValue:
		return false
	}
	size := len(key) + len(value)
	for i, p := range s.pairs {
		if i != at {
			size += len(p.key) + len(p.value)
		}
	}
	switch {
	case size > maxKeyBytes || at < 0 && len(s.pairs) >= maxKeys:
		return false
	case at < 0:
		s.pairs = append(s.pairs, keyPair{key, value})
	default:
		s.pairs[at].value = value
	}
	return true
}

// broadcast returns the pairs whose names begin with b_.
func (s *keyStore) broadcast() []keyPair {
	var out []keyPair
	for _, p := range s.pairs {
		if isBroadcast(p.key) {
			out = append(out, p)
		}
	}
	return out
}

// keysOf returns a key of a user in a channel, or of the user itself: built-in
// keys have priority.
func keysOf(u *user, s *keyStore, key string) string {
	if key == usernameKey {
		return u.field
	}
	return s.get(key)
}

// appendKeys appends the values of names, and the broadcast keys with their
// names if those are requested.
func appendKeys(dst []byte, u *user, s *keyStore, names []string, broadcast bool) []byte {
	for _, name := range names {
		value := s.get(name)
		if u != nil {
			value = keysOf(u, s, name)
		}
		dst = appendValues(dst, value)
	}
	if broadcast {
		dst = appendPairs(dst, s.broadcast()...)
	}
	return dst
}

// store sets keys and returns those that are sent to members.
func (x *session) store(s *keyStore, text string) []keyPair {
	heard, dropped := setPairs(s, text)
	for range dropped {
		x.drop(droppedKeys)
	}
	return heard
}

// setPairs sets keys. It returns those that are sent to members, and how many were
// dropped.
func setPairs(s *keyStore, text string) (heard []keyPair, dropped int) {
	pairs, ok := parsePairs(text)
	if !ok {
		return nil, 1
	}
	for _, p := range pairs {
		switch {
		case !s.set(p.key, p.value):
			dropped++
		case isBroadcast(p.key):
			heard = append(heard, p)
		}
	}
	return heard, dropped
}

// setKey is the command SETKEY: keys of the client itself.
func (x *session) setKey(_ context.Context, m *message) error {
	x.store(&x.user.keys, m.params[0])
	x.server.hall.links.touchUser(x.user)
	return nil
}

// getKey is the command GETKEY: keys of one user, or of all in a channel.
func (x *session) getKey(_ context.Context, m *message) error {
	target, cookie := m.params[0], m.params[1]
	names, broadcast, _ := parseNames(m.params[3])
	of := func(u *user) {
		x.answer(numKeys, string(appendKeys(nil, u, &u.keys, names, broadcast)), u.nick, cookie)
	}
	if target == "" || target[0] != '#' {
		if u := x.server.hall.nicks[foldNick(target)]; u != nil {
			of(u)
		} else {
			x.answer(numNoSuchNick, "No such nick", target)
		}
		return nil
	}
	c := x.seen(target)
	if c == nil {
		return nil
	}
	for _, in := range c.members {
		of(in.user)
	}
	x.answer(numEndOfKeys, "End of GETKEY", target, cookie)
	return nil
}

// seen returns the channel of a name. If the client sees none it answers with
// an error and returns nil.
func (x *session) seen(name string) *channel {
	c := x.server.hall.channel(name)
	if c == nil || !c.shownTo(x.user) {
		x.answer(numNoSuchChannel, "No such channel", name)
		return nil
	}
	return c
}

// setMemberKey is the command SETCKEY: keys of a user in a channel. Only
// operators may set those of others. A refusal is not answered.
func (x *session) setMemberKey(_ context.Context, m *message) error {
	h := x.server.hall
	c := h.channel(m.params[0])
	to := h.nicks[foldNick(m.params[1])]
	if c == nil || to == nil {
		return nil
	}
	by, of := x.user.member(c), to.member(c)
	if by == nil || of == nil || by != of && !by.op {
		x.drop(droppedNotAllowed)
		return nil
	}
	h.memberKeys(of, m.params[2], x)
	h.links.tell(c, event{kind: evMemberKeys, who: h.links.id(to), text: m.params[2]})
	return nil
}

// memberKeys sets keys of a member and sends members those that they hear. x is the
// client that sets them; nil: one of another node.
func (h *hall) memberKeys(of *member, text string, x *session) {
	heard := x.storeOr(&of.keys, text)
	h.links.touchMember(of)
	if len(heard) == 0 {
		return
	}
	text, nick := string(appendPairs(nil, heard...)), of.user.nick
	h.broadcast(of.channel, x, func(dst []byte, u *user, name string) []byte {
		return appendText(appendNumeric(dst, numMemberKeys, u.nick, name, nick, broadcastCookie), text)
	})
}

// storeOr is store, for a nil session without counting.
func (x *session) storeOr(s *keyStore, text string) []keyPair {
	if x != nil {
		return x.store(s, text)
	}
	heard, _ := setPairs(s, text)
	return heard
}

// broadcastCookie stands in place of a cookie in lines that answer no request.
const broadcastCookie = "BCAST"

// broadcast sends a numeric to all members of a channel, also to the client x; nil: it
// is one of another node.
func (h *hall) broadcast(c *channel, x *session, build func(dst []byte, u *user, name string) []byte) {
	for _, m := range c.members {
		if m.user.node == "" && (!m.user.quiet || x != nil && m.user == x.user) {
			h.deliver(m.user, build(nil, m.user, m.as))
		}
	}
}

// getMemberKey is the command GETCKEY: keys of one user in a channel, or of all.
func (x *session) getMemberKey(_ context.Context, m *message) error {
	name, nick, cookie := m.params[0], m.params[1], m.params[2]
	c := x.seen(name)
	if c == nil {
		return nil
	}
	names, broadcast, _ := parseNames(m.params[4])
	of := func(in *member) {
		x.answer(numMemberKeys, string(appendKeys(nil, in.user, &in.keys, names, broadcast)), name, in.user.nick, cookie)
	}
	if nick != "*" {
		if in := x.other(c, nick, name); in != nil {
			of(in)
		}
		return nil
	}
	for _, in := range c.members {
		of(in)
	}
	x.answer(numEndOfMembers, "End of GETCKEY", name, cookie)
	return nil
}

// setChannelKey is the command SETCHANKEY. Only operators may set keys of a
// channel. A refusal is not answered.
func (x *session) setChannelKey(_ context.Context, m *message) error {
	c := x.server.hall.channel(m.params[0])
	if c == nil {
		return nil
	}
	by := x.user.member(c)
	if by == nil || !by.op {
		x.drop(droppedNotAllowed)
		return nil
	}
	h := x.server.hall
	h.channelKeys(c, m.params[1], x)
	h.links.tell(c, event{kind: evChannelKeys, text: m.params[1]})
	h.links.touchChannel(c)
	return nil
}

// channelKeys sets keys of a channel and sends members those that they hear. x is as for memberKeys.
func (h *hall) channelKeys(c *channel, text string, x *session) {
	heard := x.storeOr(&c.keys, text)
	if len(heard) == 0 {
		return
	}
	text = string(appendPairs(nil, heard...))
	h.broadcast(c, x, func(dst []byte, u *user, name string) []byte {
		return appendText(appendNumeric(dst, numChannelKeys, u.nick, name, broadcastCookie), text)
	})
}

// getChannelKey is the command GETCHANKEY.
func (x *session) getChannelKey(_ context.Context, m *message) error {
	name, cookie := m.params[0], m.params[1]
	c := x.seen(name)
	if c == nil {
		return nil
	}
	names, broadcast, all := parseNames(m.params[3])
	var text []byte
	if all {
		text = appendPairs(text, c.keys.pairs...)
	} else {
		text = appendKeys(text, nil, &c.keys, names, broadcast)
	}
	if len(text) == 0 {
		text = []byte(`\`)
	}
	x.answer(numChannelKeys, string(text), name, cookie)
	return nil
}
