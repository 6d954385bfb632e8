package netserve

// State is the activity of a connection. It decides which connections of an
// address are evicted first when a service has no room for a newcomer: those
// with the smallest State, and of these the one that has been in it for
// longest.
type State uint8

// The states.
const (
	StateNew       State = iota // has not sent a whole request; the initial state
	StateIdle                   // was answered, and may send another request
	StateStream                 // receives events until it ends
	StateBusy                   // its request is being answered
	StateProtected              // never evicted: a player who is signed in
)

var stateNames = [...]string{
	StateNew: "new", StateIdle: "idle", StateStream: "stream", StateBusy: "busy", StateProtected: "protected",
}

// String returns the state's label in metrics.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// Seat is the entry of one connection, or of something else that is counted by
// address, in a Gate. Its methods may be called concurrently; on a nil or
// unused Seat they do nothing.
type Seat struct {
	gate          *Gate
	owner         evictee
	addr, net     *crowd // nil: counted in the total only
	inAddr, inNet ring

	// Guarded by gate.mu.
	state State
	gone  bool // evicted or left
	left  bool
}

// evictee is the owner of a seat.
type evictee interface {
	// evict ends it without waiting.
	evict()
}

type evictFunc func()

func (f evictFunc) evict() { f() }

// SetState sets the State of the connection. It has no effect on an evicted
// connection, nor on one whose address is exempt, which is never evicted.
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

// exempt reports whether the seat is counted in the total only.
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
