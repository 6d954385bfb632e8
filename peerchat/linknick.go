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

// end ends the lease of a client.
func (t *leases) end(id userID) {
	if folded, ok := t.of[id]; ok {
		delete(t.byNick, folded)
		delete(t.of, id)
	}
}

// lose ends the leases of a node.
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

// claim requests the nick that a command of the client would give it, before it is
// carried out. Refused nicks are noted for mayTake.
func (l *links) claim(ctx context.Context, x *session, m *message) {
	nick := x.wishes(m)
	x.denied = ""
	if nick == "" || len(nick) > maxNick {
		return
	}
	folded := foldNick(nick)
	ctx, cancel := context.WithTimeout(ctx, nickTime)
	defer cancel()
	for range 3 {
		l.hall.mu.Lock()
		owner := l.nickOwner(folded)
		free := owner == l.self && l.free(folded, userID{l.self, x.serial}, uint64(x.profile))
		l.hall.mu.Unlock()
		if owner != l.self {
			e := event{kind: evEnter, info: userInfo{id: userID{l.self, x.serial}, nick: nick, profile: uint64(x.profile)}}
			b, _ := appendEvent(nil, &e)
			answer, err := l.bus.Request(ctx, owner, subjectNicks, b)
			if errors.Is(err, cluster.ErrGone) {
				continue // another one decides now
			}
			// Without an answer, the local state decides, see mayTake.
			free = err != nil || len(answer) == 1 && answer[0] == 1
		}
		if !free {
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

// free gives a nick to a client if no other one has it. The lock of the hall is held.
func (l *links) free(folded string, id userID, profile uint64) bool {
	if holder := l.hall.nicks[folded]; holder != nil && l.id(holder) != id {
		if profile == 0 || uint64(holder.session.profile) != profile {
			return false
		}
	}
	return l.leases.give(folded, id, time.Now())
}

// handleNick decides about a nick for a client of another node.
func (l *links) handleNick(_ context.Context, from string, data []byte) ([]byte, error) {
	var e event
	n := 0
	if !parseEvents(data, func(read *event) { e, n = *read, n+1 }) || n != 1 || e.kind != evEnter || e.info.id.node != from {
		return nil, errMalformedNick
	}
	answer := []byte{0}
	l.locked(func() {
		if l.free(foldNick(e.info.nick), e.info.id, e.info.profile) {
			answer[0] = 1
		}
	})
	return answer, nil
}

var errMalformedNick = errors.New("malformed request for a nick")
