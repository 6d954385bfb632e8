package gpcm

import (
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// maxDelivered is how many messages of other nodes and of the mailbox a session at least
// remembers. More than a flight has are not repeated.
const maxDelivered = 2 * maxFlight

// delivered is the messages that a client was sent. A second copy of one is in the mailbox,
// or comes, if the node of its sender could not know whether it was delivered.
type delivered struct {
	recent, before map[identity]struct{} // of at most maxDelivered each
}

// identity is what all copies of a message have in common.
type identity struct {
	from   storage.ProfileID
	number uint64
}

// identityOf returns the identity of an event, false if it has none.
func identityOf(e presence.Event) (identity, bool) {
	m, ok := presence.Stored(e)
	return identity{m.From, m.Number}, ok && m.Number != 0
}

// add notes an event and reports whether it is new.
func (d *delivered) add(e presence.Event) bool {
	id, ok := identityOf(e)
	if !ok {
		return true
	}
	_, recent := d.recent[id]
	_, before := d.before[id]
	if recent || before {
		return false
	}
	if d.recent == nil || len(d.recent) >= maxDelivered {
		d.recent, d.before = make(map[identity]struct{}), d.recent
	}
	d.recent[id] = struct{}{}
	return true
}
