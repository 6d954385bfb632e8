package federation

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/master"
)

const (
	// maxCandidates bounds the servers that are remembered, of all masters.
	maxCandidates = 1 << 18
	// lowestPort is the lowest port of a game server.
	lowestPort = 1024
	// Bounds of the time before a silent server is considered again.
	minRest = 5 * time.Minute
	maxRest = time.Hour
)

// The reasons for which an entry is refused.
const (
	refusedAddress   = "address"      // of no machine
	refusedIPv6      = "ipv6"         // such servers are not queried
	refusedPort      = "port"         // below 1024
	refusedOwn       = "own"          // of this daemon
	refusedPrivate   = "private"      // and the master is not named lan
	refusedBanned    = "banned"       //
	refusedHere      = "reports_here" // by itself, or an operator named it
	refusedRepeated  = "repeated"     // earlier in the same list
	refusedHearsay   = "hearsay"      // the other master knows it from a third one
	refusedQuery     = "protocol"     // not one in which servers are queried
	refusedGame      = "game"         // no name of a game
	refusedTooMany   = "too_many"     // more than max_per_master: the rest was not read
	refusedFull      = "full"         // too many candidates of all masters
	refusedForbidden = "never_asked"  // the prober queries no such address, or has no room
	refusedCount     = "played"       // no count of how often a game was played
)

func reasons() []string {
	return []string{
		refusedAddress, refusedIPv6, refusedPort, refusedOwn, refusedPrivate, refusedBanned, refusedHere, refusedRepeated,
		refusedHearsay, refusedQuery, refusedGame, refusedTooMany, refusedFull, refusedForbidden, refusedCount,
	}
}

// found is an entry of the list of another master.
type found struct {
	addr   netip.AddrPort
	query  string  // protocol in which it is queried
	game   string  // under which it is listed; empty: the one that it names
	report *report // report of a verified peer; nil: it is queried
}

// report is a verified peer's report of a server.
type report struct {
	names, values  []string
	players, teams master.Grid
	partial        bool // players and teams are not known

	country, region string    // as the peer knows them; empty: it does not
	made            time.Time // when the list of the peer was made; zero: now
	lifetime        time.Duration
}

// teller is a master that names a server.
type teller struct {
	source *source
	found
	last time.Time
}

// candidate is a server that masters name.
type candidate struct {
	tellers []teller // in the order of the configuration; never empty
	// use is the index of the one whose protocol the server is queried in: the first,
	// unless the server was silent in it and another master names another protocol.
	use int
	// watched is the claim that the prober has; zero: none.
	watched service.Candidate
	vouched bool // we have listed it ourselves
	silent  int  // times that the prober gave it up
	again   time.Time
}

// env holds the dependencies of a table.
type env struct {
	part.Listing
	part.Peers
	asker     asker
	reported  func(netip.AddrPort) bool // a server that is given that address reports here
	metrics   *metrics
	log       zerolog.Logger
	broadcast func(netip.Addr) bool
}

// asker are the methods of service.Asker that are used.
type asker interface {
	Consider(service.Candidate) error
	Watches(netip.AddrPort, *master.Origin) bool
	Answers(netip.AddrPort) bool
	Unwatch(netip.AddrPort, *master.Origin)
}

// table holds the servers that masters name. Its lock is held while the prober and the
// list are called, never the other way around.
type table struct {
	env

	mu      sync.Mutex // guards the fields below, and the candidates
	servers map[netip.AddrPort]*candidate
}

func newTable(e env) *table { return &table{env: e, servers: make(map[netip.AddrPort]*candidate)} }

// refuses returns the reason for which an entry of a master is refused, "" if it is a
// candidate. It brings the entry into its stored form.
func (t *table) refuses(src *source, f *found) string {
	ip := f.addr.Addr()
	switch {
	case ip.Is6() && !ip.Is4In6() && f.addr.Port() != 0:
		return refusedIPv6
	case !query.Askable(f.addr) || t.broadcast != nil && t.broadcast(ip):
		return refusedAddress
	case f.addr.Port() < lowestPort:
		return refusedPort
	case t.Own != nil && t.Own(f.addr):
		return refusedOwn
	case !src.master.IsLAN() && isPrivate(ip):
		return refusedPrivate
	case t.Banned != nil && t.Banned(ip):
		return refusedBanned
	case t.reported(f.addr):
		return refusedHere
	case f.query == "" && f.report == nil:
		return refusedQuery
	}
	if f.game == "" {
		return ""
	}
	game, ok := t.Games.ListedAs(f.game, f.query == "a2s" && f.report == nil)
	if !ok {
		return refusedGame
	}
	f.game = game
	return ""
}

// isPrivate reports whether an address is valid only in its own network, that of a
// provider included.
func isPrivate(a netip.Addr) bool {
	shared := netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64}), 10)
	return master.IsPrivate(a) || shared.Contains(a)
}

// tell records that a master names a server, and has it queried if it is new. It
// returns the reason for which the entry is refused.
func (t *table) tell(src *source, f found, now time.Time) (refused string) {
	if refused = t.refuses(src, &f); refused != "" {
		return refused
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.servers[f.addr]
	switch {
	case c != nil:
	case len(t.servers) >= maxCandidates:
		return refusedFull
	default:
		c = &candidate{}
		t.servers[f.addr] = c
	}
	i := slices.IndexFunc(c.tellers, func(o teller) bool { return o.source == src })
	if i < 0 {
		i, _ = slices.BinarySearchFunc(c.tellers, src.order.Load(), func(o teller, order int32) int { return int(o.source.order.Load() - order) })
		c.tellers = slices.Insert(c.tellers, i, teller{source: src})
		if i <= c.use && len(c.tellers) > 1 && c.use > 0 {
			c.use++
		}
		src.told.Add(1)
	}
	if old := c.tellers[i].report; old != nil && f.report != nil && f.report.partial {
		f.report.players, f.report.teams = old.players, old.teams
	}
	c.tellers[i].found, c.tellers[i].last = f, now
	return t.claim(f.addr, c, now)
}

// claim has the prober watch a server, or lists that of a verified peer. mu is held.
func (t *table) claim(a netip.AddrPort, c *candidate, now time.Time) (refused string) {
	first := c.first()
	if first.report != nil {
		t.unwatch(a, c)
		t.vouch(a, c, now)
		return ""
	}
	t.unvouch(a, c)
	want := service.Candidate{Address: a, Protocol: first.query, Game: first.game, Told: first.source.master.Name}
	if c.watched == want && t.asker.Watches(a, master.Federated) {
		if c.silent > 0 && t.asker.Answers(a) {
			c.silent = 0
		}
		return ""
	}
	if c.watched == want { // the prober gave it up
		c.watched = service.Candidate{}
		if c.useNext() {
			return t.claim(a, c, now)
		}
		c.again = now.Add(min(minRest<<min(c.silent, 8), maxRest))
		c.silent++
		return ""
	}
	if now.Before(c.again) {
		return ""
	}
	if err := t.asker.Consider(want); err != nil {
		return refusedForbidden
	}
	c.watched = want
	return ""
}

// first returns the teller whose word counts.
func (c *candidate) first() *teller { return &c.tellers[c.use] }

// useNext uses the next teller that names another protocol. It returns false, and uses
// the first one again, if there is none.
func (c *candidate) useNext() bool {
	was := c.first().query
	for c.use++; c.use < len(c.tellers); c.use++ {
		if o := c.first(); o.query != was && o.report == nil {
			return true
		}
	}
	c.use = 0
	return false
}

// unwatch withdraws the claim at the prober. mu is held.
func (t *table) unwatch(a netip.AddrPort, c *candidate) {
	if c.watched != (service.Candidate{}) {
		t.asker.Unwatch(a, master.Federated)
		c.watched = service.Candidate{}
	}
}

// lose records that a master no longer names a server.
func (t *table) lose(src *source, a netip.AddrPort, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.servers[a]; c != nil {
		t.drop(a, c, now, func(o *teller) bool { return o.source == src })
	}
}

// drop removes tellers of a server, and the server with the last one. mu is held.
func (t *table) drop(a netip.AddrPort, c *candidate, now time.Time, gone func(*teller) bool) {
	before := c.first().source
	c.tellers = slices.DeleteFunc(c.tellers, func(o teller) bool {
		if !gone(&o) {
			return false
		}
		o.source.told.Add(-1)
		return true
	})
	if len(c.tellers) == 0 {
		t.unwatch(a, c)
		t.unvouch(a, c)
		delete(t.servers, a)
		return
	}
	c.use = max(slices.IndexFunc(c.tellers, func(o teller) bool { return o.source == before }), 0)
	if c.first().source != before {
		t.claim(a, c, now)
	}
}

// dropOthers drops a source as teller of servers that it has not named since a time.
func (t *table) dropOthers(src *source, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for a, c := range t.servers {
		t.drop(a, c, since, func(o *teller) bool { return o.source == src && o.last.Before(since) })
	}
}

// renew records that a master still names all servers that it has named since a time.
func (t *table) renew(src *source, since, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for a, c := range t.servers {
		for i := range c.tellers {
			if o := &c.tellers[i]; o.source == src && !o.last.Before(since) {
				o.last = now
				t.claim(a, c, now)
				break
			}
		}
	}
}

// sweep drops servers that no master has named for a time, and those of sources that ended. A
// server that is no longer a candidate, because it reports here or is banned now, is dropped too.
func (t *table) sweep(now time.Time, expire time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for a, c := range t.servers {
		refused := t.refuses(c.first().source, &c.first().found) != ""
		t.drop(a, c, now, func(o *teller) bool {
			return refused || o.source.ended.Load() || now.Sub(o.last) >= max(expire, o.source.master.RestoreFor)
		})
	}
}

// listed returns how many servers are in the list as known from each master, by name.
func (t *table) listed() map[string]int {
	out := make(map[string]int)
	t.mu.Lock()
	defer t.mu.Unlock()
	for a := range t.servers {
		if s, ok := t.Registry.At(a); ok && s.Origin == master.Federated {
			out[s.Told]++
		}
	}
	return out
}
