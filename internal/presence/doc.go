// Package presence knows who is signed in, what they are doing and how to reach
// them. The protocols that players hold a connection with put their sessions
// in; everything that wants to tell a player something goes through here.
//
// It is not for accounts (internal/accounts), keeps nothing over a restart
// (package storage does), knows no wire format and owns no goroutine. It does
// not decide which players may exchange messages; it only keeps the status of a
// player from the profiles that it blocks.
//
// # Delivery
//
// [Session.Deliver] puts an event into the bounded queue of its session and
// never blocks. A session whose queue is full says so and closes itself; the
// hub continues with the next. So a slow peer delays no other.
//
// # Order
//
// What watchers hear about one profile, they hear in the order in which it
// happened: all events about the status of a profile are put into queues under
// one lock, and each carries the status of that moment. A status that is set
// while another is on its way to the watchers may replace it.
//
// [Hub.Tell] and [Hub.Show] go through the same lock. A session that wants to
// know the status of its buddies signs in first and asks then: whatever changes
// in between is in its queue already or behind the answer.
//
// # Second sign-in
//
// The newer session wins; [Policy] says over which older ones. Watchers of a
// profile that is taken over do not see it go offline. The displaced session may
// sign out later; that has no effect.
package presence
