package peerchat

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// hall holds all signed-on clients and their channels. One lock guards all of
// it: code under it touches memory only, and sending a line to a client is an
// append to its queue.
type hall struct {
	links  *links                       // to the other nodes of a cluster
	users  atomic.Int64                 // clients of this node
	kinds  [len(kindNames)]atomic.Int64 // channels
	serial atomic.Uint64                // changes with every member and channel

	mu       sync.Mutex // guards the fields below, and all users, channels and members
	acting   *session   // client whose command is being executed; nil: none
	pending  []*session // their lines are written by the goroutine of acting
	nicks    map[string]*user
	profiles map[storage.ProfileID]*user
	channels map[string]*channel
}

func newHall() *hall {
	return &hall{
		nicks: make(map[string]*user), profiles: make(map[storage.ProfileID]*user), channels: make(map[string]*channel),
	}
}

// names are the nick of a user and its prefixes.
type names struct {
	nick   string // as it chose it
	clear  string // nick!field@host, with its address
	masked string // the same for strangers
}

// maxFormer is the maximum number of other nicks that a client may have had in its session.
const maxFormer = 8

// user is a client that is signed on.
type user struct {
	names
	session  *session
	former   []names // that it had before, at most maxFormer: bans of them are for it
	field    string  // its USER field
	realName string
	away     string // text for those who write to it; empty: it is not away
	host     string // its address
	mask     string // its mask for strangers
	since    time.Time
	joined   []*member
	invites  []*channel // that an operator of them invited it to, and that it did not join yet
	keys     keyStore
	quiet    bool // it refuses traffic of channels
	left     bool // it has left the hall

	node    string // of another node that it is signed on at; empty: this one
	serial  uint64 // which identifies it there, in a cluster
	request uint64 // number of its last command that was executed, in a cluster
}

func (u *user) prefix(clear bool) string {
	if clear {
		return u.clear
	}
	return u.masked
}

// hostFor returns the host of u as another user may see it.
func (u *user) hostFor(clear bool) string {
	if clear {
		return u.host
	}
	return u.mask
}

// rename gives u a nick, and remembers the one that it had.
func (u *user) rename(nick string) {
	if i := u.had(nick); i >= 0 {
		u.former = slices.Delete(u.former, i, i+1)
	}
	if u.nick != "" && foldNick(u.nick) != foldNick(nick) {
		u.former = append(u.former, u.names)
		u.former = u.former[max(0, len(u.former)-maxFormer):]
	}
	u.names = u.namesFor(nick)
}

func (u *user) namesFor(nick string) names {
	return names{nick, nick + "!" + u.field + "@" + u.host, nick + "!" + u.field + "@" + u.mask}
}

// setFormer sets the nicks that u had before.
func (u *user) setFormer(nicks []string) {
	u.former = nil
	for _, nick := range nicks {
		u.former = append(u.former, u.namesFor(nick))
	}
}

// had returns the index of a nick among the former ones, -1 if u did not have it.
func (u *user) had(nick string) int {
	return slices.IndexFunc(u.former, func(n names) bool { return foldNick(n.nick) == foldNick(nick) })
}

// mayRename reports whether u can remember its nick when it gets another one.
func (u *user) mayRename(nick string) bool {
	return len(u.former) < maxFormer || foldNick(u.nick) == foldNick(nick) || u.had(nick) >= 0
}

// member returns the membership of u in c, nil if there is none.
func (u *user) member(c *channel) *member {
	for _, m := range u.joined {
		if m.channel == c {
			return m
		}
	}
	return nil
}

// act carries out a command of x under the lock and sends its answers. Before the
// sign-on they go to the socket, which may block: that is done without the lock.
func (h *hall) act(x *session, do func() error) error {
	var pending []*session
	defer func() { // also after a panic: they have no other writer
		for _, other := range pending {
			other.drainNow()
		}
	}()
	err := h.locked(x, &pending, do)
	if sent := x.sendNow(x.reply); err == nil {
		err = sent
	}
	x.reply = x.reply[:0]
	return err
}

// locked is the part of act under the lock. After the sign-on it queues the
// answers too: they must not follow lines of others that were sent later.
//
// The lines of the sessions in pending must be written afterwards.
func (h *hall) locked(x *session, pending *[]*session, do func() error) error {
	h.mu.Lock()
	h.acting = x
	defer func() {
		*pending, h.pending, h.acting = h.pending, nil, nil
		h.unlock()
	}()
	if x.user != nil && x.user.left {
		return x.reason // it was kicked as it was taken out
	}
	err := do()
	if x.opened {
		x.answered()
	}
	return err
}

// unlock releases the lock. Other nodes see what has changed.
func (h *hall) unlock() {
	h.links.flush()
	h.mu.Unlock()
}

// deliver sends lines to u. They are not changed afterwards.
func (h *hall) deliver(u *user, lines []byte) {
	if u.session == h.acting {
		u.session.reply = append(u.session.reply, lines...)
		return
	}
	if u.node != "" {
		h.links.deliver(u, lines)
		return
	}
	idle, ok := u.session.out.offer(lines, h.acting != nil)
	if !ok {
		u.session.Kick(endedSlow)
	}
	if idle {
		h.pending = append(h.pending, u.session)
	}
}

// enter adds a client. The nick is free.
func (h *hall) enter(u *user) {
	h.users.Add(1)
	h.links.entered(u)
}

// leave removes a client and informs those that share a channel with it.
func (h *hall) leave(u *user, reason string) {
	u.left = true
	h.toMates(u, false, func(dst []byte, prefix string) []byte {
		return appendText(appendFrom(dst, prefix, "QUIT"), reason)
	})
	h.links.leaving(u, reason)
	for len(u.joined) > 0 {
		h.drop(u.joined[len(u.joined)-1])
	}
	if folded := foldNick(u.nick); h.nicks[folded] == u {
		delete(h.nicks, folded)
	}
	if p := u.session.profile; h.profiles[p] == u {
		delete(h.profiles, p)
	}
	if u.node == "" {
		h.users.Add(-1)
	}
	h.links.freed(u)
}

// leaveHall takes the client out of the hall, if it is in it.
func (x *session) leaveHall(reason string) {
	h := x.server.hall
	if x.detach != nil {
		x.detach()
		x.detach = nil
	}
	h.mu.Lock()
	defer h.unlock()
	u := x.user
	if u == nil || u.left {
		return
	}
	if reason == "" {
		reason = "Connection reset"
	}
	h.leave(u, reason)
}

// toMates sends a line to every client that shares a channel with u, once each,
// and to u itself if own.
func (h *hall) toMates(u *user, own bool, build func(dst []byte, prefix string) []byte) {
	masked := build(nil, u.masked)
	var clear []byte
	inClear := func() []byte {
		if clear == nil {
			clear = build(nil, u.clear)
		}
		return clear
	}
	seen := make(map[*user]struct{})
	for _, in := range u.joined {
		for _, m := range in.channel.members {
			if _, again := seen[m.user]; again || m.user == u || m.user.quiet || m.user.node != "" {
				continue
			}
			seen[m.user] = struct{}{}
			if m.op {
				h.deliver(m.user, inClear())
			} else {
				h.deliver(m.user, masked)
			}
		}
	}
	if own {
		h.deliver(u, inClear())
	}
}
