package peerchat

import (
	"context"
	"errors"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
)

// Bounds of leases of nicks.
const (
	// leaseTime is how long a nick is kept for a client that was given it and is not
	// signed on with it yet.
	leaseTime = time.Minute
	maxLeases = 1 << 17
	// nickTime is how long the node of a nick may take to answer.
	nickTime = 3 * time.Second
)

// leases are the nicks that this node has given to clients that do not have them yet. A
// client has one at a time.
type leases struct {
	byNick map[string]lease
	of     map[userID]string
}

type lease struct {
	id    userID
	until time.Time
}

func newLeases() leases {
	return leases{byNick: make(map[string]lease), of: make(map[userID]string)}
}

// give gives a nick to a client, unless another one has a lease of it.
func (t *leases) give(folded string, id userID, now time.Time) bool {
	if have, ok := t.byNick[folded]; ok && have.id != id && now.Before(have.until) {
		return false
	}
	t.end(id)
	if old, ok := t.byNick[folded]; ok {
		t.end(old.id)
	}
	if len(t.byNick) >= maxLeases {
		return false
	}
	t.byNick[folded], t.of[id] = lease{id, now.Add(leaseTime)}, folded
	return true
}

func (t *leases) end(id userID) {
	if folded, ok := t.of[id]; ok {
		delete(t.byNick, folded)
		delete(t.of, id)
	}
}

func (t *leases) lose(node string) {
	for id := range t.of {
		if id.node == node {
			t.end(id)
		}
	}
}

// sweep ends leases that are over.
func (t *leases) sweep(now time.Time) {
	for _, have := range t.byNick {
		if !now.Before(have.until) {
			t.end(have.id)
		}
	}
}

// nickOwner returns the node that decides about a nick.
func (l *links) nickOwner(folded string) string { return cluster.Rendezvous("nick "+folded, l.chats) }

type nickRequest struct {
	Node            string
	Serial, Profile uint64
	Nick            string
}

// claim requests the nick that a command of the client would give it, before it is
// carried out. Refused nicks are noted for mayTake.
func (l *links) claim(ctx context.Context, x *session, m *message) {
	x.denied = ""
	nick := x.wishes(m)
	if l.bus == nil || nick == "" || len(nick) > maxNick {
		return
	}
	folded := foldNick(nick)
	ctx, cancel := context.WithTimeout(ctx, nickTime)
	defer cancel()
	for range 3 {
		l.hall.mu.Lock()
		owner := l.nickOwner(folded)
		l.hall.unlock()
		free, err := l.nicks.Ask(ctx, owner, nickRequest{l.self, x.serial, uint64(x.profile), nick})
		if errors.Is(err, cluster.ErrGone) {
			continue // another one decides now
		}
		if err == nil && !free { // without an answer, the local state decides, see mayTake
			x.denied = folded
		}
		return
	}
}

// wishes returns the nick that a command would give the client, empty if none.
func (x *session) wishes(m *message) string {
	nick := x.wanted.nick
	switch m.command {
	case "NICK":
		nick = m.param(0)
	case "REGISTERNICK":
		nick = m.param(1) + nickSuffix
	}
	if nick == ownNick {
		if x.uniqueNick == "" {
			return ""
		}
		nick = x.ownNick()
	}
	return nick
}

// give gives a nick to a client if no other one has it.
func (l *links) give(_ context.Context, q nickRequest) (free bool, err error) {
	if q.Nick == "" || len(q.Nick) > maxNick {
		return false, errNick
	}
	l.locked(func() {
		folded, id := foldNick(q.Nick), userID{q.Node, q.Serial}
		holder := l.hall.nicks[folded]
		if holder == nil || l.id(holder) == id || q.Profile != 0 && uint64(holder.session.profile) == q.Profile {
			free = l.leases.give(folded, id, time.Now())
		}
	})
	return free, nil
}

var errNick = errors.New("malformed request for a nick")
