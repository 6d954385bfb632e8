package verdicts

import "github.com/rs/zerolog"

// messages are the verdicts as messages of log lines: what happened, constant
// text, without anything that came from a client.
var messages = [...]string{
	Heard:         "server heard",
	UnknownGame:   "server not listed: unknown game",
	NoSecret:      "server not listed: game without secret key",
	ChallengeSent: "challenge sent",
	NoAnswer:      "server did not answer",
	WrongResponse: "server not listed: wrong response to the challenge",
	Banned:        "server not listed: address banned",
	Limited:       "server limited: too many packets or pending servers",
	ListFull:      "server not listed: list full",
	TooManyHere:   "server not listed: too many servers on its address or network",
	Replaced:      "server replaced: the list is nearly full",
	Malformed:     "server not listed: unreadable report",
	Listed:        "server listed",
	Restored:      "server restored",
	Left:          "server left",
	Expired:       "server expired",
	Restarted:     "server restarted",
	Removed:       "server removed by an operator",
	Reachable:     "server reachable",
	Unreachable:   "server not reachable from a new address",
	Asked:         "server heard, asked over A2S",
	Unanswered:    "server did not answer A2S queries",
	NeverAsked:    "server not asked",
	Hidden:        "server hidden: does not enforce the ban list",
	Outdated:      "server not listed: version too old",
	Blocked:       "server not listed: blocked from hosting",
	NotAllowed:    "server not listed: not on the allow list",
	Concealed:     "server hidden by an operator",
	OnlyHere:      "server listed under an address that only this machine and its network reach",
	Advertised:    "server listed under the advertised address",

	StaleChallenge: "server not listed: challenge out of date",
	KeepsQuiet:     "server answered without telling",
	BansUs:         "server bans this master's address",
	AskedTooSoon:   "server says that it was asked too soon",

	PerhapsReachable: "server perhaps reachable",
	Negotiated:       "server reached by NAT negotiation",

	SpeaksQR2:       "server not listed: speaks GameSpy's protocol to another port",
	SpeaksQR1:       "server not listed: speaks GameSpy's older protocol to another port",
	SpeaksCDKey:     "packet dropped: check of CD keys",
	SpeaksZandronum: "server not listed: speaks Zandronum's protocol to another port",
	SpeaksValve:     "server not listed: speaks the protocol of Valve's master to another port",
	SpeaksQuake3:    "server not listed: speaks Quake III's protocol",
	TooLong:         "server not listed: packet too long",
	KeepaliveAlone:  "sign of life of a server that is not listed",
	NotUnderstood:   "packet not understood",

	SignedIn:       "player signed in",
	WrongPassword:  "sign-in refused: wrong password",
	NoSuchAccount:  "sign-in refused: no such account",
	BadTicket:      "sign-in refused: ticket not valid any more",
	AccountBanned:  "sign-in refused: account banned",
	ServiceFull:    "sign-in refused: too many players",
	NeverSignedIn:  "connection closed: no sign-in in time",
	AccountMade:    "account made",
	AccountRefused: "account not made or changed",
	Met:            "players reached each other",
	NotMet:         "players did not reach each other",
	Introduced:     "players introduced, no report came",
	Unconfirmed:    "players introduced, not confirmed by both",
	NoPartner:      "other player never came",
	HalfWay:        "packets of a player stopped half-way",
	ListSent:       "list sent",
	BadFilter:      "list refused: bad filter",
}

// message returns the verdict as the message of its log line.
func (v Verdict) message() string {
	if int(v) < len(messages) && messages[v] != "" {
		return messages[v]
	}
	return v.String()
}

// level returns the level of a verdict's log line: the steps before a decision,
// and packets of which any scanner may send some, are for those who look for a
// fault. Servers that were restored have one line for all of them.
func (v Verdict) level() zerolog.Level {
	switch v {
	case Heard, ChallengeSent, Asked, Restored, SpeaksCDKey, KeepaliveAlone, NotUnderstood:
		return zerolog.DebugLevel
	default:
		return zerolog.InfoLevel
	}
}
