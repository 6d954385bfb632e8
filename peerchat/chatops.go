package peerchat

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

var _ service.Chat = (*Server)(nil)

// kinds are the kinds of channels as operators read them.
var kinds = [...]operator.ChatRoomKind{
	roomOther: operator.ChatOther, roomTitle: operator.ChatTitle, roomGroup: operator.ChatGroup, roomStaging: operator.ChatStaging,
}

// Members implements service.Chat.
func (s *Server) Members(channel string) int {
	s.hall.mu.Lock()
	defer s.hall.unlock()
	if c := s.hall.channel(channel); c != nil {
		return len(c.members)
	}
	return 0
}

// Serial implements service.Chat.
func (s *Server) Serial() uint64 { return s.hall.serial.Load() }

// Rooms implements service.Chat.
func (s *Server) Rooms() []operator.ChatRoom {
	rooms := s.hall.rooms()
	for i := range rooms {
		r := &rooms[i]
		if r.Kind != operator.ChatGroup || s.opt.Room == nil {
			continue
		}
		if room, game, ok := s.opt.Room(r.Group); ok {
			r.Name, r.Game = room.Name, game
		}
	}
	slices.SortFunc(rooms, func(a, b operator.ChatRoom) int { return strings.Compare(a.Channel, b.Channel) })
	return rooms
}

// rooms returns the channels that have members.
func (h *hall) rooms() []operator.ChatRoom {
	h.mu.Lock()
	defer h.unlock()
	rooms := make([]operator.ChatRoom, 0, len(h.channels))
	for _, c := range h.channels {
		if len(c.members) == 0 {
			continue // its owner ends it
		}
		rooms = append(rooms, operator.ChatRoom{
			Channel: c.name, Kind: kinds[c.kind.room], Game: c.kind.game, Group: c.kind.group, Topic: c.topic,
			Members: len(c.members), Since: c.since, Node: c.owner,
		})
	}
	return rooms
}

// Who implements service.Chat.
func (s *Server) Who(channel string) ([]operator.ChatMember, error) {
	s.hall.mu.Lock()
	defer s.hall.unlock()
	c := s.hall.channel(channel)
	if c == nil {
		return nil, storage.ErrNotFound
	}
	list := make([]operator.ChatMember, 0, len(c.members))
	for _, m := range c.members {
		x := m.user.session
		_, muted := s.sanctioned(x, c.name)
		list = append(list, operator.ChatMember{
			Nick: m.user.nick, Account: x.account, Profile: x.profile, Address: x.peer, Game: x.game,
			Operator: m.op, Voice: m.voice, Muted: muted, Since: m.since, Active: time.Unix(x.heardAt.Load(), 0), Node: s.nodeOf(m.user),
		})
	}
	slices.SortFunc(list, func(a, b operator.ChatMember) int { return strings.Compare(foldNick(a.Nick), foldNick(b.Nick)) })
	return list, nil
}

// nodeOf returns the node that a user is connected to, "" without a cluster.
func (s *Server) nodeOf(u *user) string {
	return s.hall.links.id(u).node
}

// Said implements service.Chat.
func (s *Server) Said(channel string) ([]operator.ChatLine, error) {
	s.hall.mu.Lock()
	defer s.hall.unlock()
	c := s.hall.channel(channel)
	if c == nil {
		return nil, storage.ErrNotFound
	}
	return slices.Clone(c.said), nil
}

// Kick implements service.Chat.
func (s *Server) Kick(_ context.Context, t operator.ChatTarget, reason string) (int, error) {
	if reason == "" {
		reason = "Kicked by the operator"
	}
	h := s.hall
	h.mu.Lock()
	defer h.unlock()
	n := 0
	if t.Channel != "" {
		c := h.channel(t.Channel)
		if c == nil {
			return 0, storage.ErrNotFound
		}
		for _, m := range slices.Clone(c.members) {
			if selects(t, m.user) {
				s.throwOut(m, reason)
				n++
			}
		}
		return n, nil
	}
	for _, u := range h.nicks {
		if selects(t, u) {
			u.session.Kick(quit{reason})
			n++
		}
	}
	return n, nil
}

// throwOut throws a member out, through the node that owns the channel.
func (s *Server) throwOut(m *member, reason string) {
	h, l := s.hall, s.hall.links
	if l.owned(foldChannel(m.channel.name)) {
		h.kickOut(nil, m, reason)
		return
	}
	l.send(l.owner(foldChannel(m.channel.name)), &event{kind: evOut, channel: m.channel.name, who: l.id(m.user), text: reason})
}

func selects(t operator.ChatTarget, u *user) bool {
	switch {
	case t.Nick != "":
		return foldNick(t.Nick) == foldNick(u.nick)
	case t.Profile != 0:
		return t.Profile == u.session.profile
	}
	return t.Prefix.Contains(u.session.peer.Addr())
}

// Say implements service.Chat.
func (s *Server) Say(channel, text string) error {
	h := s.hall
	h.mu.Lock()
	defer h.unlock()
	c := h.channel(channel)
	if c == nil {
		return storage.ErrNotFound
	}
	s.show(c, nil, "PRIVMSG", text)
	h.links.tell(c, event{kind: evMessage, word: "PRIVMSG", text: text})
	return nil
}

// operatorNick is the nick in texts of operators, one of the serviceNicks.
const (
	operatorNick   = "Server-Administrator"
	operatorPrefix = operatorNick + "!operator@server"
)

// Recheck implements service.Chat. Bans end connections or memberships, moderators
// become operators of their channels, and former ones lose the rank in those of the service.
func (s *Server) Recheck() {
	h := s.hall
	h.mu.Lock()
	defer h.unlock()
	for _, u := range h.nicks {
		x := u.session
		if banned, _ := s.sanctioned(x, ""); u.node == "" && (banned || x.banned()) {
			x.Kick(endedBanned)
			continue
		}
		for _, m := range slices.Clone(u.joined) {
			s.recheck(m)
		}
	}
}

// recheck looks at one member again.
func (s *Server) recheck(m *member) {
	x, c := m.user.session, m.channel
	if !s.hall.links.owned(foldChannel(c.name)) {
		return // its own node does
	}
	if banned, _ := s.sanctioned(x, c.name); banned {
		s.hall.kickOut(nil, m, "Banned by the operator")
		return
	}
	moderates := x.isModerator(c.name)
	if m.op == moderates || m.op && !c.kind.ofService() {
		return
	}
	m.op, m.owner = moderates, moderates
	changes := []modeChange{{add: moderates, letter: 'o', arg: m.user.nick}}
	s.hall.showModes(c, nil, nil, changes)
	s.hall.links.tellModes(c, nil, changes)
}
