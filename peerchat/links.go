package peerchat

import (
	"context"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
)

// Subjects of messages between nodes.
const (
	mapName         = "peerchat"
	subjectDirect   = "peerchat.direct"  // events for one node
	subjectCommands = "peerchat.command" // of users, to the owner of a channel
	subjectNicks    = "peerchat.nick"    // requests for nicks
)

// Times and bounds of links.
const (
	// settleTime is how long a node waits for the users and channels of a node that came. Nodes without
	// chat have none.
	settleTime = 2 * time.Second
	// commandTime is how long a command for a channel of another node may take, and
	// retryTime when it is tried again if that node is not ready.
	commandTime = 10 * time.Second
	retryTime   = 50 * time.Millisecond
	// lookEvery is the interval at which a node checks for waits that have ended.
	lookEvery = time.Second
	// maxEntries is the maximum number of users, channels and members of another node.
	maxEntries = 1 << 20
)

// links connect the hall of this node with those of the others in a cluster. Every node
// knows all users and all channels, so that it answers queries of clients without a question to
// others. A change of a channel is made by its owner, the node that its name hashes to: the nodes
// of other clients send it their commands. Users are entries of their own nodes in a map that all
// nodes see, channels and their members are those of the owner. Events that entries do not show,
// such as messages and the author of a change, are notes between them.
//
// When nodes come or go, the new owner of a channel takes it with the modes, topic and keys that
// have the most changes, and with the members that their own nodes claim. On a node that is alone
// all methods do what a lone service needs, and nothing is sent.
//
// The lock of the hall guards all fields but those that never change.
type links struct {
	server   *Server
	hall     *hall
	bus      cluster.Bus // nil: alone
	self     string
	serial   atomic.Uint64 // the last one given to a session or a command
	shared   *cluster.Map[linkKey, linkValue]
	commands *cluster.Call[linkCommand, linkAnswer]
	nicks    *cluster.Call[nickRequest, bool]

	live    map[string]*liveNode // the others
	chats   []string             // nodes with chat, this one included, sorted
	waits   bool                 // for the entries of nodes that came
	users   map[userID]*user
	beaten  map[userID]bool       // of users, those whose nick or profile another one has
	claims  map[linkKey]claim     // of members by their nodes, for channels that this one owns or will own
	doubts  map[linkKey]time.Time // members that a new owner of their channel does not have, and since when
	merges  bool                  // other nodes know more of channels of this one
	touched []linkKey             // entries to compare with the hall
	from    string                // node whose change is being handled; empty: none
	actor   userID                // of the command that is being executed for another node
	request uint64                // its number; 0: none
	leases  leases
	changed chan struct{} // closed when a command may be tried again
	wake    chan struct{} // of capacity 1: look is wanted now
}

// liveNode is another node as the bus sees it.
type liveNode struct {
	incarnation uint64
	since       time.Time
	chat        bool // its entries are here
}

// newLinks returns the links of a hall. They do nothing before serve.
func newLinks(s *Server, bus cluster.Bus) *links {
	l := &links{
		server: s, hall: s.hall, bus: bus, live: make(map[string]*liveNode),
		users: make(map[userID]*user), beaten: make(map[userID]bool), claims: make(map[linkKey]claim), doubts: make(map[linkKey]time.Time),
		leases: newLeases(), changed: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	l.serial.Store(uint64(time.Now().UnixNano())) // not those before a restart
	if bus == nil {
		return l
	}
	l.self, l.chats = bus.Self(), []string{bus.Self()}
	l.shared = cluster.NewMap(cluster.MapOptions[linkKey, linkValue]{
		Name: mapName, Bus: bus, Codec: linkCodec, Max: maxEntries, Changed: l.apply, Log: s.opt.Log, Registerer: s.opt.Registerer,
	})
	l.commands = cluster.NewCall(bus, subjectCommands, l.execute)
	l.nicks = cluster.NewCall(bus, subjectNicks, l.give)
	return l
}

// serve keeps the links until ctx ends.
func (l *links) serve(ctx context.Context) {
	if l.bus == nil {
		return
	}
	for _, cancel := range []func(){l.bus.Subscribe(subjectDirect, l.receive), l.commands.Serve(), l.nicks.Serve()} {
		defer cancel()
	}
	done := make(chan struct{})
	go func() { defer close(done); l.shared.Run(ctx) }()
	defer func() { <-done }()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		nodes, entries := l.bus.Changed(), l.shared.Settled()
		l.locked(func() { l.look(time.Now()) })
		select {
		case <-ctx.Done():
			return
		case <-nodes:
		case <-entries:
		case <-l.wake:
		case <-tick.C:
		}
	}
}

// locked calls f with the lock of the hall. It recovers from a panic: an event of another node must
// not end this one.
func (l *links) locked(f func()) {
	l.hall.mu.Lock()
	defer l.hall.unlock()
	defer func() {
		l.from, l.actor, l.request = "", userID{}, 0
		if r := recover(); r != nil {
			l.drop(linkPanic)
			l.server.opt.Log.Error().Interface("panic", r).Bytes("stack", debug.Stack()).Msg("panic in chat between nodes")
		}
	}()
	f()
}

func (l *links) drop(reason string) { l.server.metrics.linkDrops.WithLabelValues(reason).Inc() }

// owner returns the node that a channel belongs to.
func (l *links) owner(folded string) string { return cluster.Rendezvous(folded, l.chats) }

// owned reports whether this node may execute commands about a channel now: it is the owner and
// knows the channel as the others do.
func (l *links) owned(folded string) bool {
	if l.owner(folded) != l.self {
		return false
	}
	if c := l.hall.channels[folded]; c != nil {
		return c.owner == l.self
	}
	return !l.waits
}

// look follows the nodes of the cluster.
func (l *links) look(now time.Time) {
	moved := false
	nodes, complete := l.bus.Nodes(), l.shared.Complete()
	for node, n := range l.live {
		if !slices.Contains(nodes, node) || l.bus.Incarnation(node) != n.incarnation {
			delete(l.live, node)
			l.leases.lose(node)
			moved = true
		}
	}
	l.waits = false
	chats := []string{l.self}
	for _, node := range nodes {
		if node == l.self {
			continue
		}
		n := l.live[node]
		if n == nil {
			n = &liveNode{incarnation: l.bus.Incarnation(node), since: now}
			l.live[node] = n
		}
		if n.chat = n.chat || complete[node]; n.chat {
			chats = append(chats, node)
		} else if now.Sub(n.since) < settleTime {
			l.waits = true
		}
	}
	slices.Sort(chats)
	moved = moved || !slices.Equal(chats, l.chats)
	l.merges = l.merges || moved
	l.chats = chats
	l.leases.sweep(now)
	if l.merges && !l.waits {
		l.merge()
	}
	l.orphans(now)
	l.resolve(now)
	if moved {
		l.retry()
	}
}

// retry lets waiting commands look again.
func (l *links) retry() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// touch has an entry of this node compared with the hall before the lock of the hall is released.
func (l *links) touch(k linkKey) {
	if l.bus != nil {
		l.touched = append(l.touched, k)
	}
}

// touchMember is touch for a member, and for its user, which claims it.
func (l *links) touchMember(m *member) {
	if l.bus == nil {
		return
	}
	l.touch(linkKey{foldChannel(m.channel.name), l.id(m.user)})
	if m.user.node == "" {
		l.touch(linkKey{user: l.id(m.user)})
	}
}

// touchChannel is touch for a channel whose modes, topic or keys changed.
func (l *links) touchChannel(c *channel) {
	if l.mine(c) {
		c.rev++
	}
	l.touch(linkKey{channel: foldChannel(c.name)})
}

// made notes that a channel was made: by a command on this node, or by the sender of a change.
func (l *links) made(c *channel) {
	if l.bus == nil {
		return
	}
	k := linkKey{channel: foldChannel(c.name)}
	if c.owner = l.from; c.owner == "" {
		c.owner = l.self
		for range l.shared.Elsewhere(k) {
			l.needMerge()
		}
	}
	l.touch(k)
}

// mine reports whether this node is the last one that executed commands about a channel.
func (l *links) mine(c *channel) bool { return c.owner == l.self }

// flush updates the entries that were touched, and sends all changes at once: players wait for them.
func (l *links) flush() {
	if l.bus == nil {
		return
	}
	for i, k := range l.touched {
		if slices.Contains(l.touched[i+1:min(len(l.touched), i+8)], k) {
			continue
		}
		if v := l.own(k); v != nil {
			l.shared.Put(k, v)
		} else if _, had := l.shared.Own(k); had {
			if c := l.hall.channels[k.channel]; c != nil && !l.mine(c) && len(l.live) > 0 {
				l.note(k, &event{kind: evGone}) // another node has taken the channel
			} else {
				l.shared.Delete(k)
			}
		}
	}
	l.touched = l.touched[:0]
	l.shared.Flush()
}

// own returns the entry that this node has with a key, nil if none.
func (l *links) own(k linkKey) linkValue {
	if k.channel == "" {
		if u := l.users[k.user]; u != nil && u.node == "" && !u.left {
			return l.info(u)
		}
		return nil
	}
	c := l.hall.channels[k.channel]
	switch {
	case c == nil:
		return nil
	case k.user == userID{}:
		if l.mine(c) || c.owner == "" {
			return stateOf(c)
		}
	case l.mine(c):
		if u := l.users[k.user]; u != nil {
			if m := u.member(c); m != nil {
				return &memberState{membership: membershipOf(m), request: u.request}
			}
		}
	}
	return nil
}

// tell sends all nodes an event of a channel that this node owns.
func (l *links) tell(c *channel, e event) {
	if len(l.live) > 0 {
		out := e // which would be allocated on a lone node otherwise
		out.channel, out.actor, out.request = c.name, l.actor, l.request
		l.note(linkKey{}, &out)
	}
}

// note sends all nodes an event, with the removal of an entry of this node.
func (l *links) note(k linkKey, e *event) {
	if len(l.live) == 0 {
		if k != (linkKey{}) {
			l.touch(k)
		}
		return
	}
	if b, ok := l.encode(e); ok {
		l.shared.DeleteNote(k, b)
	}
}

// send sends an event to one node. It may be lost.
func (l *links) send(node string, e *event) {
	if b, ok := l.encode(e); ok {
		if err := l.bus.Send(node, subjectDirect, b); err != nil {
			l.drop(linkUnsent)
		}
	}
}

func (l *links) encode(e *event) ([]byte, bool) {
	b, ok := appendEvent(nil, e)
	if !ok {
		l.drop(linkTooLong)
		l.server.opt.Log.Error().Uint8("kind", uint8(e.kind)).Msg("an event of chat is too long for other nodes")
	}
	return b, ok
}

// author returns the identity that other nodes show for an action of a user; nil: the service.
func (l *links) author(u *user) author {
	if u == nil {
		return author{}
	}
	return author{l.id(u), u.nick, u.clear, u.masked}
}

// id returns the identity of a user in the cluster.
func (l *links) id(u *user) userID {
	if u.node == "" {
		return userID{l.self, u.serial}
	}
	return userID{u.node, u.serial}
}

// byAuthor returns the user that did something, nil for the service. One that has left
// meanwhile is shown nevertheless.
func (l *links) byAuthor(a *author) *user {
	if a.id == (userID{}) {
		return nil
	}
	if u := l.users[a.id]; u != nil {
		return u
	}
	return &user{names: names{a.nick, a.clear, a.masked}, node: a.id.node}
}
