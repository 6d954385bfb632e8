// Package presence tracks the players that are signed in and their status, and
// delivers events to them. Protocols with a connection per player register
// their sessions here; other code sends events to players only through this
// package.
//
// Accounts are the subject of internal/accounts. This package knows no wire format of
// games. It does not decide which players may exchange messages; it only hides the
// status of a player from the profiles that it blocks.
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
// # Messages that do not arrive
//
// A session that ends gives undelivered messages to [Hub.PutBack], which puts them into
// the mailbox of their receiver. If the store does not take them in time, the hub keeps
// them and tries again. So every message is stored in one way, [Hub.Leave] or
// [Hub.PutBack], and a newer one never before an older one that waits for the store.
//
// # Clusters
//
// A [Clustered] answers the same questions for all nodes of a cluster. Each node
// puts the state of its players into a [cluster.Map] and has copies of those of the others, so
// that no look-up asks another node. A change comes with the watchers that hear of it, in
// the order of the owner; watchers of one that was missed are found in the store.
//
// Which session of a player is the newest is decided in one place, the rows of
// storage.Sessions: a sign-in adds its row with a fencing number and marks the rows
// that it displaces, in one step. It then has the other nodes end those sessions;
// one that did not hear of it finds the mark with its next beat. So of two sessions
// that exclude each other exactly one stays, and a node that cannot reach the store
// accepts no sign-in. Bans and deletions are ends in the same order of numbers: they
// end older sessions, also of a node that was cut off, and no newer ones.
//
// If a profile has sessions on several nodes, its status is that of the newest.
//
// An event for a player of another node has an id. It is repeated until it is
// answered, and delivered once. Several of one sender may be under way; each names the
// one before it, and waits for that at the receiver. One that would be missed is kept by the sender's node
// until the session has settled it, see [Receipt]. If the receiver's node dies before, it is
// stored. A node that is silent on the bus is not dead for that: it is dead when its run in the
// store has ended, another one has begun, or its beats are over.
//
// An event that is not answered is stored, and so is one to a player on no node that can be
// seen. The first may have arrived all the same. Messages have numbers, see [NextNumber], and a
// session shows one of two copies. A message waits until older ones to its receiver are settled
// or stored, see [Hub.Await]. It may still come before them if he moved to a third node and his
// old one has not said yet that he left.
//
// Two halves of a cluster that reach the store but not each other exchange messages through
// the mailboxes: the beats of each node say for whom it stored some.
//
// # Second sign-in
//
// The newer session wins; [Policy] decides over which older ones. Watchers of a
// profile that is taken over do not see it go offline. The displaced session
// may sign out later; that has no effect.
package presence
