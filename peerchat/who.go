package peerchat

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// maxListed is the maximum number of channels in the answer to a LIST.
const maxListed = 4096

// names is the command of that name. Without a channel the list is empty: one of
// everything would be long.
func (x *session) names(_ context.Context, m *message) error {
	name := m.param(0)
	if name == "" {
		x.answer(numEndOfNames, "End of /NAMES list.", "*")
		return nil
	}
	c := x.server.hall.channel(name)
	if c != nil && !c.shownTo(x.user) {
		c = nil
	}
	x.sendNames(c, name)
	return nil
}

// who is the command of that name, for a channel or a nick.
func (x *session) who(_ context.Context, m *message) error {
	h, asked := x.server.hall, m.params[0]
	if asked != "" && asked[0] == '#' {
		if c := h.channel(asked); c != nil && c.shownTo(x.user) {
			in := x.user.member(c)
			for _, other := range c.members {
				x.whoLine(other.user, other, asked, in != nil && in.op)
			}
		}
	} else if u := h.nicks[foldNick(asked)]; u != nil {
		shared, clear := x.shared(u)
		name := "*"
		if shared != nil {
			name = x.user.member(shared.channel).as
		}
		x.whoLine(u, shared, name, clear)
	}
	x.answer(numEndOfWho, "End of WHO list", asked)
	return nil
}

// shared returns the membership of u in a channel of the client, and whether
// the client is an operator there. Games use this to find the rank of a member,
// and accept the answer only if it names the channel.
func (x *session) shared(u *user) (m *member, operator bool) {
	for _, own := range x.user.joined {
		if in := u.member(own.channel); in != nil && (m == nil || own.op) {
			m, operator = in, own.op
		}
	}
	return m, operator
}

// whoLine answers with one user. m is its membership in the channel, nil if
// there is none.
func (x *session) whoLine(u *user, m *member, channel string, clear bool) {
	flags := u.whoFlag()
	if m != nil {
		flags += m.mark()
	}
	host := u.hostFor(clear || u == x.user)
	x.answer(numWho, "0 "+u.realName, channel, u.field, host, serverName, u.nick, flags)
}

// whois is the command of that name.
func (x *session) whois(_ context.Context, m *message) error {
	nick := m.params[len(m.params)-1]
	u := x.server.hall.nicks[foldNick(nick)]
	if u == nil {
		x.answer(numNoSuchNick, "No such nick", nick)
		x.answer(numEndOfWhois, "End of WHOIS list", nick)
		return nil
	}
	_, clear := x.shared(u)
	x.answer(numWhoisUser, u.realName, u.nick, u.field, u.hostFor(clear || u == x.user), "*")
	x.answerAway(u)
	var rooms []string
	for _, in := range u.joined {
		if in.channel.shownTo(x.user) {
			rooms = append(rooms, in.mark()+in.channel.name)
		}
	}
	if len(rooms) > 0 {
		x.answer(numWhoisRooms, strings.Join(rooms, " "), u.nick)
	}
	x.answer(numEndOfWhois, "End of WHOIS list", u.nick)
	return nil
}

// listed is a line of LIST.
type listed struct {
	name, topic string
	members     int
}

// list is the command of that name: channels with members, and the rooms of the
// client's game without any. The mask may have * and ?.
func (x *session) list(_ context.Context, m *message) error {
	mask := m.param(0)
	if mask == "" {
		mask = "*"
	}
	all := x.server.hall.listed(x.user, x.server.roomsOf(x.game))
	found := all[:0]
	for _, l := range all {
		if matchMask(mask, l.name) {
			found = append(found, l)
		}
	}
	slices.SortFunc(found, func(a, b listed) int { return strings.Compare(a.name, b.name) })
	return x.server.hall.act(x, func() error {
		x.answer(numListStart, "Users Name", "Channel")
		for _, l := range found[:min(len(found), maxListed)] {
			x.answer(numList, l.topic, l.name, strconv.Itoa(l.members))
		}
		x.answer(numListEnd, "End of LIST")
		return nil
	})
}

// listed returns the channels with members that a user may see, and those of rooms
// that have none.
func (h *hall) listed(u *user, rooms []listed) []listed {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []listed
	for _, r := range rooms {
		if h.channel(r.name) == nil {
			out = append(out, r)
		}
	}
	for _, c := range h.channels {
		if c.shownTo(u) && len(c.members) > 0 {
			out = append(out, listed{c.name, c.topic, len(c.members)})
		}
	}
	return out
}

// roomsOf returns the rooms that exist for a game without members, with the names
// that the operator gave them as topics.
func (s *Server) roomsOf(game string) []listed {
	g, ok := s.opt.Games.Lookup(game)
	if !ok {
		return nil
	}
	rooms := []listed{{name: titleRoom(g.Name)}}
	list := g.Rooms
	if s.opt.Rooms != nil {
		list = append(slices.Clip(list), s.opt.Rooms(g.Name)...)
	}
	for _, r := range list {
		rooms = append(rooms, listed{name: groupRoom(r.ID), topic: r.Name})
	}
	return rooms
}

// titleRoom returns the name of a game's title room.
func titleRoom(game string) string { return "#GSP!" + game }

func groupRoom(id uint32) string { return "#GPG!" + formatID(id) }
