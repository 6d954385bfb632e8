package gpcm

import (
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/presence"
)

// Bounds of what is under way to one client.
const (
	maxFlight       = 256      // events
	maxFlightWeight = 64 << 10 // rough size of their texts
	keepFlight      = 16       // room for events that a session keeps
)

// settleTime is how long ago an event must have been written to count as
// arrived. A client that ends with a reset has not read what its system had
// acknowledged for it; that is taken for not arrived, if it is not older.
const settleTime = 5 * time.Second

// flight are the events that were written to a client and may not have arrived:
// those that would be missed. Others, such as a status, are not in it. Offsets
// count the bytes that the writer has written.
type flight struct {
	events  []sent // in the order of their ends
	weight  int
	written uint64 // offset behind the last byte that the socket took
	acked   uint64 // offset behind the last byte known to be acknowledged
	known   bool   // the system says what is acknowledged
}

// sent is one event in a flight.
type sent struct {
	event presence.Event
	id    uint64 // of the message in the mailbox; 0: it is not in it
	end   uint64 // offset behind its last byte
	at    time.Time
}

// tracked reports whether an event would be missed.
func tracked(e presence.Event) bool {
	_, ok := stored(e)
	return ok
}

// add notes an event whose last byte is before end. The caller has made room.
func (f *flight) add(e presence.Event, id, end uint64, now time.Time) {
	f.events = append(f.events, sent{e, id, end, now})
	f.weight += item{event: e}.weight()
}

// full reports whether there is no room for one more event.
func (f *flight) full() bool { return len(f.events) >= maxFlight || f.weight >= maxFlightWeight }

// has reports whether a message of the mailbox is under way.
func (f *flight) has(id uint64) bool {
	return slices.ContainsFunc(f.events, func(s sent) bool { return s.id == id })
}

// acknowledge notes what the system says of the bytes that were written last.
func (f *flight) acknowledge(unacknowledged int, known bool) {
	if !known {
		return
	}
	f.known = true
	f.acked = max(f.acked, f.written-min(f.written, uint64(max(unacknowledged, 0))))
}

// arrived takes out the events that have arrived and were written up to before.
// Where the system does not say what is acknowledged, all of these have. It
// returns which of them are in the mailbox.
func (f *flight) arrived(before time.Time) (ids []uint64) {
	upto := f.acked
	if !f.known {
		upto = f.written
	}
	n := 0
	for n < len(f.events) && f.events[n].end <= upto && !f.events[n].at.After(before) {
		if s := &f.events[n]; s.id != 0 {
			ids = append(ids, s.id)
		}
		f.weight -= item{event: f.events[n].event}.weight()
		n++
	}
	f.events = slices.Delete(f.events, 0, n)
	return ids
}

// shrink gives back memory that an idle session does not need.
func (f *flight) shrink() {
	if len(f.events) == 0 && cap(f.events) > keepFlight {
		f.events = nil
	}
}
