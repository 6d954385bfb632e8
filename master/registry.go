package master

import (
	"errors"
	"iter"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Errors of the registry.
var (
	ErrFull        = errors.New("the list is full")
	ErrTooManyHere = errors.New("too many servers on this address or network")
	ErrTaken       = errors.New("another server is listed under this public address")
	ErrNotListed   = errors.New("no such server")
	ErrBusy        = errors.New("too many messages waiting for this server")
)

// Limits bound the list. Zero values mean the defaults.
type Limits struct {
	Servers int           // in total; default 200,000
	PerAddr int           // per source address; default 256 (hosting companies run that many)
	PerNet  int           // per /24 (IPv6: /64); default 4,096
	Expire  time.Duration // silence after which a server leaves; default 75 s
	Changes int           // length of the change log; default 16,384; SetLimits does not change it
	Mirror  bool          // servers that report by themselves are refused with ErrFull
	// Exempt reports whether PerAddr and PerNet do not apply to an address;
	// nil: they always apply. Servers of exempt addresses are never replaced.
	// It is called with the list locked, so it must be fast.
	Exempt func(netip.Addr) bool
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&l.Servers, 200_000)
	set(&l.PerAddr, 256)
	set(&l.PerNet, 4096)
	set(&l.Changes, 16_384)
	if l.Expire <= 0 {
		l.Expire = 75 * time.Second
	}
	return l
}

// sweepEvery is how often Run looks for silent servers; a server stays in the
// list for at most this much longer than its lifetime.
const sweepEvery = 2 * time.Second

// Registry is the list. All methods may be called concurrently; none does any
// I/O.
type Registry struct {
	names interner
	start time.Time // origin of seen, so that setting the clock expires no server

	counting sync.Mutex // held by Populations, before mu

	mu        sync.RWMutex // guards the fields below
	limits    Limits
	bySource  map[netip.AddrPort]*entry
	byPublic  map[netip.AddrPort]*entry // only servers whose public address is not their source
	games     map[string]*gameIndex     // only games that have servers
	groups    map[string][]string       // by game: those that share its list; see Share
	emptied   uint64                    // serial of the change that last emptied a game
	hide      map[netip.AddrPort]struct{}
	hidden    gameIndex           // the servers of hide, of all games
	private   map[uint16][]*entry // by port: servers whose public address is private
	perAddr   map[netip.Addr]*group
	perNet    map[netip.Prefix]*group
	ranks     [groupKinds]ranking
	federated map[*entry]struct{} // all of that origin
	log       changeLog
	revision  uint64 // of the newest record

	uncounted uncounted

	made          atomic.Int64 // see Made
	replaced      chan *Server
	replacedTotal uint64

	cluster remoteState
	trials  *Registry // see Trials; nil in that list itself
}

// entry is the registry's own handle of a server: the record may be replaced,
// the entry stays.
type entry struct {
	server *Server      // guarded by Registry.mu
	seen   atomic.Int64 // when it was last heard; see Registry.since
	game   *gameIndex
	at     int32 // index in game.entries
	onPort int32 // index in Registry.private of its port, if it is there

	players int32 // as counted in game.players
	queued  int32 // index in Registry.uncounted plus 1; 0: it is not there

	revision uint64 // of the record; see Record

	remote remote // of a server of another node, and the claim of one of this node

	links       [groupKinds]link
	replaceable bool // it is in the lists of its groups
}

// gameIndex holds the servers of one game in no particular order.
type gameIndex struct {
	name    string
	entries []*entry
	changed uint64 // serial of the last change
	varying int    // servers whose address may depend on the asker
	players int    // on servers that are counted, see Populations
}

// NewRegistry returns an empty list.
func NewRegistry(lim Limits) *Registry {
	r := newRegistry(lim)
	r.trials = newRegistry(lim)
	return r
}

// newRegistry is NewRegistry without the list of trials.
func newRegistry(lim Limits) *Registry {
	lim = lim.withDefaults()
	r := &Registry{
		start:     time.Now(),
		limits:    lim,
		bySource:  make(map[netip.AddrPort]*entry),
		byPublic:  make(map[netip.AddrPort]*entry),
		games:     make(map[string]*gameIndex),
		hide:      make(map[netip.AddrPort]struct{}),
		private:   make(map[uint16][]*entry),
		perAddr:   make(map[netip.Addr]*group),
		perNet:    make(map[netip.Prefix]*group),
		federated: make(map[*entry]struct{}),
		replaced:  make(chan *Server, maxReplaced),
	}
	r.log.cap = lim.Changes
	r.names.table = make(map[string]weakNames)
	return r
}

// Limits returns the limits in force.
func (r *Registry) Limits() Limits {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limits
}

// SetLimits changes the limits. Listed servers stay.
func (r *Registry) SetLimits(lim Limits) {
	if r.trials != nil {
		own := lim
		own.Mirror = false
		r.trials.SetLimits(own)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limits = lim.withDefaults()
	r.markAll()
}

// Names returns the shared Names for the names of a report. The slice is only
// read during the call.
func (r *Registry) Names(reported []string) *Names {
	if len(reported) == 0 {
		return nil
	}
	return r.names.names(reported)
}

// Put lists a server or replaces its record. A source has one record: an old
// one with another instance, game or origin is removed first; otherwise First
// and Findings are kept from the old record. From 90 % of Limits.Servers on, a
// newcomer replaces the newest server of the address or network that uses the
// largest share of its limit, if the newcomer's own use less; see Replaced.
// After ErrFull, ErrTooManyHere and ErrTaken the list is unchanged. A federated server
// leaves for any other at its address, and for others where there would be no room.
func (r *Registry) Put(s Server) error {
	r = r.of(s.Key.Source.Addr())
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limits.Mirror && s.Origin.Claim == NoClaim {
		return ErrFull
	}
	e, ok := r.bySource[s.Key.Source]
	if ok && e.holds(&s) {
		r.replace(e, &s)
		return nil
	}
	other, taken := r.byPublicLocked(s.Public)
	taken = taken && other != e
	gives := taken && givesWay(other.server, &s)
	var leaves *entry
	if !ok {
		if leaves = r.yielding(&s); leaves == nil {
			leaves = r.outweighed(&s)
			if err := r.checkLimits(s.Key.Source.Addr(), leaves != nil || gives); err != nil {
				return err
			}
		}
	}
	if taken && !gives && (other.server.Node == "" || givesWay(&s, other.server)) || ok && givesWay(&s, e.server) {
		return ErrTaken
	}
	if taken && !gives && !ok { // it reported to another node, from another port
		r.takeOver(other, &s, other.remote.claim+1)
		return nil
	}
	var claim uint32
	if ok {
		claim = e.nextClaim(&s)
		r.remove(e)
	}
	if taken {
		r.remove(other)
	}
	if leaves != nil && leaves != other {
		r.giveWay(leaves)
	}
	r.add(&s).claim(claim)
	return nil
}

// Update replaces the record of a server that is still listed under its key,
// game, origin and public address, as Put does. Otherwise it returns false: a
// caller that made the new record from the old one must not bring back a server
// that was removed meanwhile. The list takes ownership of the record.
func (r *Registry) Update(s *Server) bool {
	r = r.of(s.Key.Source.Addr())
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.own(s.Key.Source)
	if !ok || !e.holds(s) {
		return false
	}
	r.replace(e, s)
	return true
}

// givesWay reports whether a server is known from another master only and the other one
// is not: those two do not share an address.
func givesWay(s, to *Server) bool { return s.Origin == Federated && to.Origin != Federated }

// holds reports whether s is a newer record of the server that e lists.
func (e *entry) holds(s *Server) bool {
	return e.server.Key == s.Key && e.server.Game == s.Game && e.server.Public == s.Public && e.server.Origin == s.Origin
}

// checkLimits returns an error if no further server may be listed from an address;
// replaces reports whether the new one replaces another.
func (r *Registry) checkLimits(a netip.Addr, replaces bool) error {
	if len(r.bySource) >= r.limits.Servers && !replaces {
		return ErrFull
	}
	if r.exempt(a) {
		return nil
	}
	if addr, net := r.members(a); addr >= r.limits.PerAddr || net >= r.limits.PerNet {
		return ErrTooManyHere
	}
	return nil
}

func network(a netip.Addr) netip.Prefix {
	bits := 24
	if !a.Is4() {
		bits = 64
	}
	p, _ := a.Prefix(bits)
	return p
}

func (r *Registry) add(s *Server) *entry {
	if s.First.IsZero() {
		s.First = s.Seen
	}
	e := &entry{server: s}
	heard := s.Seen
	if s.Restored {
		heard = time.Now() // its lifetime begins now
	}
	e.seen.Store(r.since(heard))
	r.enter(e)
	r.bySource[s.Key.Source] = e
	if s.Public != s.Key.Source {
		r.byPublic[s.Public] = e
	}
	r.addPrivate(e)
	r.join(e)
	e.claim(0)
	return e
}

// enter adds an entry to the index of its game, or to the hidden ones. Its
// record is not listed yet.
func (r *Registry) enter(e *entry) {
	s := e.server
	r.revise(e)
	e.game = &r.hidden
	if _, hide := r.hide[s.Public]; !hide {
		if e.game = r.games[s.Game]; e.game == nil {
			e.game = &gameIndex{name: s.Game}
			r.games[s.Game] = e.game
		}
	}
	r.changed(Added, e, s)
	e.at = int32(len(e.game.entries))
	e.game.entries = append(e.game.entries, e)
	e.game.vary(e.server, 1)
	r.uncounted.add(e)
}

// leave removes an entry from its index. The index of a game whose last server
// left is removed.
func (r *Registry) leave(e *entry) {
	g := e.game
	r.changed(Removed, e, nil)
	g.vary(e.server, -1)
	r.uncounted.remove(e)
	g.players -= int(e.players)
	e.players = 0
	last := len(g.entries) - 1
	g.entries[last].at = e.at
	g.entries[e.at] = g.entries[last]
	g.entries[last] = nil
	g.entries = g.entries[:last]
	if cap(g.entries) > 64 && last < cap(g.entries)/4 {
		g.entries = slices.Clone(g.entries)
	}
	if last == 0 && g != &r.hidden {
		delete(r.games, g.name)
		r.emptied = g.changed
	}
}

// changed records a visible change of the list. next is the new record, which
// is not listed yet; nil if there is none.
func (r *Registry) changed(kind ChangeKind, e *entry, next *Server) {
	if e.game == &r.hidden {
		return
	}
	serial := r.log.add(kind, e.server)
	e.game.changed = serial
	if next != nil {
		next.Game, next.Serial = e.game.name, serial
	}
}

func (r *Registry) replace(e *entry, s *Server) {
	s.First, s.Findings = e.server.First, e.server.Findings
	r.renew(e, s)
}

// renew replaces the record of an entry by one of the same key, game and public
// address.
func (r *Registry) renew(e *entry, s *Server) {
	claim := e.nextClaim(s)
	r.changed(Changed, e, s)
	e.game.vary(e.server, -1)
	e.game.vary(s, 1)
	r.revise(e)
	if s.Rules.content != e.server.Rules.content || s.Players.content != e.server.Players.content {
		r.uncounted.add(e)
	}
	heard := e.server.Restored && !s.Restored || e.server.Node != s.Node
	e.server = s
	e.claim(claim)
	if heard {
		r.mark(e)
	}
	e.seen.Store(r.since(s.Seen))
}

func (r *Registry) remove(e *entry) {
	s := e.server
	r.leave(e)
	delete(r.bySource, s.Key.Source)
	if s.Public != s.Key.Source {
		delete(r.byPublic, s.Public)
	}
	r.removePrivate(e)
	r.quit(e)
}

// Touch records a sign of life of a server of this node. It returns false if the
// server is not listed under this key and origin, or is only restored from the saved
// list. The origin is compared because some intakes use well-known constants as
// instance.
func (r *Registry) Touch(k Key, from *Origin, now time.Time) bool {
	r = r.of(k.Source.Addr())
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.own(k.Source)
	if !ok || e.server.Key != k || e.server.Origin != from || e.server.Restored {
		return false
	}
	e.seen.Store(r.since(now))
	return true
}

// Remove removes a server of this node from the list.
func (r *Registry) Remove(k Key) bool {
	r = r.of(k.Source.Addr())
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.own(k.Source)
	if !ok || e.server.Key != k {
		return false
	}
	r.remove(e)
	return true
}

// RemoveFunc removes every server of this node for which del returns true, and returns their
// records. del is called with the list locked, so it must be fast.
func (r *Registry) RemoveFunc(del func(*Server) bool) []*Server {
	r.mu.Lock()
	defer r.mu.Unlock()
	var gone []*entry
	for _, e := range r.bySource {
		if e.server.Node == "" && del(e.server) {
			gone = append(gone, e)
		}
	}
	out := make([]*Server, 0, len(gone))
	for _, e := range gone {
		out = append(out, e.server)
		r.remove(e)
	}
	return out
}

// Report records the findings of a probe of a server of this node. It returns false
// if the server is no longer listed.
func (r *Registry) Report(k Key, f Findings) bool {
	r = r.of(k.Source.Addr())
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.own(k.Source)
	if !ok || e.server.Key != k {
		return false
	}
	if e.server.Findings == f {
		return true
	}
	s := *e.server
	s.Findings = f
	r.changed(Changed, e, &s)
	r.revise(e)
	e.server = &s
	return true
}

// revise gives an entry a new revision, with a new record.
func (r *Registry) revise(e *entry) {
	r.revision++
	e.revision = r.revision
}

// Get returns the record under a key of a server of this node, hidden ones included.
func (r *Registry) Get(k Key) (*Server, bool) {
	s, ok := r.At(k.Source)
	if !ok || s.Key != k {
		return nil, false
	}
	return s, true
}

// At returns the record of a source address with any instance, of a server of this
// node, hidden ones included.
func (r *Registry) At(source netip.AddrPort) (*Server, bool) {
	r = r.of(source.Addr())
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.own(source)
	if !ok {
		return nil, false
	}
	return e.server, true
}

// HasAt reports whether a server whose source has the address is listed.
func (r *Registry) HasAt(a netip.Addr) bool {
	r = r.of(a)
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.perAddr[a] != nil
}

// Find returns the server that lists show under a public address.
func (r *Registry) Find(public netip.AddrPort) (*Server, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.byPublicLocked(public)
	if !ok || e.game == &r.hidden {
		return nil, false
	}
	return e.server, true
}

func (r *Registry) byPublicLocked(public netip.AddrPort) (*entry, bool) {
	if e, ok := r.byPublic[public]; ok {
		return e, true
	}
	if e, ok := r.bySource[public]; ok && e.server.Public == public {
		return e, true
	}
	return nil, false
}

// List yields the servers in the list of a game as they are listed now.
func (r *Registry) List(game string) iter.Seq[*Server] {
	return func(yield func(*Server) bool) {
		list, _ := r.Snapshot(game, nil)
		for _, s := range list {
			if !yield(s) {
				return
			}
		}
	}
}

// Snapshot appends the servers in the list of a game to buf and returns the
// serial of the list's last change. While the serial is the same, nothing has
// changed.
func (r *Registry) Snapshot(game string, buf []*Server) (list []*Server, serial uint64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, name := range r.groups[game] {
		if name != game {
			buf, serial = r.appendGame(buf, name), max(serial, r.serial(name))
		}
	}
	return r.appendGame(buf, game), max(serial, r.serial(game))
}

// appendGame appends the servers of one name.
func (r *Registry) appendGame(buf []*Server, name string) []*Server {
	g := r.games[name]
	if g == nil {
		return buf
	}
	buf = slices.Grow(buf, len(g.entries))
	for _, e := range g.entries {
		buf = append(buf, e.server)
	}
	return buf
}

// Serial returns the serial of the last change of a game's list. Games without
// servers share a serial: it is at least that of their last change, and 0 if no
// game ever lost its last server.
func (r *Registry) Serial(game string) uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	serial := r.serial(game)
	for _, name := range r.groups[game] {
		serial = max(serial, r.serial(name))
	}
	return serial
}

// Counts returns the number of listed servers of every game with servers.
func (r *Registry) Counts() map[string]int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make(map[string]int, len(r.games))
	for name, g := range r.games {
		out[name] = len(g.entries)
	}
	return out
}

// Len returns the number of listed servers, hidden ones included.
func (r *Registry) Len() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.bySource)
}
