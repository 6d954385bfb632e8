package gpcm

import (
	"hash/maphash"

	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// maxDelivered is how many messages of other nodes and of the mailbox a session at least
// remembers. More than a flight has are not repeated.
const maxDelivered = 2 * maxFlight

// delivered is the messages that a client was sent. A second copy of one is in the mailbox,
// or comes, if the node of its sender could not know whether it was delivered.
type delivered struct {
	recent, before map[uint64]struct{} // of at most maxDelivered each
}

// identity is what all copies of a message have in common.
type identity struct {
	from storage.ProfileID
	kind storage.MessageKind
	sent int64
	text string
}

// identityOf returns the identity of an event, false if it has none.
func identityOf(e presence.Event) (identity, bool) {
	m, ok := presence.Stored(e)
	if !ok || m.Sent.IsZero() {
		return identity{}, false
	}
	return identity{m.From, m.Kind, m.Sent.UnixNano(), m.Text}, true
}

var identitySeed = maphash.MakeSeed()

// add notes an event and reports whether it is new.
func (d *delivered) add(e presence.Event) bool {
	id, ok := identityOf(e)
	if !ok {
		return true
	}
	key := maphash.Comparable(identitySeed, id)
	_, recent := d.recent[key]
	_, before := d.before[key]
	if recent || before {
		return false
	}
	if d.recent == nil || len(d.recent) >= maxDelivered {
		d.recent, d.before = make(map[uint64]struct{}), d.recent
	}
	d.recent[key] = struct{}{}
	return true
}
