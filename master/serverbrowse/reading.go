package serverbrowse

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// A browser that has another secret key than the master cannot read its list, and does not
// notice that: it waits for the end of the list until the player refreshes. A browser that
// can read returns keepalives, if it stays connected at all. So a list is probably unread
// if nothing comes on its connection, not even the first keepalive. One such connection
// proves nothing: the player may have left the game. Several in a row do.
const (
	firstShare = 10              // the first keepalive is sent after this part of the time of others
	echoTime   = 5 * time.Second // within which it should be returned,
	slowLink   = 4 << 10         // after a list that arrives with so many bytes per second
	unreadFrom = 2               // silent connections in a row that count
	doubtFor   = time.Hour       // between two of them
	maxDoubts  = 1024            // readers that are remembered
)

// reader identifies the browsers of a game at an address.
type reader struct {
	addr netip.Addr
	game string // whose secret key they have
}

// reading is the state of a connection between its list and the next message.
type reading struct {
	by     reader
	silent bool      // nothing has come since the list
	asked  bool      // the first keepalive was sent
	next   time.Time // when it is due or should have been returned; zero: neither
}

func (r *reading) due(at time.Time) bool { return !r.next.IsZero() && !at.Before(r.next) }

// watchReading begins to watch whether the list that was just sent can be read. A client
// that did not want a list may be silent.
func (x *session) watchReading(from *games.Game, r *ListRequest) {
	x.reading = reading{by: reader{x.conn.Peer().Addr(), from.Name}, silent: true}
	if !r.Has(NoServerList) {
		x.reading.next = time.Now().Add(x.server.opt.KeepAlive / firstShare)
	}
}

// testReading sends the first keepalive, or records that it was not returned.
func (x *session) testReading() error {
	if x.reading.asked {
		x.reading.next = time.Time{}
		x.server.metrics.unanswered.Inc()
		x.doubtReading()
		return nil
	}
	wait := echoTime + time.Duration(x.out.size())*time.Second/slowLink
	x.reading.asked, x.reading.next = true, time.Now().Add(wait)
	return x.out.send(nil, appendKeepalive(nil))
}

// doubtReading records that a client which was sent a keepalive is still silent.
func (x *session) doubtReading() {
	if x.reading.silent && x.reading.asked && x.server.doubts.add(x.reading.by, time.Now()) {
		x.note(x.reading.by.game, verdicts.ListUnread)
	}
}

// trustReading records that the client sent a message, so that it can read its list.
func (x *session) trustReading() {
	if !x.reading.silent {
		return
	}
	if x.server.doubts.clear(x.reading.by) {
		x.note(x.reading.by.game, verdicts.ListRead)
	}
	x.reading = reading{}
}

// doubts remembers readers with silent connections. One takes the room of another, so that
// it may be forgotten.
type doubts struct {
	seed maphash.Seed

	mu    sync.Mutex // guards slots
	slots [maxDoubts]doubt
}

// doubt is a reader with silent connections in a row.
type doubt struct {
	by    reader
	times int
	last  time.Time
}

func newDoubts() *doubts { return &doubts{seed: maphash.MakeSeed()} }

func (d *doubts) slot(by reader) *doubt {
	return &d.slots[maphash.Comparable(d.seed, by)%maxDoubts]
}

// add counts a silent connection. It returns whether there were enough in a row.
func (d *doubts) add(by reader, now time.Time) (unread bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.slot(by)
	if at.by != by || now.Sub(at.last) > doubtFor {
		*at = doubt{by: by}
	}
	at.times, at.last = at.times+1, now
	return at.times >= unreadFrom
}

// clear ends the row. It returns whether add returned true in it.
func (d *doubts) clear(by reader) (corrected bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.slot(by)
	if at.by != by {
		return false
	}
	corrected = at.times >= unreadFrom
	*at = doubt{}
	return corrected
}
