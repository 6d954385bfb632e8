// Package history records the numbers of players on game servers, of each game and
// in all, for charts and for tools.
//
// It holds numbers only, no names of players. Each series is kept for three spans:
// a day in steps of five minutes, a week in steps of an hour, 30 days in steps of
// four hours. The number of a longer step is the largest sample in it. Times at
// which no daemon ran have no samples. The owner of a Book adds a sample of the list
// every Interval, and saves the Book so that it survives a restart.
//
// # Bounds
//
// A server is forgotten 30 days after it left the list and costs about 1.4 KiB until
// then: 14 MiB for 10,000 servers, at most 48 MiB for MaxServers. Beyond those, new
// servers take the room of those that left the list longest ago, and if there are
// none they have no history. A game costs 4 KiB, MaxGames take 4 MiB. The file is a
// compressed form of the same and at most MaxFile bytes long.
package history

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Interval is the time between two samples.
	Interval = 5 * time.Minute
	// MaxServers is the maximum number of servers with a history.
	MaxServers = 1 << 15
	// MaxGames is the maximum number of games with a history. Those without servers
	// give way to others.
	MaxGames = 1 << 10
)

// Key identifies a server as the API does: it stays the same while the server
// has that address, restarts included.
type Key struct {
	Origin string // the name of its *master.Origin
	Public netip.AddrPort
}

// track is the history of one server.
type track struct {
	first, last uint32 // rounds in which it was listed
	players     ring[uint16]
}

// total is the history of a game, or of all games.
type total struct {
	first, last uint32 // rounds in which it had servers
	players     ring[uint32]
	servers     ring[uint16]
}

// Book holds the history of all servers and games. All methods may be called
// concurrently.
type Book struct {
	mu      sync.Mutex // guards the fields below
	round   int64      // of the last sample, in Intervals since 1970; 0: none yet
	tracks  map[Key]*track
	games   map[string]*total
	all     *total // nil: no sample yet
	refused int    // servers without room in the last sample
	evicted uint64 // servers that gave way to others

	version atomic.Uint64 // changes with every sample

	file atomic.Int64 // size of the file when it was read or written last
}

// NewBook returns an empty Book.
func NewBook() *Book { return &Book{tracks: make(map[Key]*track), games: make(map[string]*total)} }

// Round is one sample of all servers while it is being taken. It belongs to one
// goroutine.
type Round struct {
	book    *Book
	number  int64
	games   map[string]count
	leaving []Key // servers that may give way, the best last; nil: not looked for yet
	looked  bool
}

type count struct{ servers, players int }

// Begin starts the sample for now, which ends with End. Two samples in one interval
// become one: the later numbers count. Every server that is not added is Away. If the
// clock was set back by more than an interval, samples of times that are in the
// future now are dropped.
func (b *Book) Begin(now time.Time) *Round {
	n := max(now.UnixNano()/int64(Interval), 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if n < b.round-1 {
		b.rewind(n)
	}
	n = max(n, b.round)
	for k, t := range b.tracks {
		if n-int64(t.last) >= longest {
			delete(b.tracks, k)
			continue
		}
		t.players.clear(b.round, n)
	}
	for name, t := range b.games {
		if n-int64(t.last) >= longest {
			delete(b.games, name)
			continue
		}
		t.clear(b.round, n)
	}
	if b.all != nil {
		b.all.clear(b.round, n)
	}
	b.round, b.refused = n, 0
	return &Round{book: b, number: n, games: make(map[string]count)}
}

// rewind drops all samples after a round.
func (b *Book) rewind(to int64) {
	for k, t := range b.tracks {
		if int64(t.first) > to {
			delete(b.tracks, k)
			continue
		}
		t.last = min(t.last, uint32(to))
		t.players.clear(to, b.round)
	}
	for name, t := range b.games {
		if int64(t.first) > to {
			delete(b.games, name)
			continue
		}
		t.last = min(t.last, uint32(to))
		t.clear(to, b.round)
	}
	if b.all != nil && int64(b.all.first) > to {
		b.all = nil
	}
	if b.all != nil {
		b.all.clear(to, b.round)
	}
	b.round = to
}

// Add records the number of players on a server of a game. It returns false if there
// is no room for another server; it counts for its game then, too.
func (r *Round) Add(k Key, game string, players int) bool {
	players = max(0, players)
	c := r.games[game]
	r.games[game] = count{c.servers + 1, c.players + players}

	b := r.book
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tracks[k]
	if t == nil {
		if len(b.tracks) >= MaxServers && !r.evict() {
			b.refused++
			return false
		}
		t = &track{first: uint32(r.number)}
		t.players.reset()
		b.tracks[k] = t
	}
	t.last = uint32(r.number)
	t.players.put(r.number, players)
	return true
}

// evict forgets the server that left the list longest ago. It returns false if all
// of them are listed, now or in the last sample.
func (r *Round) evict() bool {
	b := r.book
	if !r.looked {
		r.looked = true
		gone := func(t *track) bool { return int64(t.last) < r.number-1 }
		for k, t := range b.tracks {
			if gone(t) {
				r.leaving = append(r.leaving, k)
			}
		}
		slices.SortFunc(r.leaving, func(a, c Key) int { return cmp.Compare(b.tracks[c].last, b.tracks[a].last) })
	}
	for len(r.leaving) > 0 {
		k := r.leaving[len(r.leaving)-1]
		r.leaving = r.leaving[:len(r.leaving)-1]
		if t := b.tracks[k]; t != nil && int64(t.last) < r.number-1 { // it did not come back in this round
			delete(b.tracks, k)
			b.evicted++
			return true
		}
	}
	return false
}

// End records the totals of the servers that were added.
func (r *Round) End() {
	b := r.book
	b.mu.Lock()
	defer b.mu.Unlock()
	var sum count
	for name, c := range r.games {
		sum.servers, sum.players = sum.servers+c.servers, sum.players+c.players
		if t := b.games[name]; t == nil && b.admitGame(r) {
			b.games[name] = newTotal(r.number)
		}
	}
	for name, t := range b.games {
		c, listed := r.games[name]
		if listed {
			t.last = uint32(r.number)
		}
		t.put(r.number, c) // a game without servers has 0 of them
	}
	if b.all == nil {
		b.all = newTotal(r.number)
	}
	b.all.last = uint32(r.number)
	b.all.put(r.number, sum)
	b.version.Add(1)
}

// admitGame makes room for one more game if it can.
func (b *Book) admitGame(r *Round) bool {
	if len(b.games) < MaxGames {
		return true
	}
	oldest, at := "", uint32(r.number)
	for name, t := range b.games {
		if _, listed := r.games[name]; !listed && t.last < at {
			oldest, at = name, t.last
		}
	}
	delete(b.games, oldest)
	return len(b.games) < MaxGames
}

// Of returns the history of a server in a span, from the first sample in which it was
// listed up to now. ok is false if there is none.
func (b *Book) Of(k Key, s Span) (out Series, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tracks[k]
	if t == nil {
		return out, false
	}
	out.Step = s.Step()
	out.First, out.Players = t.players.read(s, int64(t.first), b.round)
	return out, len(out.Players) > 0
}

// All returns the history of all games in a span.
func (b *Book) All(s Span) Series {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.series(b.all, s)
}

// Games returns the sum of the histories of some games in a span. Where one of them
// has no number, that of the others counts.
func (b *Book) Games(s Span, names ...string) Series {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out Series
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		out = plus(out, b.series(b.games[name], s))
	}
	out.Step = s.Step()
	return out
}

// series returns the numbers of a total, which may be nil.
func (b *Book) series(t *total, s Span) (out Series) {
	out.Step = s.Step()
	if t == nil {
		return out
	}
	out.First, out.Players = t.players.read(s, int64(t.first), b.round)
	_, out.Servers = t.servers.read(s, int64(t.first), b.round) // they are set together, so they begin together
	return out
}

// Version returns a number that changes when the history does.
func (b *Book) Version() uint64 { return b.version.Load() }

// Usage is how much is kept.
type Usage struct {
	Servers, Games int
	Refused        int    // servers for which the last sample had no room
	Evicted        uint64 // servers that were forgotten for others
	Memory         int64  // in bytes, about
	File           int64  // size of the file in bytes, when it was read or written last
}

// Usage returns how much is kept.
func (b *Book) Usage() Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Usage{
		Servers: len(b.tracks), Games: len(b.games), Refused: b.refused, Evicted: b.evicted,
		Memory: int64(len(b.tracks))*trackBytes + int64(len(b.games)+1)*totalBytes, File: b.file.Load(),
	}
}

// keys returns the servers and games that there are.
func (b *Book) keys() (round int64, servers []Key, games []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.round, slices.Collect(maps.Keys(b.tracks)), slices.Collect(maps.Keys(b.games))
}
