// Package history records the number of players on each game server over the
// last 24 hours, for charts and for tools.
//
// It holds numbers only, no names of players; times at which no daemon ran have
// no samples. The owner of a Book adds a sample of the list every Interval, and
// saves the Book so that it survives a restart.
//
// A server is forgotten after a day of absence and costs about 0.7 KiB until
// then: 7 MiB for 10,000 servers, and at most 46 MiB for MaxServers.
package history

import (
	"net/netip"
	"sync"
	"time"

	"github.com/respawnd/respawnd/master"
)

const (
	// Interval is the time between two samples.
	Interval = 5 * time.Minute
	// Samples is the number of samples kept per server: one day.
	Samples = int(24 * time.Hour / Interval)
	// MaxServers is the maximum number of servers with a history. Further ones
	// have none until others are forgotten.
	MaxServers = 1 << 16
)

// Away is the sample of a time at which a server was not in the list.
const Away = -1

// absent is Away as a track stores it.
const absent = 1<<16 - 1

// Key identifies a server as the API does: it stays the same while the server
// has that address, restarts included.
type Key struct {
	Origin master.Origin
	Public netip.AddrPort
}

// Series is the history of one server.
type Series struct {
	First   time.Time // of the first sample; they are Interval apart
	Players []int     // oldest first, Away where the server was not listed; at most Samples
}

// track is the ring of one server: the sample of round n is at n modulo Samples.
type track struct {
	first, last int64 // rounds in which it was listed
	players     [Samples]uint16
}

// Book holds the history of all servers. All methods may be called
// concurrently.
type Book struct {
	mu      sync.Mutex // guards the fields below
	round   int64      // of the last sample, in Intervals since 1970; 0: none yet
	tracks  map[Key]*track
	refused int
}

// NewBook returns an empty Book.
func NewBook() *Book { return &Book{tracks: make(map[Key]*track)} }

// Round is one sample of all servers while it is being taken. It belongs to one
// goroutine.
type Round struct {
	book   *Book
	number int64
}

// Begin starts the sample for now. Two samples in one interval become one: the
// later numbers count. Every server that is not added is Away. If the clock was
// set back by more than an interval the whole history is dropped, because its
// times would be wrong.
func (b *Book) Begin(now time.Time) Round {
	n := now.UnixNano() / int64(Interval)
	b.mu.Lock()
	defer b.mu.Unlock()
	if n < b.round-1 {
		clear(b.tracks)
		b.round = 0
	}
	n = max(n, b.round)
	steps := min(n-b.round, int64(Samples))
	for k, t := range b.tracks {
		if n-t.last >= int64(Samples) {
			delete(b.tracks, k)
			continue
		}
		for i := range steps {
			t.players[(n-i)%int64(Samples)] = absent
		}
	}
	b.round, b.refused = n, 0
	return Round{b, n}
}

// Add records the number of players on a server. It returns false if there is
// no room for another server.
func (r Round) Add(k Key, players int) bool {
	b := r.book
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tracks[k]
	if t == nil {
		if len(b.tracks) >= MaxServers {
			b.refused++
			return false
		}
		t = &track{first: r.number}
		for i := range t.players {
			t.players[i] = absent
		}
		b.tracks[k] = t
	}
	t.last = r.number
	t.players[r.number%int64(Samples)] = uint16(max(0, min(players, absent-1)))
	return true
}

// Of returns the history of a server, from the first sample of the last 24
// hours in which it was listed up to now. ok is false if there is none.
func (b *Book) Of(k Key) (s Series, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tracks[k]
	if t == nil {
		return s, false
	}
	from := max(t.first, b.round-int64(Samples)+1)
	for ; from < b.round && t.players[from%int64(Samples)] == absent; from++ {
	}
	s.First = time.Unix(0, from*int64(Interval)).UTC()
	s.Players = make([]int, 0, b.round-from+1)
	for n := from; n <= b.round; n++ {
		v := int(t.players[n%int64(Samples)])
		if v == absent {
			v = Away
		}
		s.Players = append(s.Players, v)
	}
	return s, true
}

// Len returns the number of servers with a history, and of those for which the
// last sample had no room.
func (b *Book) Len() (servers, refused int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.tracks), b.refused
}
