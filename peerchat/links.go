package peerchat

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
)

// Subjects of messages between nodes.
const (
	subjectEvents = "peerchat.events"
	subjectNicks  = "peerchat.nicks" // requests for nicks
)

// Times of links.
const (
	// settleTime is how long a node waits for the states of the channels that it owns from now on.
	// Nodes without chat do not answer.
	settleTime = 2 * time.Second
	// commandTime is how long a command for a channel of another node may take, and
	// retryTime when it is tried again if that node is not ready.
	commandTime = 10 * time.Second
	retryTime   = 50 * time.Millisecond
	// lookEvery is the interval at which a node checks for waits that have ended.
	lookEvery = time.Second
	// messageBytes is the approximate length of a message of many events.
	messageBytes = 64 << 10
)

// links connect the hall of this node with those of the others in a cluster. Every node
// knows all users and all channels, so that it answers queries of clients without a question to
// others. A change of a channel is made by its owner, the node that its name hashes to: the nodes
// of other clients send it their commands, and it sends all nodes the change as an event, which
// each shows to its own clients. Changes of users are sent by their own nodes in the same way.
//
// When nodes come or go, every node requests the state of the others. The new owner of a channel
// merges their states of it and then sends it to all.
//
// The lock of the hall guards all fields but those that never change.
type links struct {
	server *Server
	hall   *hall
	bus    cluster.Bus
	self   string
	serial atomic.Uint64 // the last one given to a session or a command

	live     map[string]uint64 // incarnations of the other nodes as the bus sees them
	chats    []string          // nodes with chat, this one included, sorted
	awaited  map[string]bool   // nodes whose state was requested
	until    time.Time         // when they are no longer waited for
	incoming map[string]*incoming
	users    map[userID]*user
	beaten   map[userID]bool // of users, those whose nick or profile another one has
	missed   map[string]bool // nodes whose whole state did not come since it is needed
	asked    time.Time       // when it was requested last
	from     string          // sender of the message that is being handled; empty: none

	actor    userID // of the command that is being executed for another node
	request  uint64 // its number; 0: none
	requests map[uint64]*request
	leases   leases
	changed  chan struct{} // closed when a command may be tried again
}

// request is a command of a client of this node that another one executes.
type request struct {
	session *session
	node    string
	done    chan status // with room for one
}

// newLinks returns the links of a hall. They do nothing before serve.
func newLinks(s *Server, bus cluster.Bus) *links {
	l := &links{
		server: s, hall: s.hall, bus: bus, self: bus.Self(), live: make(map[string]uint64), chats: []string{bus.Self()},
		awaited: make(map[string]bool), beaten: make(map[userID]bool), missed: make(map[string]bool), incoming: make(map[string]*incoming), users: make(map[userID]*user),
		requests: make(map[uint64]*request), leases: newLeases(), changed: make(chan struct{}),
	}
	l.serial.Store(uint64(time.Now().UnixNano())) // not those before a restart
	return l
}

// serve keeps the links until ctx ends.
func (l *links) serve(ctx context.Context) {
	for _, cancel := range []func(){
		l.bus.Subscribe(subjectEvents, l.receive), l.bus.OnLoss(l.lost), l.bus.Handle(subjectNicks, l.handleNick),
	} {
		defer cancel()
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		changed := l.bus.Changed()
		l.locked(func() { l.look(time.Now()) })
		var settle <-chan time.Time
		if wait, ok := l.wait(time.Now()); ok {
			settle = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-tick.C:
		case <-settle:
		}
	}
}

// locked calls f with the lock of the hall. It recovers from a panic: an event of another node must
// not end this one.
func (l *links) locked(f func()) {
	l.hall.mu.Lock()
	defer l.hall.mu.Unlock()
	defer func() {
		l.from, l.actor, l.request = "", userID{}, 0
		if r := recover(); r != nil {
			l.server.metrics.linkDrops.WithLabelValues(linkPanic).Inc()
			l.server.opt.Log.Error().Interface("panic", r).Bytes("stack", debug.Stack()).Msg("panic in chat between nodes")
		}
	}()
	f()
}

// wait returns how long the answers of other nodes are still waited for.
func (l *links) wait(now time.Time) (time.Duration, bool) {
	l.hall.mu.Lock()
	defer l.hall.mu.Unlock()
	return max(l.until.Sub(now), time.Millisecond), len(l.awaited) > 0
}

// owner returns the node that a channel belongs to.
func (l *links) owner(folded string) string { return cluster.Rendezvous(folded, l.chats) }

// owned reports whether this node may execute commands about a channel now: it is the owner and has
// the states of others.
func (l *links) owned(folded string) bool {
	if l.owner(folded) != l.self {
		return false
	}
	if c := l.hall.channels[folded]; c != nil {
		return c.owner == l.self
	}
	return len(l.awaited) == 0
}

// look follows the nodes of the cluster.
func (l *links) look(now time.Time) {
	moved := false
	nodes := l.bus.Nodes()
	for node, incarnation := range l.live {
		if !slices.Contains(nodes, node) || l.bus.Incarnation(node) != incarnation {
			l.lose(node)
			moved = true
		}
	}
	for _, node := range nodes {
		if _, known := l.live[node]; node != l.self && !known {
			l.live[node] = l.bus.Incarnation(node)
			moved = true
		}
	}
	switch {
	case moved:
		l.move(now)
	case len(l.awaited) > 0 && !now.Before(l.until):
		clear(l.awaited)
		l.settle()
	}
	l.leases.sweep(now)
	l.endEmpty()
	l.repair(now)
}

// lose forgets a node: its users are gone. Their channels differ from those of
// a node that lives by having no owner until they are settled.
func (l *links) lose(node string) {
	delete(l.live, node)
	delete(l.awaited, node)
	delete(l.incoming, node)
	delete(l.missed, node)
	l.chats = slices.DeleteFunc(slices.Clone(l.chats), func(n string) bool { return n == node })
	l.leases.lose(node)
	for id, u := range l.users {
		if id.node == node {
			l.forget(u, "Connection reset")
		}
	}
	for _, c := range l.hall.channels {
		if c.owner == node {
			c.owner = ""
		}
	}
	for n, r := range l.requests {
		if r.node == node {
			l.finish(n, statusLost)
		}
	}
}

// move requests the state of all other nodes: some channels belong to another one now.
func (l *links) move(now time.Time) {
	clear(l.awaited)
	for node := range l.live {
		l.awaited[node], l.missed[node] = true, true
		l.send(node, &event{kind: evHello})
	}
	l.asked = now
	if l.until = now.Add(settleTime); len(l.awaited) == 0 {
		l.settle()
	}
	l.retry()
}

// retry lets waiting commands look again.
func (l *links) retry() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// join notes that a node has chat.
func (l *links) join(node string) {
	if slices.Contains(l.chats, node) {
		return
	}
	l.chats = append(slices.Clone(l.chats), node)
	slices.Sort(l.chats)
	l.missed[node] = true
	l.retry()
}

// lost notes a node whose messages were lost. Commands that it executes are tried again:
// the answers may be among them.
func (l *links) lost(node string) {
	l.locked(func() {
		l.missed[node] = true
		delete(l.incoming, node) // its result is not complete now
		for n, r := range l.requests {
			if r.node == node {
				l.finish(n, statusLost)
			}
		}
	})
}

// repair requests the states that are missing, not more often than every lookEvery: they
// may be too long for the cluster, and a node may have no chat.
func (l *links) repair(now time.Time) {
	if len(l.missed) == 0 || now.Sub(l.asked) < lookEvery {
		return
	}
	l.asked = now
	for node := range l.missed {
		if slices.Contains(l.chats, node) {
			l.send(node, &event{kind: evHello})
		}
	}
}

// receive handles a message of another node.
func (l *links) receive(from string, data []byte) {
	l.locked(func() {
		if incarnation, known := l.live[from]; !known || incarnation != l.bus.Incarnation(from) {
			l.look(time.Now()) // the message came before the news of its sender
			if _, known = l.live[from]; !known {
				l.server.metrics.linkDrops.WithLabelValues(linkUnknownNode).Inc()
				return
			}
		}
		l.from = from
		if !parseEvents(data, l.apply) {
			l.server.metrics.linkDrops.WithLabelValues(linkMalformed).Inc()
		}
	})
}

// send sends an event to one node.
func (l *links) send(node string, e *event) {
	if b, ok := l.encode(e); ok {
		l.sent(l.bus.Send(node, subjectEvents, b))
	}
}

// publish sends an event to all other nodes.
func (l *links) publish(e *event) {
	if len(l.live) == 0 {
		return
	}
	if b, ok := l.encode(e); ok {
		l.sent(l.bus.Publish(subjectEvents, b))
	}
}

func (l *links) encode(e *event) ([]byte, bool) {
	b, ok := appendEvent(nil, e)
	if !ok {
		l.server.metrics.linkDrops.WithLabelValues(linkTooLong).Inc()
		l.server.opt.Log.Error().Str("kind", fmt.Sprint(e.kind)).Msg("an event of chat is too long for other nodes")
	}
	return b, ok
}

// sent counts messages that could not be sent. The receivers notice and request the
// state.
func (l *links) sent(err error) {
	if err != nil {
		l.server.metrics.linkDrops.WithLabelValues(linkUnsent).Inc()
	}
}

// tell publishes a change of a channel that this node owns.
func (l *links) tell(c *channel, e event) {
	c.rev++
	e.channel, e.rev, e.actor, e.request = c.name, c.rev, l.actor, l.request
	l.publish(&e)
}

// executes reports whether a command is executed now, and not an event of another node.
func (l *links) executes() bool { return l.from == "" || l.actor.node != "" }

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
