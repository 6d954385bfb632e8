package presence

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/respawnd/respawnd/storage"
)

const (
	// endTime is how long KickUser and KickProfile wait for the other nodes. A node
	// that does not answer ends the sessions when it reaches the store.
	endTime = time.Second
	// maxSeenEnds bounds the ends that are remembered. They are rare: an operator or
	// the owner of an account makes them.
	maxSeenEnds = 4096
)

// reasons are the reasons for which other nodes end sessions. Their numbers never
// change.
var reasons = [...]error{1: ErrDisplaced, 2: ErrBanned, 3: ErrDeleted, 4: ErrKicked}

func numberOf(reason error) uint8 {
	for i, r := range reasons {
		if r != nil && errors.Is(reason, r) {
			return uint8(i)
		}
	}
	return 4
}

func reasonOf(n uint8) error {
	if int(n) < len(reasons) && reasons[n] != nil {
		return reasons[n]
	}
	return ErrKicked
}

// seenEnds are the ends of accounts that this node has executed.
type seenEnds struct {
	mu   sync.Mutex // guards the fields below; own.mu may be held
	seen map[uint64]struct{}
	last []storage.AccountEnd // those of seen, oldest first
}

func (s *seenEnds) note(e storage.AccountEnd) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Fence == math.MaxUint64 { // without a number: it is not repeated, and later sessions are not meant
		return true
	}
	if _, seen := s.seen[e.Fence]; seen {
		return false
	}
	if len(s.last) == maxSeenEnds {
		delete(s.seen, s.last[0].Fence)
		s.last = s.last[1:]
	}
	s.seen[e.Fence] = struct{}{}
	s.last = append(s.last, e)
	return true
}

// reason returns why a session that just came must end, nil if it need not.
func (s *seenEnds) reason(o *ownSession) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.last {
		if o.fence < e.Fence && meant(e, o.session.User(), o.session.Profile()) {
			return reasonOf(e.Reason)
		}
	}
	return nil
}

func meant(e storage.AccountEnd, user storage.UserID, profile storage.ProfileID) bool {
	return e.User != 0 && e.User == user || e.Profile != 0 && e.Profile == profile
}

// KickUser implements Hub. A node that cannot be reached now ends the sessions when
// it reads the store.
func (c *Clustered) KickUser(ctx context.Context, id storage.UserID, reason error) int {
	return c.kickEverywhere(ctx, storage.AccountEnd{User: id, Reason: numberOf(reason)}, reason)
}

// KickProfile implements Hub, see KickUser.
func (c *Clustered) KickProfile(ctx context.Context, id storage.ProfileID, reason error) int {
	return c.kickEverywhere(ctx, storage.AccountEnd{Profile: id, Reason: numberOf(reason)}, reason)
}

func (c *Clustered) kickEverywhere(ctx context.Context, e storage.AccountEnd, reason error) int {
	ctx = context.WithoutCancel(ctx) // the account has changed already
	step, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	var err error
	if e.Fence, err = c.rows.EndSessions(step, e); err != nil {
		e.Fence = math.MaxUint64
		c.log.Error().Err(err).Uint32("user", uint32(e.User)).Uint32("profile", uint32(e.Profile)).
			Msg("the end of sessions was not stored: nodes that are cut off keep them")
	}
	c.ends.note(e)
	n := c.kickHere(e, reason)
	step, cancel = context.WithTimeout(ctx, endTime)
	defer cancel()
	_ = c.kicks.AskOthers(step, e, func(there int) { n += there }) // the store has it for the others
	return n
}

// kickHere ends the sessions of this node.
func (c *Clustered) kickHere(e storage.AccountEnd, reason error) int {
	if e.User != 0 {
		return c.Local.KickUser(context.Background(), e.User, reason)
	}
	return c.Local.KickProfile(context.Background(), e.Profile, reason)
}

// handleEnd ends sessions for another node and returns how many there were.
func (c *Clustered) handleEnd(_ context.Context, e storage.AccountEnd) (int, error) {
	if err := e.Check(); err != nil {
		c.metrics.dropped.WithLabelValues(dropMalformed).Inc()
		return 0, err
	}
	return c.end(e), nil
}

// end executes an end that another node made, once.
func (c *Clustered) end(e storage.AccountEnd) (n int) {
	if !c.ends.note(e) {
		return 0
	}
	reason := reasonOf(e.Reason)
	var over []*ownSession
	c.own.mu.Lock()
	for _, o := range c.own.byID {
		if o.fence != 0 && o.fence < e.Fence && meant(e, o.session.User(), o.session.Profile()) && c.own.condemn(o, reason) {
			over = append(over, o)
		}
	}
	c.own.mu.Unlock()
	for _, o := range over {
		o.session.Kick(reason)
	}
	n = len(over)
	if e.User != 0 {
		return n + kick(c.ofUser(e.User), reason)
	}
	return n + kick(c.ofProfile(e.Profile), reason)
}
