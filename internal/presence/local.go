package presence

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/storage"
)

const (
	// DefaultMaxSessions is the default of Options.MaxSessions.
	DefaultMaxSessions = 100_000
	// MaxInvitable is the maximum number of products that one profile can be
	// invited to.
	MaxInvitable = 32
)

// Options change a Local. The zero value is right for tests.
type Options struct {
	MaxSessions int // 0: DefaultMaxSessions
	Registerer  prometheus.Registerer
	Log         zerolog.Logger
}

// Local is the hub of a single node.
type Local struct {
	backlog
	attachments

	store   Store
	metrics *metrics
	log     zerolog.Logger

	wide       *Clustered      // nil: this node is alone
	announcing [256]sync.Mutex // by profile; held while the watchers of a profile are notified; comes before mu

	mu       sync.RWMutex // guards the fields below
	max      int          // sessions
	count    int
	profiles map[storage.ProfileID]*person
	users    map[storage.UserID][]Session
}

// person is a profile that is signed in. mu of the hub guards it.
type person struct {
	sessions  []Session // oldest first, never empty
	fence     uint64    // of the newest session; 0 on a node that is alone
	status    Status
	invitable []int
	told      Status // the status that the watchers were sent last
	everTold  bool
}

var _ Hub = (*Local)(nil)

// New returns a hub without sessions.
func New(store Store, opt Options) *Local {
	l := &Local{
		store: store, log: opt.Log, backlog: newBacklog(store, opt.Log),
		profiles: make(map[storage.ProfileID]*person),
		users:    make(map[storage.UserID][]Session),
	}
	l.SetMaxSessions(opt.MaxSessions)
	l.metrics = newMetrics(opt.Registerer, l)
	l.backlog.metrics = l.metrics
	l.lookIn = func(to storage.ProfileID) {
		if l.wide != nil {
			l.wide.waiting(to)
			return
		}
		l.deliver(to, MessagesWaiting{})
	}
	return l
}

// SetMaxSessions implements Hub.
func (l *Local) SetMaxSessions(n int) {
	if n <= 0 {
		n = DefaultMaxSessions
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.max = n
}

// SignIn implements Hub.
func (l *Local) SignIn(ctx context.Context, s Session, p Policy, st Status) ([]Session, error) {
	displaced, gone, err := l.enter(s, p, st, 0)
	if err != nil {
		return nil, err
	}
	for _, old := range displaced {
		old.Kick(ErrDisplaced)
	}
	l.metrics.displaced.Add(float64(len(displaced)))
	for _, id := range gone { // other profiles of the same user
		l.announceGone(ctx, id)
	}
	if err := l.announce(ctx, s.Profile()); err != nil {
		return displaced, fmt.Errorf("notify watchers of profile %d: %w", s.Profile(), err)
	}
	return displaced, nil
}

// enter adds s and removes the sessions that it displaces. gone are the other
// profiles that are no longer signed in.
func (l *Local) enter(s Session, p Policy, st Status, fence uint64) (displaced []Session, gone []storage.ProfileID, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Contains(l.users[s.User()], s) {
		return nil, nil, ErrSignedIn
	}
	displaced = l.displacedBy(s, p)
	if l.count-len(displaced) >= l.max {
		return nil, nil, ErrFull
	}
	was := l.profiles[s.Profile()]
	for _, old := range displaced {
		l.drop(old)
		if id := old.Profile(); id != s.Profile() && l.profiles[id] == nil && !slices.Contains(gone, id) {
			gone = append(gone, id)
		}
	}
	person := l.person(s.Profile(), was)
	person.sessions = append(person.sessions, s)
	person.status, person.invitable, person.fence = st, nil, max(person.fence, fence)
	l.users[s.User()] = append(l.users[s.User()], s)
	l.count++
	return displaced, gone, nil
}

// person returns the entry of a profile. A new one continues was, the entry
// before a take-over, so that watchers do not notice it.
func (l *Local) person(id storage.ProfileID, was *person) *person {
	if p := l.profiles[id]; p != nil {
		return p
	}
	p := new(person)
	if was != nil {
		p.told, p.everTold = was.told, was.everTold
	}
	l.profiles[id] = p
	return p
}

// newest returns when the newest session of a profile signed in; zero: it has none here.
func (l *Local) newest(id storage.ProfileID) time.Time {
	l.mu.RLock()
	defer l.mu.RUnlock()
	p := l.profiles[id]
	if p == nil {
		return time.Time{}
	}
	return p.sessions[len(p.sessions)-1].Client().Since
}

func (l *Local) displacedBy(s Session, p Policy) []Session {
	switch p {
	case KickUser:
		return slices.Clone(l.users[s.User()])
	case KickProfile:
		if was := l.profiles[s.Profile()]; was != nil {
			return slices.Clone(was.sessions)
		}
	case Allow:
	}
	return nil
}

func (l *Local) drop(s Session) bool {
	p := l.profiles[s.Profile()]
	if p == nil {
		return false
	}
	i := slices.Index(p.sessions, s)
	if i < 0 {
		return false
	}
	p.sessions = slices.Delete(p.sessions, i, i+1)
	if len(p.sessions) == 0 {
		delete(l.profiles, s.Profile())
	}
	l.users[s.User()] = slices.DeleteFunc(l.users[s.User()], func(o Session) bool { return o == s })
	if len(l.users[s.User()]) == 0 {
		delete(l.users, s.User())
	}
	l.count--
	return true
}

func (l *Local) mayEnter(s Session, p Policy) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.count-len(l.displacedBy(s, p)) < l.max
}

// dropOne removes a session. It reports whether it was there, and whether its profile is no longer
// signed in.
func (l *Local) dropOne(s Session) (was, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was = l.drop(s)
	return was, l.profiles[s.Profile()] == nil
}

// SignOut implements Hub.
func (l *Local) SignOut(ctx context.Context, s Session) {
	if was, last := l.dropOne(s); was && last {
		l.announceGone(ctx, s.Profile())
	}
}

// SetStatus implements Hub.
func (l *Local) SetStatus(ctx context.Context, s Session, st Status) error {
	err := l.change(s, func(p *person) { p.status = st })
	if err != nil {
		return err
	}
	if err := l.announce(ctx, s.Profile()); err != nil {
		return fmt.Errorf("notify watchers of profile %d: %w", s.Profile(), err)
	}
	return nil
}

// SetInvitable implements Hub.
func (l *Local) SetInvitable(_ context.Context, s Session, products []int) error {
	products = slices.Clone(products[:min(len(products), MaxInvitable)])
	return l.change(s, func(p *person) { p.invitable = products })
}

// change runs f on the profile of a session that is signed in.
func (l *Local) change(s Session, f func(*person)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.profiles[s.Profile()]
	if p == nil || !slices.Contains(p.sessions, s) {
		return ErrNotSignedIn
	}
	f(p)
	return nil
}

// Status implements Hub.
func (l *Local) Status(_ context.Context, id storage.ProfileID) (Status, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	p := l.profiles[id]
	if p == nil {
		return Status{}, false
	}
	return p.status, true
}

// Send implements Hub.
func (l *Local) Send(ctx context.Context, to storage.ProfileID, e Event) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return l.deliver(to, e), nil
}

// Await implements Hub.
func (l *Local) Await(context.Context, storage.ProfileID, storage.ProfileID) {}

// Dispatch implements Hub.
func (l *Local) Dispatch(storage.ProfileID, Event, *Passage) *Passage { return nil }

// deliver delivers an event to all sessions of a profile and reports whether
// one of them accepted it.
func (l *Local) deliver(to storage.ProfileID, e Event) (delivered bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	p := l.profiles[to]
	if p == nil {
		return false
	}
	for _, s := range p.sessions {
		delivered = l.hand(s, e) || delivered
	}
	return delivered
}

// hand delivers an event to one session and counts it.
func (l *Local) hand(s Session, e Event) bool {
	if !s.Deliver(e) {
		l.metrics.refused.Inc()
		return false
	}
	l.metrics.delivered.Inc()
	return true
}

// CheckKey implements Hub.
func (l *Local) CheckKey(_ context.Context, id storage.ProfileID, key int32) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	p := l.profiles[id]
	return p != nil && key > 0 && slices.ContainsFunc(p.sessions, func(s Session) bool { return equalKeys(s.Key(), key) })
}

// Match implements Hub.
func (l *Local) Match(_ context.Context, product, limit int) []Present {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var found []Present
	for id, p := range l.profiles {
		if p.status.State != Offline && (p.status.Product == product || slices.Contains(p.invitable, product)) {
			found = append(found, Present{id, p.status})
		}
	}
	slices.SortFunc(found, func(a, b Present) int { return cmp.Compare(a.Profile, b.Profile) })
	return found[:max(0, min(len(found), limit))]
}

// KickUser implements Hub.
func (l *Local) KickUser(_ context.Context, id storage.UserID, reason error) int {
	l.mu.RLock()
	sessions := slices.Clone(l.users[id])
	l.mu.RUnlock()
	return kick(sessions, reason) + kick(l.ofUser(id), reason)
}

// KickProfile implements Hub.
func (l *Local) KickProfile(_ context.Context, id storage.ProfileID, reason error) int {
	l.mu.RLock()
	var sessions []Session
	if p := l.profiles[id]; p != nil {
		sessions = slices.Clone(p.sessions)
	}
	l.mu.RUnlock()
	return kick(sessions, reason) + kick(l.ofProfile(id), reason)
}

// kick ends sessions and returns how many there were.
func kick[S interface{ Kick(error) }](sessions []S, reason error) int {
	for _, s := range sessions {
		s.Kick(reason)
	}
	return len(sessions)
}

// Count implements Hub.
func (l *Local) Count() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.count
}
