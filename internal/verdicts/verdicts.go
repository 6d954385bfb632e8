// Package verdicts records the last decisions of the services about each
// address, explains them and logs a line when a decision changes. It answers
// "why is my server not listed?" and "why can I not sign in?".
//
// It decides nothing itself and keeps no packet content, no key and no secret.
//
// A server that fails again and again has one verdict, with a count and the times
// of the first and the last failure. The steps of a round that has ended, such as
// a challenge that was sent, are replaced by its outcome. See record.
//
// The memory of a log is fixed: when it is full, the source whose last verdict is
// oldest is dropped, and an address with many ports displaces only its own.
package verdicts

// Verdict is a decision of a service about an address.
type Verdict uint8

// OnReach reports whether v says how a listed server is reached.
func (v Verdict) OnReach() bool {
	switch v {
	case Reachable, PerhapsReachable, Unreachable, Negotiated, ReachedByRelay:
		return true
	default:
		return false
	}
}

// Outdates reports whether v makes the advice of an earlier verdict of the same
// service on the same server useless. OnlyHere stays valid while the server is
// listed, because it depends on the address only. A server whose reports cannot be
// read expires because of that.
func (v Verdict) Outdates(earlier Verdict) bool {
	switch earlier {
	case OnlyHere:
	case ListUnread: // a later list may be unread too
		return v == ListRead
	case TooLong, Malformed:
		return v != Expired
	default:
		return true
	}
	switch v {
	case Heard, ChallengeSent, Asked, Listed, Reachable, PerhapsReachable, Unreachable, Negotiated, ReachedByRelay:
		return false
	default:
		return true
	}
}
