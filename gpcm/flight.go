package gpcm

import (
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/presence"
)

// Bounds of the unacknowledged events to one client.
const (
	maxFlight       = 256      // events
	maxFlightWeight = 64 << 10 // rough size of their texts
	keepFlight      = 16       // room for events that a session keeps
)

// settleTime is the age from which a written event counts as arrived. When a
// client ends with a reset, data that its system had acknowledged may be
// unread; younger events then count as not arrived.
const settleTime = 5 * time.Second

// flight holds the events that were written to a client and may not have
// arrived, if their loss would matter: a status, for example, is not in it.
// Offsets count the bytes that the writer has written.
type flight struct {
	events  []sent // in the order of their ends
	weight  int
	written uint64 // offset after the last byte that the socket accepted
	acked   uint64 // offset after the last byte known to be acknowledged
	known   bool   // the system reports acknowledgements
}

// sent is one event in a flight.
type sent struct {
	event presence.Event
	id    uint64 // of the message in the mailbox; 0: it is not in it
	end   uint64 // offset after its last byte
	at    time.Time
}

// tracked reports whether an event would be missed.
func tracked(e presence.Event) bool {
	_, ok := presence.Stored(e)
	return ok
}

// add adds an event whose last byte is before end. The caller has checked full.
func (f *flight) add(e presence.Event, id, end uint64, now time.Time) {
	f.events = append(f.events, sent{e, id, end, now})
	f.weight += item{event: e}.weight()
}

// full reports whether there is no room for one more event.
func (f *flight) full() bool { return len(f.events) >= maxFlight || f.weight >= maxFlightWeight }

// has reports whether a message of the mailbox is in flight.
func (f *flight) has(id uint64) bool {
	return slices.ContainsFunc(f.events, func(s sent) bool { return s.id == id })
}

// adopt notes that a copy of an event in flight is in the mailbox, and reports whether
// there is such an event without one.
func (f *flight) adopt(e presence.Event, id uint64) bool {
	want, _ := identityOf(e)
	i := slices.IndexFunc(f.events, func(s sent) bool {
		got, ok := identityOf(s.event)
		return ok && s.id == 0 && got == want
	})
	if i >= 0 {
		f.events[i].id = id
	}
	return i >= 0
}

// removed notes that messages are no longer in the mailbox.
func (f *flight) removed(ids []uint64) {
	for i := range f.events {
		if slices.Contains(ids, f.events[i].id) {
			f.events[i].id = 0
		}
	}
}

// acknowledge records the system's report on the bytes written last.
func (f *flight) acknowledge(unacknowledged int, known bool) {
	if !known {
		return
	}
	f.known = true
	f.acked = max(f.acked, f.written-min(f.written, uint64(max(unacknowledged, 0))))
}

// arrived removes the events that have arrived and were written up to before.
// If the system does not report acknowledgements, all of these count as
// arrived. It returns those that are in the mailbox.
func (f *flight) arrived(before time.Time) (ids []uint64) {
	upto := f.acked
	if !f.known {
		upto = f.written
	}
	n := 0
	for n < len(f.events) && f.events[n].end <= upto && !f.events[n].at.After(before) {
		s := &f.events[n]
		if s.id != 0 {
			ids = append(ids, s.id)
		}
		presence.ReceiptOf(s.event).Settle()
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
