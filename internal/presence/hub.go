package presence

import (
	"context"
	"errors"
	"iter"
	"net/netip"

	"github.com/respawnd/respawnd/storage"
)

// Errors of Hub, and reasons of Session.Kick.
var (
	// ErrNotSignedIn means that the session is not signed in, or no longer.
	ErrNotSignedIn = errors.New("not signed in")
	// ErrSignedIn means that the session is already signed in.
	ErrSignedIn = errors.New("signed in already")
	// ErrFull means that the maximum number of sessions is signed in.
	ErrFull = errors.New("too many sessions")
	// ErrDisplaced is the reason for a session that a newer one displaces.
	ErrDisplaced = errors.New("displaced by a newer login")
	// ErrBanned is the reason for a session whose account was banned.
	ErrBanned = errors.New("account banned")
	// ErrDeleted is the reason for a session whose account was deleted.
	ErrDeleted = errors.New("account deleted")
	// ErrKicked is the reason for a session that an operator ended.
	ErrKicked = errors.New("ended by the operator")
	// ErrNoStore means that a node of a cluster cannot inform the others of a sign-in,
	// because the store cannot be reached. Sessions that are signed in stay.
	ErrNoStore = errors.New("the database of the cluster cannot be reached")
	// ErrUnreachable means that it is not known whether an event was delivered: the
	// node of the receiver is gone or does not answer. The caller stores the event.
	ErrUnreachable = errors.New("the node of the player does not answer")
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

	// Deliver puts e into the session's queue and never blocks. It returns
	// false if the queue is full or closed; a session whose queue is full
	// closes itself.
	Deliver(e Event) bool

	// Kick ends the session for a reason, such as ErrDisplaced, and never
	// blocks. Only the first Kick counts. The session still signs itself out.
	Kick(reason error)
}

// Policy decides which sessions a newer one displaces.
type Policy int

// The policies. Nearly every game uses the zero value.
const (
	KickProfile Policy = iota // KickProfile displaces the session of the same profile.
	KickUser                  // KickUser displaces all sessions of the same user.
	Allow                     // Allow displaces no session.
)

// String returns "profile", "user" or "allow".
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
// node, [Clustered] that of a cluster. No method waits for a client; those with an
// error may use the store, and in a cluster wait for another node.
type Hub interface {
	// SignIn adds a session with its first status and notifies the watchers.
	// The sessions that the policy displaces are kicked with ErrDisplaced
	// before SignIn returns them; in a cluster, only those of this node are. The error
	// is ErrFull, ErrSignedIn or ErrNoStore; or it is the store's, if that cannot be
	// read: then s is signed in but no watcher was notified.
	SignIn(ctx context.Context, s Session, p Policy, st Status) (displaced []Session, err error)

	// SignOut removes a session and, if it was the last of its profile,
	// notifies the watchers, even when ctx is over. A session that is not
	// signed in is ignored.
	SignOut(ctx context.Context, s Session)

	// SetStatus replaces the status of the session's profile and notifies the
	// watchers, unless nothing changed. The error may be ErrNotSignedIn.
	SetStatus(ctx context.Context, s Session, st Status) error

	// SetInvitable replaces the products that the session's profile can be
	// invited to. At most MaxInvitable are kept. The error may be
	// ErrNotSignedIn.
	SetInvitable(ctx context.Context, s Session, products []int) error

	// Status returns the status of a profile, false if it is not signed in.
	Status(ctx context.Context, id storage.ProfileID) (Status, bool)

	// Tell delivers the present status of a profile to one session, in order
	// with its changes; Offline if it is not signed in. Buddy lists and blocks
	// are not checked. It returns false if the queue is full.
	Tell(ctx context.Context, s Session, of storage.ProfileID) bool

	// Show is Tell for all sessions of a profile.
	Show(ctx context.Context, to, of storage.ProfileID)

	// Hide delivers the status Offline of one profile to all sessions of
	// another, whatever its real status, in order with its changes. It is for
	// use after a block or the removal of a buddy.
	Hide(ctx context.Context, to, of storage.ProfileID)

	// Send delivers an event to all sessions of a profile. It returns false if
	// the profile is not signed in or all queues are full. Buddy lists and
	// blocks are not checked. The error may be ErrUnreachable.
	Send(ctx context.Context, to storage.ProfileID, e Event) (delivered bool, err error)

	// Dispatch sends an event to a profile that is signed in on one other node alone and does
	// not wait for the answer, which the Passage does. The event arrives after that of
	// the Passage after, if that is not nil. It returns nil if the event did not begin:
	// then after ends first, and Send sends it.
	Dispatch(to storage.ProfileID, e Event, after *Passage) *Passage

	// PutBack stores messages that a session of a profile took and did not deliver. It
	// returns false if the store does not take them until ctx ends: then they are stored as
	// soon as it does.
	PutBack(ctx context.Context, to storage.ProfileID, messages []storage.Message) (stored bool)

	// Await waits for some seconds until earlier messages of a profile to another are
	// delivered or stored, if they are with a node that the receiver has left, or are older
	// than a session of his here. Later ones would come before them.
	Await(ctx context.Context, from, to storage.ProfileID)

	// Flush stores messages of PutBack that wait for the store. A mailbox is complete only
	// after it.
	Flush(ctx context.Context, to storage.ProfileID) error

	// Leave stores a message for a profile behind those of PutBack and has its sessions, if
	// there are any, look into the mailbox. The errors are those of storage.Buddies.
	Leave(ctx context.Context, to storage.ProfileID, m storage.Message) error

	// CheckKey reports whether a session of that profile has that key.
	CheckKey(ctx context.Context, id storage.ProfileID, key int32) bool

	// SignedInFrom reports whether a session of that profile is signed in from an
	// address. Ports do not count; all players behind one router share an address.
	SignedInFrom(ctx context.Context, id storage.ProfileID, from netip.Addr) bool

	// Match returns up to limit profiles that play a product or can be invited
	// to it and do not appear offline, in the order of ids.
	Match(ctx context.Context, product, limit int) []Present

	// Attach adds a session of another service, which ends with the account, until
	// detach is called. The service bounds their number. It must check the account after
	// attaching, so that no ban in between is missed.
	Attach(s Attached) (detach func())

	// KickUser kicks all sessions of a user, attached ones too, and returns how many
	// there were.
	KickUser(ctx context.Context, id storage.UserID, reason error) int

	// KickProfile kicks all sessions of a profile, attached ones too, and returns how
	// many there were.
	KickProfile(ctx context.Context, id storage.ProfileID, reason error) int

	// List returns up to limit sessions of profiles above after, in the order of
	// their ids. more reports whether others follow; the sessions of one profile
	// are never separated, so there may be a few more than limit.
	List(after storage.ProfileID, limit int) (list []SignedIn, more bool)

	// Count returns the number of sessions.
	Count() int

	// SetMaxSessions changes how many sessions may be signed in on this node; 0 means
	// DefaultMaxSessions. Existing sessions stay.
	SetMaxSessions(n int)
}

// Store is the part of the store that the hub uses. The methods are those of
// storage.Buddies.
type Store interface {
	Watchers(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.ProfileID, error]
	Leave(ctx context.Context, to storage.ProfileID, m storage.Message) error
	Return(ctx context.Context, to storage.ProfileID, messages []storage.Message) (n int, err error)
}
