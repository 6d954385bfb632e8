package peerchat

import (
	"slices"
	"testing"
)

// check fails a test if users, channels and members of the hall contradict each
// other, or if one has more than it may.
func (h *hall) check(t testing.TB) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if int(h.users.Load()) != len(h.nicks) {
		t.Errorf("%d users, %d nicks", h.users.Load(), len(h.nicks))
	}
	for key, u := range h.nicks {
		h.checkUser(t, key, u)
	}
	for id, u := range h.profiles {
		if u.session.profile != id || h.nicks[foldNick(u.nick)] != u {
			t.Errorf("profile %d: user %q of profile %d", id, u.nick, u.session.profile)
		}
	}
	var kinds [len(kindNames)]int64
	for key, c := range h.channels {
		kinds[c.kind.room]++
		h.checkChannel(t, key, c)
	}
	for kind := range kinds {
		if n := h.kinds[kind].Load(); n != kinds[kind] {
			t.Errorf("%d channels of kind %s, counted %d", kinds[kind], kindNames[kind], n)
		}
	}
}

// checkUser is check for one user.
func (h *hall) checkUser(t testing.TB, key string, u *user) {
	t.Helper()
	if key != foldNick(u.nick) || u.left || u.session.user != u || len(u.nick) > maxNick {
		t.Errorf("user %q at %q: left %v, own session %v", u.nick, key, u.left, u.session.user == u)
	}
	if p := u.session.profile; p != 0 && h.profiles[p] != u {
		t.Errorf("user %q is not the one of its profile %d", u.nick, p)
	}
	if len(u.former) > maxFormer || len(u.away) > maxAway {
		t.Errorf("user %q: %d former nicks, away text of %d bytes", u.nick, len(u.former), len(u.away))
	}
	if len(u.invites) > maxInvites || len(u.field) > maxUserField || len(u.realName) > maxRealName {
		t.Errorf("user %q: %d invitations, field of %d bytes, real name of %d", u.nick, len(u.invites), len(u.field), len(u.realName))
	}
	u.keys.check(t)
	for i, m := range u.joined {
		c := m.channel
		if m.user != u || h.channels[foldChannel(c.name)] != c || c.members[m.index] != m {
			t.Errorf("user %q: membership of %q does not match", u.nick, c.name)
		}
		if slices.ContainsFunc(u.joined[:i], func(o *member) bool { return o.channel == c }) {
			t.Errorf("user %q is in %q twice", u.nick, c.name)
		}
	}
}

// checkChannel is check for one channel.
func (h *hall) checkChannel(t testing.TB, key string, c *channel) {
	t.Helper()
	if key != foldChannel(c.name) || len(c.members) == 0 || !validChannel(c.name) {
		t.Errorf("channel %q at %q has %d members", c.name, key, len(c.members))
	}
	if len(c.bans) > maxBans || len(c.topic) > maxTopic || len(c.key) > maxKey || c.limit < 0 || c.limit > maxLimit {
		t.Errorf("channel %q: %d bans, topic of %d bytes, limit %d", c.name, len(c.bans), len(c.topic), c.limit)
	}
	c.keys.check(t)
	for i, m := range c.members {
		if m.index != i || m.channel != c || m.user.left || h.nicks[foldNick(m.user.nick)] != m.user || !slices.Contains(m.user.joined, m) {
			t.Errorf("channel %q: member %d (%q) does not match", c.name, i, m.user.nick)
		}
		if foldChannel(m.as) != key || m.barred != c.banned(m.user) {
			t.Errorf("channel %q: member %q has name %q, barred %v", c.name, m.user.nick, m.as, m.barred)
		}
		m.keys.check(t)
	}
}

// check fails a test for more keys than may be kept.
func (s *keyStore) check(t testing.TB) {
	t.Helper()
	size := 0
	for _, p := range s.pairs {
		size += len(p.key) + len(p.value)
	}
	if len(s.pairs) > maxKeys || size > maxKeyBytes {
		t.Errorf("%d keys of %d bytes", len(s.pairs), size)
	}
}
