package verdicts

import (
	"slices"

	"github.com/rs/zerolog"
)

// text holds all texts of a verdict. They contain nothing from the network.
type text struct {
	code      string // String: compared by programs, never changed
	message   string // of its log line
	debug     bool   // log at level debug: a step before a decision, or a packet that scanners send, too
	elsewhere bool   // it belongs to another service, see Log.SetPorts
	Explanation
}

// text returns the text of the verdict.
func (v Verdict) text() *text {
	if int(v) < len(texts) {
		return &texts[v]
	}
	return &unknown
}

var unknown = text{code: "unknown", message: "unknown", Explanation: Explanation{Cause: "nothing more is known"}}

// String returns the verdict's code.
func (v Verdict) String() string { return v.text().code }

// level returns the level of the verdict's log line.
func (v Verdict) level() zerolog.Level {
	if v.text().debug {
		return zerolog.DebugLevel
	}
	return zerolog.InfoLevel
}

// Parse returns the verdict whose String is code. ok is false if there is none.
func Parse(code string) (v Verdict, ok bool) {
	i := slices.IndexFunc(texts[:], func(t text) bool { return t.code == code })
	return Verdict(max(i, 0)), i >= 0
}

// Advice that several verdicts share.
const (
	openPort      = "Allow UDP to the server's port in its firewall. Forward the port in the router, to the same number. In a container, use the host's network."
	OpenQueryPort = "Allow UDP to the server's query port in its firewall, and forward it in the router, to the same number."
	giveSecret    = "The operator can set the key: respawnd game add NAME --secret KEY."
	RemoveServers = "Stop servers that are not needed. "
	wrongPort     = "the server's packets arrive at a port that does not accept them: they are "
)

var texts = [...]text{
	Heard: {code: "heard", message: "server heard", debug: true, Explanation: Explanation{
		Cause: "a first packet arrived, and the server is being asked to prove its address",
		Good:  true,
	}},
	UnknownGame: {code: "unknown game", message: "server not listed: unknown game", Explanation: Explanation{
		Cause:  "this master does not know the game that the server reports",
		Advice: "Check the spelling of the game's name. The operator can add a game: respawnd game add NAME --secret KEY.",
	}},
	NoSecret: {code: "game without secret key", message: "server not listed: game without secret key", Explanation: Explanation{
		Cause:  "the game is known, but not its secret key, and no server can prove itself without it",
		Advice: giveSecret,
	}},
	ChallengeSent: {code: "challenge sent", message: "challenge sent", debug: true, Explanation: Explanation{
		Cause:  "a challenge was sent, and the answer has not arrived yet",
		Advice: "Wait a minute and a half. If nothing follows, replies do not reach the server: check its firewall and router.",
	}},
	NoAnswer: {code: "no answer", message: "server did not answer", Explanation: Explanation{
		Cause:  "a challenge was sent, and no answer arrived: the challenge or its answer is lost on the way, because a firewall or a router filters the server's port or rewrites it",
		Advice: openPort,
	}},
	WrongResponse: {code: "wrong response", message: "server not listed: wrong response to the challenge", Explanation: Explanation{
		Cause:  "the answer to the challenge was wrong: the server and this master have different secret keys for the game",
		Advice: "Check that the server runs the game that it reports. The operator can correct the key: respawnd game add NAME --secret KEY.",
	}},
	Banned: {code: "banned", message: "server not listed: address banned", Explanation: Explanation{
		Cause:  "the address is banned",
		Advice: "Ask the operator, who finds the reason with: respawnd ban list.",
	}},
	Limited: {code: "limited", message: "server limited: too many packets or pending servers", Explanation: Explanation{
		Cause:   "too many packets arrived from this address before it proved itself, or too many servers wait for their proof",
		Advice:  "Stop other programs that send from this address and wait a minute. The operator can raise unproved_rate of that service or add the network to net.trusted.",
		Lasting: "Stop other programs that send from this address. The operator can raise unproved_rate of that service or add the network to net.trusted.",
	}},
	ListFull: {code: "list full", message: "server not listed: list full", Explanation: Explanation{
		Cause:  "the list is full, or this is a mirror of another list",
		Advice: "The operator can raise master.max_servers. On a mirror, let the server report to the master that it mirrors.",
	}},
	TooManyHere: {code: "too many servers here", message: "server not listed: too many servers on its address or network", Explanation: Explanation{
		Cause:  "the list has the maximum of servers from this address or its network",
		Advice: RemoveServers + "The operator can raise master.max_per_addr and master.max_per_net.",
	}},
	Replaced: {code: "replaced by a newcomer", message: "server replaced: the list is nearly full", Explanation: Explanation{
		Cause:  "the list is nearly full, and the newest server of the address or network with the most servers was removed for one with fewer",
		Advice: RemoveServers + "The operator can raise master.max_servers or add the network to net.trusted.",
	}},
	Malformed: {code: "malformed heartbeat", message: "server not listed: unreadable report", Explanation: Explanation{
		Cause:  "the report cannot be read: it is cut off, too long, or of another protocol",
		Advice: "Check that the server's master port points here and at no other service. Shorten long names and message-of-the-day texts.",
	}},
	Listed: {code: "listed", message: "server listed", Explanation: Explanation{
		Cause: "the server proved itself and is in the list",
		Good:  true,
	}},
	Restored: {code: "restored", message: "server restored", debug: true, Explanation: Explanation{
		Cause:  "the server was listed before this master restarted, and has not reported since",
		Advice: "Wait a minute: its next report lists it again.",
		Good:   true,
	}},
	Left: {code: "left", message: "server left", Explanation: Explanation{
		Cause:  "the server reported that it shuts down",
		Advice: "Start it again if that was not intended.",
	}},
	Expired: {code: "expired", message: "server expired", Explanation: Explanation{
		Cause:  "the server was silent for too long and was removed from the list",
		Advice: "Check that it still runs and can send UDP to this master. A router that changes its port makes it look like another server.",
	}},
	Restarted: {code: "restarted", message: "server restarted", Explanation: Explanation{
		Cause: "the server was restarted, or another one uses its address now; its old entry was removed",
		Good:  true,
	}},
	Removed: {code: "removed", message: "server removed by an operator", Explanation: Explanation{
		Cause:  "an operator removed the server from the list",
		Advice: "Ask the operator.",
	}},
	Reachable: {code: "reachable", message: "server reachable", Explanation: Explanation{
		Cause: "the server answers addresses that it never sent to, so players can join it directly",
		Good:  true,
	}},
	Unreachable: {code: "not reachable from a new address", message: "server not reachable from a new address", Explanation: Explanation{
		Cause:  "the server is in the list, but did not answer a query from an address that it never sent to: it is behind a router or a firewall",
		Advice: "Players need NAT negotiation. Or forward the server's UDP port in the router and allow it in the firewall.",
	}},
	Asked: {code: "heartbeat taken, asked over A2S", message: "server heard, asked over A2S", debug: true, Explanation: Explanation{
		Cause: "the server's heartbeat was accepted, and the server is being queried over A2S",
		Good:  true,
	}},
	Unanswered: {code: "no answer to A2S queries", message: "server did not answer A2S queries", Explanation: Explanation{
		Cause:  "the server's heartbeats arrive, but it does not answer A2S queries: its query port is filtered or rewritten",
		Advice: OpenQueryPort,
	}},
	NeverAsked: {code: "not asked: no room, or an address that is never asked", message: "server not asked", Explanation: Explanation{
		Cause:  "the server is not queried: the limit of queried servers is reached, or its address is one that is never queried",
		Advice: "A server must report from the port that it answers on, 1024 or above. The operator can raise probe.max_servers.",
	}},
	Hidden: {code: "hidden: does not enforce the ban list", message: "server hidden: does not enforce the ban list", Explanation: Explanation{
		Cause:  "the server does not enforce this master's ban list and is therefore hidden",
		Advice: "Set sv_enforcemasterbanlist 1 on the server. The operator can show such servers: zanmaster.not_enforcing.",
	}},
	Outdated: {code: "server too old", message: "server not listed: version too old", Explanation: Explanation{
		Cause:  "the server's version cannot verify its address",
		Advice: "Update the server.",
	}},
	Blocked: {code: "blocked from hosting", message: "server not listed: blocked from hosting", Explanation: Explanation{
		Cause:  "the address may not host servers here",
		Advice: "Ask the operator, who finds the address in blocklist.txt.",
	}},
	NotAllowed: {code: "not on the allow list", message: "server not listed: not on the allow list", Explanation: Explanation{
		Cause:  "this is a private list, and the address is not on its allow list",
		Advice: "Ask the operator to add it to zanmaster.allow_servers.",
	}},
	Concealed: {code: "hidden by an operator", message: "server hidden by an operator", Explanation: Explanation{
		Cause:  "an operator hides the server from all lists",
		Advice: "Ask the operator, who can show it again: respawnd server unhide ADDRESS.",
	}},
	OnlyHere: {
		code:    "listed under an address that only this machine and its network reach",
		message: "server listed under an address that only this machine and its network reach",
		Explanation: Explanation{
			Cause:  "the server runs on the master's machine and is in the list, but players outside get an address that leads to their own machine",
			Advice: "The operator sets net.advertise_as to the address at which players reach this machine. Or start the server with a public address, so that it reports from there.",
		},
	},
	Advertised: {code: "listed under the advertised address", message: "server listed under the advertised address", Explanation: Explanation{
		Cause: "the server runs on the master's machine, and players outside now get the address of net.advertise_as",
		Good:  true,
	}},
	StaleChallenge: {code: "challenge out of date", message: "server not listed: challenge out of date", Explanation: Explanation{
		Cause:   "the heartbeat carries a challenge that expired or was given to another address or port: each is valid for one heartbeat within half a minute, and until this master restarts",
		Advice:  "Wait for the next heartbeat. If this repeats, packets are delayed on the way, or a router gives the server another port for each packet.",
		Lasting: "Packets are delayed on the way, or a router gives the server another port for each packet: forward the server's port in the router, to the same number.",
	}},
	KeepsQuiet: {code: "answers, but does not tell", message: "server refused to report its game", Explanation: Explanation{
		What:   "refusal",
		Cause:  "the server answers, but refuses to report its game, or answers for several servers at once",
		Advice: "Check its settings, and its address and protocol: respawnd query PROTOCOL HOST:PORT. It is queried again.",
	}},
	BansUs: {code: "bans this master's address", message: "server bans this master's address", Explanation: Explanation{
		What:   "refusal",
		Cause:  "the server answers that the address of this master is banned there",
		Advice: "Ask its operator to lift the ban. It is queried again.",
	}},
	AskedTooSoon: {code: "says that it was asked too soon", message: "server says that it was asked too soon", Explanation: Explanation{
		What:   "refusal",
		Cause:  "the server answers that another query came from this address too short a time before",
		Advice: "Look for other programs at this address that query the server. It is queried again; the operator can raise probe.every.",
	}},
	PerhapsReachable: {code: "probably direct", message: "server probably joined directly", Explanation: Explanation{
		Cause: "the server answers another port of this master; whether it answers addresses that it never sent to is unknown",
		Good:  true,
	}},
	Negotiated: {code: "reached by NAT negotiation", message: "server reached by NAT negotiation", Explanation: Explanation{
		Cause: "players reached the server by NAT negotiation",
		Good:  true,
	}},
	ReachedByRelay: {code: "reached through the relay", message: "server reached through the relay", Explanation: Explanation{
		Cause:  "the routers of the server and of a player prevent a direct connection, or may prevent it, and they play through the relay of this master",
		Advice: "Players reach it. To be reached directly, forward the server's UDP port in its router.",
		Good:   true,
	}},

	SpeaksQR2: {code: "wrong port: speaks GameSpy's protocol", message: "server not listed: speaks GameSpy's protocol to another port", elsewhere: true, Explanation: Explanation{
		What: "packet", Cause: wrongPort + "heartbeats of GameSpy's protocol (QR2)",
	}},
	SpeaksQR1: {code: "wrong port: speaks GameSpy's older protocol", message: "server not listed: speaks GameSpy's older protocol to another port", elsewhere: true, Explanation: Explanation{
		What: "packet", Cause: wrongPort + "heartbeats of GameSpy's older protocol (QR1)",
	}},
	SpeaksZandronum: {code: "wrong port: speaks Zandronum's protocol", message: "server not listed: speaks Zandronum's protocol to another port", elsewhere: true, Explanation: Explanation{
		What: "packet", Cause: wrongPort + "announcements of Zandronum's protocol",
	}},
	SpeaksValve: {code: "wrong port: speaks the protocol of Valve's master", message: "server not listed: speaks the protocol of Valve's master to another port", elsewhere: true, Explanation: Explanation{
		What: "packet", Cause: wrongPort + "of the protocol of Valve's master",
	}},
	SpeaksQuake3: {code: "wrong port: speaks Quake III's protocol", message: "server not listed: speaks Quake III's protocol to another port", elsewhere: true, Explanation: Explanation{
		What: "packet", Cause: wrongPort + "heartbeats of Quake III's protocol",
	}},
	SpeaksQuake2: {code: "wrong port: speaks Quake 2's protocol", message: "server not listed: speaks Quake 2's protocol to another port", elsewhere: true, Explanation: Explanation{
		What: "packet", Cause: wrongPort + "heartbeats of Quake 2's protocol",
	}},
	SpeaksQuakeWorld: {code: "wrong port: speaks QuakeWorld's protocol", message: "server not listed: speaks QuakeWorld's protocol to another port", elsewhere: true, Explanation: Explanation{
		What: "packet", Cause: wrongPort + "heartbeats of QuakeWorld's protocol",
	}},
	SpeaksCDKey: {code: "wrong port: checks CD keys", message: "packet dropped: check of CD keys", debug: true, Explanation: Explanation{
		What:   "packet",
		Cause:  "a check of a CD key arrived at a port that does not accept them",
		Advice: "This does not concern the list: a server that is missing from it sends no heartbeats here. Check its master address and port.",
	}},
	SpeaksOther: {code: "wrong port: speaks another protocol", message: "server not listed: speaks another protocol", Explanation: Explanation{
		What: "packet", Cause: wrongPort + "of the protocol of another master",
		Advice: "No open service of this daemon accepts them. Give the server a master of its own protocol, or ask the operator whether this one can open the service.",
	}},
	TooLong: {code: "packet too long", message: "server not listed: packet too long", Explanation: Explanation{
		What:   "packet",
		Cause:  "the server's packets arrive, but are longer than the longest report and are dropped",
		Advice: "Shorten long names, rules and message-of-the-day texts of the server, and check that its master port is right.",
	}},
	KeepaliveAlone: {code: "sign of life of a server that is not listed", message: "sign of life of a server that is not listed", debug: true, Explanation: Explanation{
		What:    "packet",
		Cause:   "a keepalive arrived from a server that is not in the list; only a heartbeat lists it",
		Advice:  "Wait a minute: the next heartbeat lists it. If none arrives, restart the server.",
		Lasting: "Its heartbeats do not arrive, which are longer: check that nothing on the way drops long or divided packets, and restart the server.",
	}},
	NotUnderstood: {code: "packet not understood", message: "packet not understood", debug: true, Explanation: Explanation{
		What:   "packet",
		Cause:  "packets arrive, but are of no known protocol, or are cut off",
		Advice: "Check that the server's master address and port are right, and that nothing else on its machine sends here.",
	}},

	SignedIn: {code: "signed in", message: "player signed in", Explanation: Explanation{
		Cause: "the name and the proof of the password are right",
		Good:  true,
	}},
	WrongPassword: {code: "wrong password", message: "sign-in refused: wrong password", Explanation: Explanation{
		Cause:  "the account exists, but its password is another one",
		Advice: "The page /account/reset sets another one, with a link from the operator: respawnd account reset-link EMAIL.",
	}},
	UnreadablePassword: {code: "password not readable", message: "sign-in refused: the password cannot be decrypted", Explanation: Explanation{
		Cause:  "the game encrypted the password with another key than that of this server: it has no patch, or that for another server or mode",
		Advice: "Patch the game as respawnd webservices key --explain says. webservices.rsa_mode must match the patch.",
	}},
	NoSuchAccount: {code: "no such account", message: "sign-in refused: no such account", Explanation: Explanation{
		Cause:  "no account or profile has that name or e-mail address, or it was deleted",
		Advice: "Check the spelling, and whether the account was created here: respawnd account list.",
	}},
	OtherNamespace: {code: "unique nick of another namespace", message: "sign-in refused: unique nick of another namespace", Explanation: Explanation{
		Cause:  "the unique nick exists, but not in the namespace that the game signs in with",
		Advice: "Add the unique nick in the game's namespace: the player on the page /account, the operator with: respawnd account create --game NAME. If only one other namespace has the nick, accounts.nick_fallback lets the player in.",
	}},
	BadTicket: {code: "ticket not good any more", message: "sign-in refused: ticket not valid any more", Explanation: Explanation{
		Cause:  "the ticket or token that the game kept is not valid: they end with the daemon, with a new password and with time",
		Advice: "Sign in with the password once.",
	}},
	NotKept: {code: "password not kept", message: "statistics refused: password not kept", Explanation: Explanation{
		Cause:  "the statistics service needs the password or CD key itself as proof, and only its digest is kept",
		Advice: "Sign in once on the page /account; the operator can set the password: respawnd account passwd EMAIL. A CD key has to be registered by the game again. Both are kept with accounts.keep_passwords only.",
	}},
	AccountBanned: {code: "account banned", message: "sign-in refused: account banned", Explanation: Explanation{
		Cause:  "the account is banned",
		Advice: "The operator can lift the ban: respawnd account unban EMAIL.",
	}},
	ServiceFull: {code: "too many players", message: "sign-in refused: too many players", Explanation: Explanation{
		Cause:  "the maximum number of players is signed in",
		Advice: "The operator can raise gpcm.max_conns.",
	}},
	NeverSignedIn: {code: "did not sign in in time", message: "connection closed: no sign-in in time", Explanation: Explanation{
		Cause:  "a client connected and did not sign in in time",
		Advice: "If it is a game, packets are lost on the way, or it waits for the player's password. The operator can raise gpcm.login_time.",
	}},
	AccountMade: {code: "account made", message: "account made", Explanation: Explanation{
		Cause: "an account, or a profile of one, was created",
		Good:  true,
	}},
	AccountRefused: {code: "account not made or changed", message: "account not made or changed", Explanation: Explanation{
		Cause:  "the name, the e-mail address or a value of the account is in use or against the rules; the game got the reason",
		Advice: "Choose others. The operator can look up existing ones: respawnd account list.",
	}},
	Met: {code: "reached the other player", message: "players reached each other", Explanation: Explanation{
		Cause: "two players reached each other",
		Good:  true,
	}},
	NotMet: {code: "did not reach the other player", message: "players did not reach each other", Explanation: Explanation{
		Cause:  "two players were introduced, and one or both could not reach the other",
		Advice: "Their routers prevent it. If they try again within 15 minutes they are relayed; if that fails too, check that relay.ports are open. With relay.first at its default few pairs fail before. The log has the kinds of routers.",
	}},
	Relayed: {code: "reached the other player through the relay", message: "players reached each other through the relay", Explanation: Explanation{
		Cause: "two players whose routers prevent a direct connection, or may prevent it, were relayed",
		Good:  true,
	}},
	Introduced: {code: "introduced, no report came", message: "players introduced, no report came", Explanation: Explanation{
		Cause: "two players were introduced and did not report the result; old games never do",
		Good:  true,
	}},
	Unconfirmed: {code: "introduced, not confirmed by both", message: "players introduced, not confirmed by both", Explanation: Explanation{
		Cause:  "two players were introduced, and one or both did not confirm it",
		Advice: "Replies do not reach them: check their firewalls.",
	}},
	NoPartner: {code: "the other player never came", message: "other player never came", Explanation: Explanation{
		Cause:  "no packets of the other player arrived",
		Advice: "Check that the other player's game finds natneg1 and natneg2 by name (respawnd hosts), and that no firewall on the way stops UDP 27901.",
	}},
	HalfWay: {code: "packets stopped half-way", message: "packets of a player stopped half-way", Explanation: Explanation{
		Cause:  "the packets of one player stopped in the middle of the negotiation",
		Advice: "A firewall or router of that player drops some of them, or the game was closed.",
	}},
	ListSent: {code: "list sent", message: "list sent", Explanation: Explanation{
		Cause: "the server browser got its list, which may be empty: its filter and its game decide that",
		Good:  true,
	}},
	ListUnread: {code: "list probably not read", message: "list probably not read: perhaps another secret key", Explanation: Explanation{
		Cause: "the server browser stayed connected after several lists, sent nothing and did not return the keepalives. " +
			"Probably it and this master have different secret keys for the browser's game: then it cannot read the list, and refreshes for ever",
		Advice: "If the list in the game stays empty, check which game it claims to be. The operator can correct the key: respawnd game add NAME --secret KEY. " +
			"Nothing needs to be done for a program that reads the list and returns no keepalives.",
	}},
	ListRead: {code: "list read", message: "list read: the server browser answers now", Explanation: Explanation{
		Cause: "the server browser answered after its list: it can read it, unlike the lists before",
		Good:  true,
	}},
	BadFilter: {code: "filter refused", message: "list refused: bad filter", Explanation: Explanation{
		Cause:  "the filter of the server browser is too expensive or cannot be parsed",
		Advice: "Clear its filters. The log at level debug has their text.",
	}},
	InChat: {code: "in chat", message: "player signed on to chat", Explanation: Explanation{
		Cause: "the client signed on to chat under a nick",
		Good:  true,
	}},
	ChatBanned: {code: "banned from chat", message: "player banned from chat", Explanation: Explanation{
		Cause:  "an operator banned the player or the address from chat, or from the room",
		Advice: "Ask the operator, who finds the reason with: respawnd chat bans.",
	}},
	ChatMuted: {code: "muted in chat", message: "player muted in chat", Explanation: Explanation{
		Cause:  "an operator lets the player or the address read only, in chat or in the room",
		Advice: "Ask the operator, who finds the reason with: respawnd chat bans.",
	}},
	KeyAccepted: {code: "key accepted", message: "CD key accepted", debug: true, Explanation: Explanation{
		Cause: "the CD key of the last player was accepted",
		Good:  true,
	}},
	KeyUnknown: {code: "key unknown", message: "CD key refused: unknown", Explanation: Explanation{
		Cause:  "the product's mode is strict (cdkey.mode), and the CD key of a player was not added",
		Advice: "The operator can add the key, or accept all of the product with cdkey.products: respawnd cdkey add --product N KEY.",
	}},
	KeyWrong: {code: "key not proved", message: "CD key refused: wrong response", Explanation: Explanation{
		Cause:  "a player's game sent the hash of a known CD key, but its response to the server was not made with that key",
		Advice: "Enter the key again, with the same capitals and dashes as the operator added it.",
	}},
	KeyInUse: {code: "key in use", message: "CD key refused: in use", Explanation: Explanation{
		Cause:  "another game server proved that a player with the same CD key is on it",
		Advice: "Leave the other server, or use another key. The key is free as soon as its player has left.",
	}},
	KeyBanned: {code: "key banned", message: "CD key refused: banned", Explanation: Explanation{
		Cause:  "the CD key of a player is banned",
		Advice: "The operator finds the reason with respawnd cdkey list and lifts it: respawnd cdkey unban --product N KEY.",
	}},
	DataTooLarge: {code: "data too large", message: "data of a player refused: too large", Explanation: Explanation{
		Cause:  "a game tried to store more for a player than is allowed",
		Advice: "The operator can raise gstats.max_block and gstats.max_per_profile.",
	}},
	MalformedRequest: {code: "malformed request", message: "request refused: unreadable", Explanation: Explanation{
		Cause:  "the request cannot be read: it is cut off, too long, or of another protocol",
		Advice: "Check that the program is a game of this service, and that the port is the one of the service.",
	}},
	UnknownRequest: {code: "unknown request", message: "request for something that is not here", debug: true, Explanation: Explanation{
		Cause:  "the game asked for something that this server does not have",
		Advice: "If the game does not work, report its name and its request to the makers of this program.",
	}},
	FileUploaded: {code: "file uploaded", message: "file uploaded", Explanation: Explanation{
		Cause: "a file of the player was stored",
		Good:  true,
	}},
	UploadUnproved: {code: "upload refused: not signed in", message: "upload refused: not signed in", Explanation: Explanation{
		Cause:  "a game uploaded a file for a profile that is not signed in from this address and has shown no ticket from it",
		Advice: "Sign in with the game first. If the game signs in from another address than it uploads from, the operator can set webservices.unproved_uploads.",
	}},
	UploadTooLarge: {code: "upload refused: too large", message: "upload refused: too large", Explanation: Explanation{
		Cause:  "the file, or all files of the player or of the service, would exceed a limit",
		Advice: "The operator sees the files with respawnd files list, and can delete some, or raise webservices.file_size, player_files, player_file_size, max_files or max_file_space.",
	}},
	UploadFailed: {code: "upload refused", message: "upload refused", Explanation: Explanation{
		Cause:  "the upload was cut off, had no file or several, or named no profile or no known game",
		Advice: "Try again. If it is cut off each time, restart the game: its network library announces wrong lengths after it has reported a match.",
	}},
	StorageRefused: {code: "records refused", message: "request about records refused", debug: true, Explanation: Explanation{
		Cause:  "a request of the game about its stored records was refused",
		Advice: "SecretKeyInvalid: add the game's secret. TableNotFound: declare the table in the games file. RecordLimitReached: see section webservices.",
	}},
	SearchTooLarge: {code: "search too large", message: "search in records refused", debug: true, Explanation: Explanation{
		Cause:  "a search in stored records looked at more of them than one search may",
		Advice: "Raise webservices.scan_records if the game needs such searches.",
	}},
	RecordsLeftOut: {code: "records left out", message: "records left out of a reply", debug: true, Explanation: Explanation{
		Cause:  "more records matched a request of the game than one reply may have, 1000 records or 4 MiB, so it lacks the last ones",
		Advice: "Games that ask in steps get them all. For others, see the records with respawnd sake show and delete old ones, or lower webservices.records_per_owner.",
	}},
	BadCertificate: {code: "certificate refused", message: "certificate of a player refused", Explanation: Explanation{
		Cause:  "the game sent a certificate or a proof of its player that is not valid",
		Advice: "Sign in again: certificates expire, and those that were issued before webservices.key_file changed are not valid.",
	}},
	MatchRefused: {code: "match refused", message: "report of a match refused", Explanation: Explanation{
		Cause:  "a request of the game about a match was refused",
		Advice: "A session ends some time after its last use. If the report is invalid each time, report the game to the makers of this program.",
	}},
	QuickWaiting: {code: "waits for a match", message: "player waits for a quick match", Explanation: Explanation{
		Cause: "the game searches for a quick match, and no waiting player fits yet",
		Good:  true,
	}},
	QuickMatched: {code: "quick match", message: "player got a quick match", Explanation: Explanation{
		Cause: "the game was sent a quick match; the players now connect to each other",
		Good:  true,
	}},
	QuickRefused: {code: "search refused", message: "search for a quick match refused", Explanation: Explanation{
		Cause:  "the game searched for a quick match with a message that cannot be read",
		Advice: "The log at level debug has it: report it to the makers of this program.",
	}},
	RoundCounted: {code: "round counted", message: "round of a game server counted", Explanation: Explanation{
		Cause: "the game server sent the results of a round, which are in the totals of its players",
		Good:  true,
	}},
	RoundNotListed: {code: "round refused: server not listed", message: "round of a game server refused: not listed", Explanation: Explanation{
		Cause:  "a game server sent the results of a round, but rounds of its address do not count",
		Advice: "If it is your server, or one that you trust, add its address to webservices.snapshot_servers.",
	}},
	RoundRefused: {code: "round refused", message: "round of a game server refused", Explanation: Explanation{
		Cause:  "a game server sent the results of a round, which could not be read or stored",
		Advice: "The server keeps the list on its disk, from where it can be sent again. If it is refused each time, report the scripts of the server to the makers of this program.",
	}},
	UnlockUnproved: {code: "choice refused: not signed in", message: "choice of a weapon refused: not signed in", Explanation: Explanation{
		Cause:  "a weapon was to be chosen for a player who is not signed in from this address",
		Advice: "Sign in with the game first, from the same address.",
	}},
	ConsoleTested: {code: "connection tested", message: "console tested its connection", debug: true, Explanation: Explanation{
		Cause:  "a console of Nintendo tested its connection, and the test passed",
		Advice: "If no sign-in follows when a game goes online, the game asks over https and insists on a certificate of the maker of the console: it needs a patch to http.",
		Good:   true,
	}},
	ConsoleSignedIn: {code: "console signed in", message: "console signed in", Explanation: Explanation{
		Cause: "a console of Nintendo signed in with its user id",
		Good:  true,
	}},
	ConsoleRefused: {code: "new console refused", message: "sign-in refused: new console", Explanation: Explanation{
		Cause:  "a console of Nintendo that has no account here signed in, and new ones are not accepted",
		Advice: "The operator can accept them: webservices.nas_new_consoles.",
	}},
	PortSame: {code: "port kept", message: "NAT helper: port kept", debug: true, Explanation: Explanation{
		Cause: "the game asked how its port looks from outside, and the router of the player had not changed it",
		Good:  true,
	}},
	PortChanged: {code: "port changed", message: "NAT helper: port changed", debug: true, Explanation: Explanation{
		Cause:  "the game asked how its port looks from outside, and the router of the player had changed it",
		Advice: "If matches do not start, forward the UDP ports of the game in the router, or play behind another one: the router may use another port for each partner.",
	}},
}
