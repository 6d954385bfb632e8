package verdicts

import (
	"cmp"
	"fmt"
	"time"
)

// Explanation puts a verdict into words for players and operators.
type Explanation struct {
	// Kind of the message: "heartbeat", "registration".
	What string
	// Cause describes the event and its effect.
	Cause string
	// Advice is the remedy. Empty: none is needed.
	Advice string
	// Good means that the server is not missing for this reason.
	Good bool

	// lasting replaces Advice when the verdict comes again and again, and waiting
	// does not help. Empty: it does not differ.
	lasting string
}

// lastsFrom is how long a verdict has to be repeated until it gets the advice for
// those that last.
const lastsFrom = 2 * time.Minute

// lasts reports whether waiting does not help against the verdict.
func (e *Entry) lasts() bool { return e.Times > 1 && e.Last.Sub(e.First) >= lastsFrom }

// Explain puts the verdict into words. Of the network they contain only Detail.
func (e Entry) Explain() Explanation {
	t := e.Verdict.text()
	x := t.Explanation
	switch {
	case !t.elsewhere:
	case e.Port == 0:
		x.Advice = SpeaksOther.text().Advice
	default:
		x.Advice = fmt.Sprintf("Use port %d: this master accepts them there.", e.Port)
	}
	own := speakers[e.Service]
	y := own.texts[e.Verdict]
	cause := cmp.Or(y.Cause, x.Cause)
	if e.Detail != "" {
		cause += ": " + e.Detail
	}
	advice := cmp.Or(y.Advice, x.Advice)
	if e.lasts() {
		advice = cmp.Or(y.lasting, y.Advice, x.lasting, x.Advice)
	}
	return Explanation{
		What:   cmp.Or(y.What, x.What, own.what, "heartbeat"),
		Cause:  cause,
		Advice: advice,
		Good:   x.Good,
	}
}

// speaker is a service whose verdicts differ from those of most services.
type speaker struct {
	what   string                  // arrives there; empty: heartbeats
	player bool                    // its verdicts are about players, see OfPlayer
	texts  map[Verdict]Explanation // non-empty fields replace those of texts
}

var speakers = map[string]speaker{
	"qr1":          {texts: textProtocolTexts},
	"zanmaster":    {what: "registration", texts: zandronumTexts},
	"lan":          {what: "answer on the local network", texts: lanTexts},
	"probe":        {what: "answer to a query", texts: queryTexts},
	"gpcm":         {what: "sign-in", player: true, texts: signInTexts},
	"gpsp":         {what: "request for an account", player: true, texts: signInTexts},
	"mangler":      {what: "question about a port", player: true},
	"quickmatch":   {what: "search for a quick match", player: true},
	"natneg":       {what: "NAT negotiation", player: true, texts: negotiationTexts},
	"peerchat":     {what: "chat sign-on", player: true, texts: chatTexts},
	"cdkey":        {what: "CD key check", player: true, texts: keyTexts},
	"gstats":       {what: "statistics", player: true, texts: statsTexts},
	"webservices":  {what: "request of a game", player: true, texts: signInTexts},
	"serverbrowse": {what: "request for a list", player: true, texts: listTexts},
	"legacylist":   {what: "request for a list", player: true, texts: listTexts},
	"utmaster":     {what: "connection of a game server", texts: epicTexts},
	// Browsers of the same service, of which verdicts are about players.
	"utmaster list": {what: "request for a list", player: true, texts: listTexts},
	"ssq":           {what: "query", player: true, texts: tableTexts},
	"dns":           {what: "DNS question", player: true, texts: nameTexts},
}

// OfPlayer reports whether the verdicts of a service are about players and not
// about servers. They belong in a Log of their own, where they cannot displace
// verdicts on servers, and on no public page.
func OfPlayer(service string) bool { return speakers[service].player }

// textProtocolTexts are for servers of the text protocol, which are queried and
// have no challenge.
var textProtocolTexts = map[Verdict]Explanation{
	NoAnswer: {
		Cause:  "the server was asked for its status, and no answer arrived: its query port is filtered or rewritten",
		Advice: openQueryPort,
	},
	Expired: {Cause: "the server did not answer its queries for too long and was removed from the list"},
}

// queryTexts are for servers that do not report and are queried.
var queryTexts = map[Verdict]Explanation{
	UnknownGame: {
		Cause:  "the game that the server reports cannot be listed",
		Advice: "The operator can add it: respawnd game add NAME, or raise probe.max_games.",
	},
	Banned: {What: "nothing", Cause: "the address is banned, so the server is neither asked nor listed"},
	Listed: {Cause: "the server answers and is in the list"},
	Left: {
		Cause:  "the server was removed from the watch list",
		Advice: "Register it again, or ask the operator to add it.",
	},
	Expired: {
		What:   "nothing",
		Cause:  "the server did not answer several queries in a row and was removed from the list",
		Advice: "Check that it still runs and that its query port is open. It is queried again.",
	},
	NoAnswer: {
		What:   "nothing",
		Cause:  "an operator added the server, and it does not answer: it does not run, speaks another protocol, or its query port is filtered",
		Advice: checkNamed,
	},
	Unanswered: {
		What:   "nothing",
		Cause:  "an operator added the server, and it does not answer A2S queries: it does not run, speaks another protocol, or its query port is filtered",
		Advice: checkNamed,
	},
	TooLong: {
		What:   "answer to a query",
		Cause:  "the server's answer has more packets or bytes than are accepted",
		Advice: "Shorten long names, rules and message-of-the-day texts of the server. It is queried again, less and less often.",
	},
	NeverAsked: {
		What:   "nothing",
		Cause:  "an operator added the server, and it is not queried: its address is one that is never queried, such as one of respawnd's own",
		Advice: "The operator can add it under another address, or remove it: respawnd server remove HOST:PORT, servers.static.",
	},
}

// epicTexts are for game servers that keep a connection and are probed.
var epicTexts = map[Verdict]Explanation{
	UnknownGame: {
		Cause:  "no game of the catalogue has the version and the role with which the server signs in",
		Advice: "The operator finds both in the log at level debug, and can add them: key epic of a games file.",
	},
	NoAnswer: {
		Cause:  "the server is connected, but none of its ports answered: they are filtered or rewritten",
		Advice: "Forward the game's UDP port, the next one and the tenth after it to the server, and allow them in its firewall. It is asked again with each report. The operator can list such servers: utmaster.list_unproved.",
	},
	TooManyHere: {Advice: removeServers + "The operator can raise utmaster.servers_per_addr, master.max_per_addr and master.max_per_net."},
	Malformed: {
		Cause:  "a message of the server cannot be read, so that its connection was closed",
		Advice: "The log at level debug has its first bytes. Shorten long names of the server; it connects again.",
	},
	TooLong:   {Cause: "a message of the server is too long, so that its connection was closed"},
	Left:      {Cause: "the connection of the server ended"},
	Expired:   {Cause: "the server sent nothing on its connection for too long, and was removed from the list", Advice: "Check that it still runs. It connects again."},
	Restarted: {Cause: "the server has a new connection, which took the place of this one"},
	KeyBanned: {
		Cause:  "the server signs in with a CD key that is banned",
		Advice: "Ask the operator, who finds the key with: respawnd cdkey list.",
	},
}

// zandronumTexts are for Zandronum's own way of registering.
var zandronumTexts = map[Verdict]Explanation{
	WrongResponse: {
		Cause:  "the server returned another number than the one that it was sent: another program answers on its port",
		Advice: "Check that one server alone uses this port.",
	},
	Limited: {
		Advice:  "Wait a minute. The operator can raise zanmaster.unproved_rate or add the network to net.trusted.",
		lasting: "Stop other servers and programs on its address. The operator can raise zanmaster.unproved_rate or add the network to net.trusted.",
	},
	TooManyHere: {Advice: removeServers + "The operator can raise zanmaster.servers_per_address or add the address to multiserver_whitelist.txt."},
	NoAnswer:    {Cause: "a verification was sent, and no answer arrived: the port is filtered or rewritten on the way back"},
	Malformed: {
		Cause:  "the registration cannot be read",
		Advice: "Check that masterhostname points here (and -masterport, unless this master's port is 15300), and that the server's version is a current one.",
	},
	Expired: {Advice: "Check that it still runs, that sv_updatemaster is 1, and that it can send UDP to this master."},
	Banned:  {Advice: "Ask the operator, who finds the reason in banlist.txt or with: respawnd ban list."},
}

// lanTexts are for servers on the local network, which are queried there.
var lanTexts = map[Verdict]Explanation{
	NotUnderstood: {
		What:   "answer on the local network",
		Cause:  "the server answers the query to its port, but the answer cannot be read, or is of another protocol",
		Advice: "Check that no other program uses the game's query port. The operator can add the server with its protocol: respawnd server add.",
	},
}

// negotiationTexts are for players who negotiate with others.
var negotiationTexts = map[Verdict]Explanation{
	Banned: {Cause: "the address is banned from signing in"},
	Limited: {
		Cause:  "too many packets came from this address",
		Advice: "Wait some minutes. The operator can raise natneg.rate or add the network to net.trusted.",
	},
	MalformedRequest: {
		Cause:  "packets of a NAT negotiation arrive, but cannot be read: they are cut off, or of a version that is not known here",
		Advice: "Check that no router or firewall changes or divides UDP packets. If the game never gets through, report it to the makers of this program.",
	},
	NotUnderstood: {
		Cause:  "packets arrive at the port of the NAT negotiation, but are of another protocol",
		Advice: "Check the ports of the program that sends them: the game's servers and sign-in use others.",
	},
}

// tableTexts are for clients that query the list with Standard Server Queries.
var tableTexts = map[Verdict]Explanation{
	Banned: {Cause: "the address is banned from the lists"},
	Limited: {
		Cause:  "the address used up its budget of answers, or tried too many passwords",
		Advice: "Ask less often, or for fewer columns. The operator can raise ssq.bytes_per_addr and ssq.bytes_per_net or add the network to net.trusted.",
	},
	MalformedRequest: {
		Cause:  "the query cannot be read, lacks some of its packets, or is shorter than the proof of the address that answers it",
		Advice: "Check that the client sends Standard Server Queries to this port, and fills up short ones as the protocol demands.",
	},
	TooLong: {
		What:   "query",
		Cause:  "the query is longer than the longest one",
		Advice: "Ask for fewer columns and conditions at once.",
	},
}

// nameTexts are for clients that look up host names.
var nameTexts = map[Verdict]Explanation{
	Banned: {Cause: "the address is banned from signing in"},
	Limited: {
		Cause:  "too many questions came from this address",
		Advice: "Wait a moment. The operator can raise dns.rate and dns.burst or add the network to net.trusted.",
	},
	NotAllowed: {
		Cause:  "the name service answers private networks and those of dns.allow, and the address is in neither",
		Advice: "Ask the operator to add the network to dns.allow, or use the hosts file of the game's page.",
	},
	MalformedRequest: {
		Cause:  "the question cannot be read, or is an answer",
		Advice: "Check that a DNS client sends here, over UDP or TCP without encryption.",
	},
	TooLong: {
		What:   "DNS question",
		Cause:  "the question is longer than the longest one",
		Advice: "Check that a DNS client sends here, over UDP or TCP without encryption.",
	},
}

// signInTexts are for players who sign in or manage accounts.
var signInTexts = map[Verdict]Explanation{
	Banned: {Cause: "the address is banned from signing in"},
	Limited: {
		Cause:  "too many connections, wrong passwords or requests came from this address, or for this account",
		Advice: "Wait some minutes. The operator can raise gpcm.max_per_addr or gpsp.max_per_addr, or add the network to net.trusted.",
	},
	MalformedRequest: {Advice: "Check that the game's sign-in and search ports point at the right services."},
}

// keyTexts are for game servers that ask whether a CD key is good.
var keyTexts = map[Verdict]Explanation{
	MalformedRequest: {Advice: "Check that the server's port for CD keys points here and at no other service."},
	Banned:           {Cause: "the address is banned from asking for CD keys"},
	Limited: {
		Cause:  "too many CD keys were asked for from this address",
		Advice: "The operator can raise cdkey.rate and cdkey.burst or add the network to net.trusted.",
	},
}

// statsTexts are for games that keep data of players and report matches.
var statsTexts = map[Verdict]Explanation{
	UnknownGame: {
		Cause:  "a game that is not known here connected to the statistics service",
		Advice: "The operator can add it: respawnd game add NAME --secret KEY.",
	},
	NoSecret: {Cause: "the game is known, but not its secret key, and it cannot prove itself without it", Advice: "The operator can set the key: respawnd game add NAME --secret KEY."},
	WrongResponse: {
		Cause:  "the game and this service have different secret keys",
		Advice: "Check which game it claims to be. The operator can correct the key: respawnd game add NAME --secret KEY.",
	},
	Banned: {Cause: "the address is banned from signing in"},
	Limited: {
		Cause:  "too many connections or wrong passwords came from this address, or for this account",
		Advice: "Wait some minutes. The operator can raise gstats.max_per_addr and gstats.rate, or add the network to net.trusted.",
	},
	ServiceFull:      {Cause: "the maximum number of games is connected", Advice: "The operator can raise gstats.max_conns."},
	NeverSignedIn:    {Cause: "a client connected and did not prove in time that it is a game", Advice: "If it is a game, packets are lost on the way. The operator can raise gstats.login_time."},
	MalformedRequest: {Advice: "Check that the game's statistics host and port point here."},
}

// chatTexts are for players who sign on to chat.
var chatTexts = map[Verdict]Explanation{
	Banned: {
		Cause:  "the address is banned from signing in, or banned from chat like the player",
		Advice: "Ask the operator, who finds the reason with: respawnd ban list, or respawnd chat bans.",
	},
	UnknownGame: {
		Cause:  "the client enciphers with the key of a game that is not known here, or has no key",
		Advice: "The operator can add the key: respawnd game add NAME --secret KEY.",
	},
	Limited: {
		Cause:  "too many connections came from this address, or its lines came too fast for too long",
		Advice: "Wait a minute. The operator can raise peerchat.max_per_addr, peerchat.rate or peerchat.pace_per_addr, or add the network to net.trusted.",
	},
	ServiceFull:      {Cause: "the maximum number of clients is connected", Advice: "The operator can raise peerchat.max_conns."},
	NeverSignedIn:    {Cause: "a client connected and did not sign on in time", Advice: "If it is a game, packets are lost on the way. The operator can raise peerchat.login_time."},
	MalformedRequest: {Advice: "Check that the program is a game or an IRC client, without TLS."},
}

// listTexts are for server browsers that request lists.
var listTexts = map[Verdict]Explanation{
	UnknownGame: {Cause: "this master does not know the game that the browser requests, or its own game"},
	NoSecret:    {Cause: "the game of the browser is known, but not its secret key, and without it the list cannot be encrypted for the browser"},
	WrongResponse: {
		Cause:  "the browser and this master have different secret keys for the browser's game",
		Advice: "Check which game it claims to be. The operator can correct the key: respawnd game add NAME --secret KEY.",
	},
	Banned: {Cause: "the address is banned from the lists"},
	Limited: {
		Cause:  "too many connections came from this address at once, or too many lists were requested on one connection",
		Advice: "Wait a moment between two lists. The operator can raise max_per_addr of that service or add the network to net.trusted.",
	},
	MalformedRequest: {Advice: "Check that the game's master port points here and at no other service."},
}
