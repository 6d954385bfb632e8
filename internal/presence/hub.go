package presence

import (
	"context"
	"errors"
	"iter"

	"github.com/respawnd/respawnd/storage"
)

// Errors that callers decide by, and reasons of Session.Kick.
var (
	// ErrNotSignedIn means that the session is not, or not any more, signed in.
	ErrNotSignedIn = errors.New("not signed in")
	// ErrSignedIn means that the session is signed in already.
	ErrSignedIn = errors.New("signed in already")
	// ErrFull means that as many sessions are signed in as there may be.
	ErrFull = errors.New("too many sessions")
	// ErrDisplaced is the reason for a session that a newer one displaces.
	ErrDisplaced = errors.New("displaced by a newer login")
	// ErrBanned is the reason for a session whose account was banned.
	ErrBanned = errors.New("account banned")
	// ErrDeleted is the reason for a session whose account was deleted.
	ErrDeleted = errors.New("account deleted")
	// ErrKicked is the reason for a session that an operator ended.
	ErrKicked = errors.New("ended by the operator")
)

// Session is one connection of a player. It must be comparable, such as a
// pointer. The hub calls Deliver and Kick from any goroutine and while it holds
// locks, so they must not call the hub.
type Session interface {
	// Profile and User identify the player that is signed in. They never change.
	Profile() storage.ProfileID
	User() storage.UserID

	// Key is the session key, which other services of the protocol accept as
	// proof of the client's identity. It is above 0 and never changes.
	Key() int32

	// Client returns the client at the other end. It never changes.
	Client() Client

	// Deliver puts e into the session's queue and never blocks. false means
	// that the queue is full or closed; the owner of a session whose queue is
	// full closes it.
	Deliver(e Event) bool

	// Kick ends the session for a reason, such as ErrDisplaced, and never
	// blocks. Only the first Kick counts. The session still signs itself out.
	Kick(reason error)
}

// Policy says which sessions a newer one displaces.
type Policy int

// The policies. The zero value is right for nearly every game.
const (
	KickProfile Policy = iota // KickProfile displaces the session of the same profile.
	KickUser                  // KickUser displaces all sessions of the same user.
	Allow                     // Allow displaces no session.
)

// String returns the word for p: profile, user or allow.
func (p Policy) String() string {
	switch p {
	case KickUser:
		return "user"
	case Allow:
		return "allow"
	default:
		return "profile"
	}
}

// Present is one profile that Match found.
type Present struct {
	Profile storage.ProfileID
	Status  Status
}

// Hub is the set of sessions that are signed in. [Local] is the one for a single
// node. No method waits for a peer; those with an error may read the store.
type Hub interface {
	// SignIn adds a session with its first status and tells the watchers. The
	// sessions that the policy displaces are kicked with ErrDisplaced before
	// SignIn returns them. ErrFull, ErrSignedIn. If the store cannot be read,
	// s is signed in, no watcher was notified, and the error is the store's.
	SignIn(ctx context.Context, s Session, p Policy, st Status) (displaced []Session, err error)

	// SignOut removes a session and, if it was the last of its profile, tells
	// the watchers, also when ctx is over. A session that is not signed in is
	// ignored.
	SignOut(ctx context.Context, s Session)

	// SetStatus replaces the status of the session's profile and tells the
	// watchers, unless nothing changed. ErrNotSignedIn.
	SetStatus(ctx context.Context, s Session, st Status) error

	// SetInvitable replaces the products that the session's profile can be
	// invited to. At most MaxInvitable count. ErrNotSignedIn.
	SetInvitable(ctx context.Context, s Session, products []int) error

	// Status returns the status of a profile, false if it is not signed in.
	Status(ctx context.Context, id storage.ProfileID) (Status, bool)

	// Tell delivers the present status of a profile to one session, in order
	// with its changes; Offline if it is not signed in. It does not look at
	// lists and blocks. false: the queue is full.
	Tell(ctx context.Context, s Session, of storage.ProfileID) bool

	// Show is Tell for whatever sessions a profile has.
	Show(ctx context.Context, to, of storage.ProfileID)

	// Hide tells a profile's sessions that another is Offline, whatever it is,
	// in order with its changes: for after a block or a removed buddy.
	Hide(ctx context.Context, to, of storage.ProfileID)

	// Send delivers an event to all sessions of a profile. false: it is not
	// signed in or no queue took it. It does not look at lists and blocks.
	Send(ctx context.Context, to storage.ProfileID, e Event) (delivered bool, err error)

	// CheckKey reports whether a session of that profile has that key.
	CheckKey(ctx context.Context, id storage.ProfileID, key int32) bool

	// Match returns up to limit profiles that play a product or can be invited
	// to it and do not appear offline, in the order of ids.
	Match(ctx context.Context, product, limit int) []Present

	// KickUser kicks all sessions of a user and returns how many there were.
	KickUser(ctx context.Context, id storage.UserID, reason error) int

	// KickProfile kicks all sessions of a profile and returns how many there
	// were.
	KickProfile(ctx context.Context, id storage.ProfileID, reason error) int
}

// Watchers is what the hub reads from the store.
type Watchers interface {
	// Watchers is that of storage.Buddies.
	Watchers(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.ProfileID, error]
}
