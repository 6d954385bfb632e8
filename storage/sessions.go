package storage

import "context"

// Limits of live sessions.
const (
	MaxNodeName       = 63     // MaxNodeName is the longest name of a node in bytes.
	MaxSessionsAtOnce = 1000   // MaxSessionsAtOnce is the highest number of sessions in one step.
	MaxAccountEnds    = 10_000 // MaxAccountEnds is the highest number of ends that one Beat returns.
	MaxMail           = 1000   // MaxMail is the highest number of receivers in a Mail.
)

// Displaces decides which older sessions a session displaces. The numbers are
// stored and never change.
type Displaces uint8

// The decisions.
const (
	DisplacesProfile Displaces = iota // DisplacesProfile displaces those of the same profile.
	DisplacesUser                     // DisplacesUser displaces those of the same user.
	DisplacesNone                     // DisplacesNone displaces none.
)

// LiveSession is a player who is signed in on a node of a cluster.
type LiveSession struct {
	Run       uint64 // of the node, see Sessions.BeginRun
	ID        uint64 // chosen by the node; unique in its run, above 0
	Fence     uint64 // set by the engine: of two sessions the one with the higher number is newer
	Profile   ProfileID
	User      UserID
	Displaces Displaces
}

// Over reports whether s, if it is newer than old, displaces it.
func (s *LiveSession) Over(old *LiveSession) bool {
	switch {
	case s.Fence <= old.Fence:
		return false
	case s.Displaces == DisplacesProfile:
		return s.Profile == old.Profile
	}
	return s.Displaces == DisplacesUser && s.User == old.User
}

// Check returns an error, which matches ErrInvalid, if s exceeds a limit.
func (s *LiveSession) Check() error {
	switch {
	case s.Run == 0 || s.ID == 0 || s.Run > maxNumber || s.ID > maxNumber || s.Fence > maxNumber:
		return invalid("live session without run or id, or with one over %d", uint64(maxNumber))
	case s.Profile == 0 || s.Profile > MaxAccountID || s.User == 0 || s.User > MaxAccountID:
		return invalid("live session without profile or user, or with one over %d", MaxAccountID)
	case s.Displaces > DisplacesNone:
		return invalid("live session displaces by rule %d", s.Displaces)
	}
	return nil
}

// maxNumber is the highest number that every engine stores.
const maxNumber = 1<<63 - 1

// NodeRun is a run of a node: from its start to its end.
type NodeRun struct {
	Node  string
	Run   uint64
	Beats uint64 // how often Beat was called in it
	Mail  Mail   // of the last Beat
}

// Mail says for whom a node stored messages last, so that other nodes learn of them
// although they do not hear from it.
type Mail struct {
	Last uint64      // number of messages in the run so far
	To   []ProfileID // the receivers of the last ones, in their order
}

// AccountEnd ends all sessions of a user or of a profile that are older than it.
type AccountEnd struct {
	Fence   uint64    // set by the engine, from the same numbers as those of sessions
	User    UserID    // 0: Profile counts
	Profile ProfileID // 0: User counts
	Reason  uint8     // of the caller
}

// Check returns an error, which matches ErrInvalid, if e exceeds a limit.
func (e *AccountEnd) Check() error {
	if (e.User == 0) == (e.Profile == 0) || e.User > MaxAccountID || e.Profile > MaxAccountID {
		return invalid("end of sessions without one user or profile")
	}
	return nil
}

// Pulse is the result of Sessions.Beat.
type Pulse struct {
	Displaced []uint64     // ids of the sessions of the run that were displaced, in any order
	Ends      []AccountEnd // those after the fence that the caller knows, in the order of fences
	Runs      []NodeRun    // all that have not ended, in the order of nodes
}

// Sessions keeps which players are signed in on which node of a cluster. It is
// beside Store: only engines that several nodes can use have it.
//
// All that it keeps is gone with the nodes, so an engine may lose the runs and
// sessions, all at once, when it crashes. Fence numbers are never reused, and
// account ends are as durable as other records.
type Sessions interface {
	// BeginRun begins a run of a node and returns its number, which is above those of
	// all earlier runs. Earlier runs of that node end, and their sessions are removed.
	BeginRun(ctx context.Context, node string) (run uint64, err error)

	// EndRun ends a run and removes its sessions. It is for a node that stops, and for
	// others after it was silent for long. Ending one that has ended is not an error.
	EndRun(ctx context.Context, run uint64) error

	// EnterSession adds a session with a new fence number, and marks the older ones
	// that it displaces, of whatever node. They are returned; one that was displaced
	// before is not returned again. The error is ErrNotFound if the run is not there,
	// ErrConflict if it was ended, and ErrTaken if it has a session with that id.
	EnterSession(ctx context.Context, s LiveSession) (fence uint64, displaced []LiveSession, err error)

	// LeaveSessions removes sessions of a run by their ids. Unknown ids and runs are
	// ignored.
	LeaveSessions(ctx context.Context, run uint64, ids []uint64) error

	// Beat shows that a run continues. The error is ErrTaken if a later run of the
	// node has begun, ErrConflict if the run was ended, and ErrNotFound if the engine
	// has lost it. after is the highest fence of account ends that the caller knows,
	// less some: ends may become visible a few seconds late.
	Beat(ctx context.Context, node string, run, after uint64, mail Mail) (Pulse, error)

	// RestoreSessions adds sessions with the fences that they have, up to
	// MaxSessionsAtOnce, and brings back their run if the engine has lost it or it was
	// ended. Those that a newer session displaces are not added but returned by id, and
	// older ones that they displace are marked. Sessions that are there are left as they
	// are. The error may be ErrTaken, as for Beat.
	RestoreSessions(ctx context.Context, node string, run uint64, sessions []LiveSession) (displaced []uint64, err error)

	// EndSessions stores an end of sessions and returns its fence.
	EndSessions(ctx context.Context, e AccountEnd) (fence uint64, err error)

	// SweepEnds removes account ends with fences up to one and returns how many there
	// were.
	SweepEnds(ctx context.Context, upto uint64) (n int, err error)
}
