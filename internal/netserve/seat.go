package netserve

// State is what a connection is doing. It decides which connections of an
// address give way first when a service has no room for a newcomer: those with
// the smallest State, and of these the one that has been in it for longest.
type State uint8

// The states.
const (
	StateNew       State = iota // has not sent a whole request; every connection begins so
	StateIdle                   // was answered, and may send another request
	StateStream                 // is sent events until it ends
	StateBusy                   // a request of it is being answered
	StateProtected              // never gives way: a player who is signed in
)

var stateNames = [...]string{
	StateNew: "new", StateIdle: "idle", StateStream: "stream", StateBusy: "busy", StateProtected: "protected",
}

// String returns the word under which the state is counted.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// Seat is the seat of one connection, or of something else that is counted by
// address, in a Gate. Its methods may be called concurrently, and on a nil Seat or
// one that is not taken, which do nothing.
type Seat struct {
	gate          *Gate
	owner         evictee
	addr, net     *crowd // nil: counted in all only
	inAddr, inNet ring

	// Guarded by gate.mu.
	state State
	gone  bool // evicted or left
	left  bool
}

// evictee is what a seat is of.
type evictee interface {
	// evict ends it without waiting for anything.
	evict()
}

// evictFunc is an evictee that is a function.
type evictFunc func()

func (f evictFunc) evict() { f() }

// SetState says what the connection is doing from now on. It has no effect on one
// that had to give way, and on one whose address is exempt, which never has to.
func (s *Seat) SetState(to State) {
	if s == nil || s.gate == nil {
		return
	}
	g := s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.gone || s.exempt() || s.state == to {
		return
	}
	g.unlist(s)
	s.state = to
	g.list(s)
}

// exempt reports whether the seat is counted in all only.
func (s *Seat) exempt() bool { return s.addr == nil }

// Leave gives the seat back. Calling it again does nothing.
func (s *Seat) Leave() {
	if s == nil || s.gate == nil {
		return
	}
	g := s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case s.left:
	case s.gone:
		g.leaving--
	default:
		g.remove(s)
	}
	s.left, s.gone = true, true
}
