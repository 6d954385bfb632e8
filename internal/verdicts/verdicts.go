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

// The verdicts. Their words appear in log lines, on the status page and in the
// admin API; programs compare them, so they do not change. Their texts are in
// texts.
const (
	Heard Verdict = iota
	UnknownGame
	NoSecret
	ChallengeSent
	NoAnswer
	WrongResponse
	Banned
	Limited
	ListFull
	TooManyHere
	Replaced
	Malformed
	Listed
	Restored
	Left
	Expired
	Restarted
	Removed
	Reachable
	Unreachable
	Asked
	Unanswered
	NeverAsked
	Hidden
	Outdated
	Blocked
	NotAllowed
	Concealed
	OnlyHere
	Advertised
	StaleChallenge
	KeepsQuiet
	BansUs
	AskedTooSoon
	PerhapsReachable
	Negotiated
	ReachedByRelay

	// Verdicts on packets that a service drops.
	SpeaksQR2
	SpeaksQR1
	SpeaksCDKey
	SpeaksZandronum
	SpeaksValve
	SpeaksQuake3
	SpeaksQuake2
	SpeaksQuakeWorld
	TooLong
	KeepaliveAlone
	NotUnderstood

	// Verdicts on players, see OfPlayer.
	SignedIn
	WrongPassword
	UnreadablePassword
	NoSuchAccount
	OtherNamespace
	BadTicket
	NotKept
	AccountBanned
	ServiceFull
	NeverSignedIn
	AccountMade
	AccountRefused
	Met
	NotMet
	Relayed
	Introduced
	Unconfirmed
	NoPartner
	HalfWay
	ListSent
	BadFilter
	InChat
	ChatBanned
	ChatMuted
	KeyAccepted
	KeyUnknown
	KeyWrong
	KeyInUse
	KeyBanned
	DataTooLarge
	UnknownRequest
	MalformedRequest
	FileUploaded
	UploadUnproved
	UploadTooLarge
	UploadFailed
	StorageRefused
	SearchTooLarge
	RecordsLeftOut
	BadCertificate
	MatchRefused
	PortSame
	PortChanged
	QuickWaiting
	QuickMatched
	QuickRefused
	RoundCounted
	RoundNotListed
	RoundRefused
	UnlockUnproved
	ConsoleTested
	ConsoleSignedIn
	ConsoleRefused
	ListUnread
	ListRead
	SpeaksOther
)

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
