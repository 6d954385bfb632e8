// Package presence tracks the players that are signed in and their status, and
// delivers events to them. Protocols with a connection per player register
// their sessions here; other code sends events to players only through this
// package.
//
// Accounts are the subject of internal/accounts. This package stores nothing,
// knows no wire format and owns no goroutine. It does not decide which players
// may exchange messages; it only hides the status of a player from the profiles
// that it blocks.
//
// # Delivery
//
// [Session.Deliver] puts an event into the bounded queue of its session and
// never blocks. A session whose queue is full returns false and closes itself;
// the hub continues with the next, so that a slow peer delays no other.
//
// # Order
//
// Watchers receive the events about one profile in the order in which they
// happened: they are queued under one lock, and each carries the status at that
// moment. A status that is set while an earlier one is being delivered may
// replace it.
//
// [Hub.Tell] and [Hub.Show] go through the same lock. A session signs in first
// and then asks for the status of its buddies: a change in between is already
// in its queue or follows the answer.
//
// # Second sign-in
//
// The newer session wins; [Policy] decides over which older ones. Watchers of a
// profile that is taken over do not see it go offline. The displaced session
// may sign out later; that has no effect.
package presence
