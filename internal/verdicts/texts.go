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

// texts are those of all verdicts.
var texts []text

// declare makes a verdict, quiet one whose log line has the level debug, and misplaced one on packets that belong to
// another service.
func declare(code, message string, x Explanation) Verdict {
	texts = append(texts, text{code: code, message: message, Explanation: x})
	return Verdict(len(texts) - 1)
}

func quiet(code, message string, x Explanation) Verdict {
	v := declare(code, message, x)
	texts[v].debug = true
	return v
}

func misplaced(code, message string, x Explanation) Verdict {
	v := declare(code, message, x)
	texts[v].elsewhere = true
	return v
}

// because is the explanation of what went wrong and what to do.
func because(cause, advice string) Explanation { return Explanation{Cause: cause, Advice: advice} }

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
	i := slices.IndexFunc(texts, func(t text) bool { return t.code == code })
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

// The verdicts. Their words appear in log lines, on the status page and in the
// admin API; programs compare them, so they do not change.
var (
	Heard = quiet("heard", "server heard",
		Explanation{Good: true, Cause: "a first packet arrived, and the server is being asked to prove its address"})
	UnknownGame = declare("unknown game", "server not listed: unknown game",
		because("this master does not know the game that the server reports",
			"Check the spelling of the game's name. The operator can add a game: respawnd game add NAME --secret KEY."))
	NoSecret = declare("game without secret key", "server not listed: game without secret key",
		because("the game is known, but not its secret key, and no server can prove itself without it",
			giveSecret))
	ChallengeSent = quiet("challenge sent", "challenge sent",
		because("a challenge was sent, and the answer has not arrived yet",
			"Wait a minute and a half. If nothing follows, replies do not reach the server: check its firewall and router."))
	NoAnswer = declare("no answer", "server did not answer",
		because("a challenge was sent, and no answer arrived: the challenge or its answer is lost on the way, because a firewall or a router filters the server's port or rewrites it",
			openPort))
	WrongResponse = declare("wrong response", "server not listed: wrong response to the challenge",
		because("the answer to the challenge was wrong: the server and this master have different secret keys for the game",
			"Check that the server runs the game that it reports. The operator can correct the key: respawnd game add NAME --secret KEY."))
	Banned = declare("banned", "server not listed: address banned",
		because("the address is banned",
			"Ask the operator, who finds the reason with: respawnd ban list."))
	Limited = declare("limited", "server limited: too many packets or pending servers",
		Explanation{
			Cause:   "too many packets arrived from this address before it proved itself, or too many servers wait for their proof",
			Advice:  "Stop other programs that send from this address and wait a minute. The operator can raise unproved_rate of that service or add the network to net.trusted.",
			Lasting: "Stop other programs that send from this address. The operator can raise unproved_rate of that service or add the network to net.trusted.",
		})
	ListFull = declare("list full", "server not listed: list full",
		because("the list is full, or this is a mirror of another list",
			"The operator can raise master.max_servers. On a mirror, let the server report to the master that it mirrors."))
	TooManyHere = declare("too many servers here", "server not listed: too many servers on its address or network",
		because("the list has the maximum of servers from this address or its network",
			RemoveServers+"The operator can raise master.max_per_addr and master.max_per_net."))
	Replaced = declare("replaced by a newcomer", "server replaced: the list is nearly full",
		because("the list is nearly full, and the newest server of the address or network with the most servers was removed for one with fewer",
			RemoveServers+"The operator can raise master.max_servers or add the network to net.trusted."))
	Malformed = declare("malformed heartbeat", "server not listed: unreadable report",
		because("the report cannot be read: it is cut off, too long, or of another protocol",
			"Check that the server's master port points here and at no other service. Shorten long names and message-of-the-day texts."))
	Listed = declare("listed", "server listed",
		Explanation{Good: true, Cause: "the server proved itself and is in the list"})
	Restored = quiet("restored", "server restored",
		Explanation{
			Good: true, Cause: "the server was listed before this master restarted, and has not reported since",
			Advice: "Wait a minute: its next report lists it again.",
		})
	Left = declare("left", "server left",
		because("the server reported that it shuts down",
			"Start it again if that was not intended."))
	Expired = declare("expired", "server expired",
		because("the server was silent for too long and was removed from the list",
			"Check that it still runs and can send UDP to this master. A router that changes its port makes it look like another server."))
	Restarted = declare("restarted", "server restarted",
		Explanation{Good: true, Cause: "the server was restarted, or another one uses its address now; its old entry was removed"})
	Removed = declare("removed", "server removed by an operator",
		because("an operator removed the server from the list",
			"Ask the operator."))
	Reachable = declare("reachable", "server reachable",
		Explanation{Good: true, Cause: "the server answers addresses that it never sent to, so players can join it directly"})
	Unreachable = declare("not reachable from a new address", "server not reachable from a new address",
		because("the server is in the list, but did not answer a query from an address that it never sent to: it is behind a router or a firewall",
			"Players need NAT negotiation. Or forward the server's UDP port in the router and allow it in the firewall."))
	Asked = quiet("heartbeat taken, asked over A2S", "server heard, asked over A2S",
		Explanation{Good: true, Cause: "the server's heartbeat was accepted, and the server is being queried over A2S"})
	Unanswered = declare("no answer to A2S queries", "server did not answer A2S queries",
		because("the server's heartbeats arrive, but it does not answer A2S queries: its query port is filtered or rewritten",
			OpenQueryPort))
	NeverAsked = declare("not asked: no room, or an address that is never asked", "server not asked",
		because("the server is not queried: the limit of queried servers is reached, or its address is one that is never queried",
			"A server must report from the port that it answers on, 1024 or above. The operator can raise probe.max_servers."))
	Hidden = declare("hidden: does not enforce the ban list", "server hidden: does not enforce the ban list",
		because("the server does not enforce this master's ban list and is therefore hidden",
			"Set sv_enforcemasterbanlist 1 on the server. The operator can show such servers: zanmaster.not_enforcing."))
	Outdated = declare("server too old", "server not listed: version too old",
		because("the server's version cannot verify its address",
			"Update the server."))
	Blocked = declare("blocked from hosting", "server not listed: blocked from hosting",
		because("the address may not host servers here",
			"Ask the operator, who finds the address in blocklist.txt."))
	NotAllowed = declare("not on the allow list", "server not listed: not on the allow list",
		because("this is a private list, and the address is not on its allow list",
			"Ask the operator to add it to zanmaster.allow_servers."))
	Concealed = declare("hidden by an operator", "server hidden by an operator",
		because("an operator hides the server from all lists",
			"Ask the operator, who can show it again: respawnd server unhide ADDRESS."))
	OnlyHere = declare("listed under an address that only this machine and its network reach", "server listed under an address that only this machine and its network reach",
		because("the server runs on the master's machine and is in the list, but players outside get an address that leads to their own machine",
			"The operator sets net.advertise_as to the address at which players reach this machine. Or start the server with a public address, so that it reports from there."))
	Advertised = declare("listed under the advertised address", "server listed under the advertised address",
		Explanation{Good: true, Cause: "the server runs on the master's machine, and players outside now get the address of net.advertise_as"})
	StaleChallenge = declare("challenge out of date", "server not listed: challenge out of date",
		Explanation{
			Cause:   "the heartbeat carries a challenge that expired or was given to another address or port: each is valid for one heartbeat within half a minute, and until this master restarts",
			Advice:  "Wait for the next heartbeat. If this repeats, packets are delayed on the way, or a router gives the server another port for each packet.",
			Lasting: "Packets are delayed on the way, or a router gives the server another port for each packet: forward the server's port in the router, to the same number.",
		})
	KeepsQuiet = declare("answers, but does not tell", "server refused to report its game",
		Explanation{
			What: "refusal", Cause: "the server answers, but refuses to report its game, or answers for several servers at once",
			Advice: "Check its settings, and its address and protocol: respawnd query PROTOCOL HOST:PORT. It is queried again.",
		})
	BansUs = declare("bans this master's address", "server bans this master's address",
		Explanation{
			What: "refusal", Cause: "the server answers that the address of this master is banned there",
			Advice: "Ask its operator to lift the ban. It is queried again.",
		})
	AskedTooSoon = declare("says that it was asked too soon", "server says that it was asked too soon",
		Explanation{
			What: "refusal", Cause: "the server answers that another query came from this address too short a time before",
			Advice: "Look for other programs at this address that query the server. It is queried again; the operator can raise probe.every.",
		})
	PerhapsReachable = declare("probably direct", "server probably joined directly",
		Explanation{Good: true, Cause: "the server answers another port of this master; whether it answers addresses that it never sent to is unknown"})
	Negotiated = declare("reached by NAT negotiation", "server reached by NAT negotiation",
		Explanation{Good: true, Cause: "players reached the server by NAT negotiation"})
	ReachedByRelay = declare("reached through the relay", "server reached through the relay",
		Explanation{
			Good: true, Cause: "the routers of the server and of a player prevent a direct connection, or may prevent it, and they play through the relay of this master",
			Advice: "Players reach it. To be reached directly, forward the server's UDP port in its router.",
		})

	// Verdicts on packets that a service drops.
	SpeaksQR2 = misplaced("wrong port: speaks GameSpy's protocol", "server not listed: speaks GameSpy's protocol to another port",
		Explanation{What: "packet", Cause: wrongPort + "heartbeats of GameSpy's protocol (QR2)"})
	SpeaksQR1 = misplaced("wrong port: speaks GameSpy's older protocol", "server not listed: speaks GameSpy's older protocol to another port",
		Explanation{What: "packet", Cause: wrongPort + "heartbeats of GameSpy's older protocol (QR1)"})
	SpeaksCDKey = quiet("wrong port: checks CD keys", "packet dropped: check of CD keys",
		Explanation{
			What: "packet", Cause: "a check of a CD key arrived at a port that does not accept them",
			Advice: "This does not concern the list: a server that is missing from it sends no heartbeats here. Check its master address and port.",
		})
	SpeaksZandronum = misplaced("wrong port: speaks Zandronum's protocol", "server not listed: speaks Zandronum's protocol to another port",
		Explanation{What: "packet", Cause: wrongPort + "announcements of Zandronum's protocol"})
	SpeaksValve = misplaced("wrong port: speaks the protocol of Valve's master", "server not listed: speaks the protocol of Valve's master to another port",
		Explanation{What: "packet", Cause: wrongPort + "of the protocol of Valve's master"})
	SpeaksQuake3 = misplaced("wrong port: speaks Quake III's protocol", "server not listed: speaks Quake III's protocol to another port",
		Explanation{What: "packet", Cause: wrongPort + "heartbeats of Quake III's protocol"})
	SpeaksQuake2 = misplaced("wrong port: speaks Quake 2's protocol", "server not listed: speaks Quake 2's protocol to another port",
		Explanation{What: "packet", Cause: wrongPort + "heartbeats of Quake 2's protocol"})
	SpeaksQuakeWorld = misplaced("wrong port: speaks QuakeWorld's protocol", "server not listed: speaks QuakeWorld's protocol to another port",
		Explanation{What: "packet", Cause: wrongPort + "heartbeats of QuakeWorld's protocol"})
	TooLong = declare("packet too long", "server not listed: packet too long",
		Explanation{
			What: "packet", Cause: "the server's packets arrive, but are longer than the longest report and are dropped",
			Advice: "Shorten long names, rules and message-of-the-day texts of the server, and check that its master port is right.",
		})
	KeepaliveAlone = quiet("sign of life of a server that is not listed", "sign of life of a server that is not listed",
		Explanation{
			What: "packet", Cause: "a keepalive arrived from a server that is not in the list; only a heartbeat lists it",
			Advice:  "Wait a minute: the next heartbeat lists it. If none arrives, restart the server.",
			Lasting: "Its heartbeats do not arrive, which are longer: check that nothing on the way drops long or divided packets, and restart the server.",
		})
	NotUnderstood = quiet("packet not understood", "packet not understood",
		Explanation{
			What: "packet", Cause: "packets arrive, but are of no known protocol, or are cut off",
			Advice: "Check that the server's master address and port are right, and that nothing else on its machine sends here.",
		})

	// Verdicts on players, see OfPlayer.
	SignedIn = declare("signed in", "player signed in",
		Explanation{Good: true, Cause: "the name and the proof of the password are right"})
	WrongPassword = declare("wrong password", "sign-in refused: wrong password",
		because("the account exists, but its password is another one",
			"The page /account/reset sets another one, with a link from the operator: respawnd account reset-link EMAIL."))
	UnreadablePassword = declare("password not readable", "sign-in refused: the password cannot be decrypted",
		because("the game encrypted the password with another key than that of this server: it has no patch, or that for another server or mode",
			"Patch the game as respawnd webservices key --explain says. webservices.rsa_mode must match the patch."))
	NoSuchAccount = declare("no such account", "sign-in refused: no such account",
		because("no account or profile has that name or e-mail address, or it was deleted",
			"Check the spelling, and whether the account was created here: respawnd account list."))
	OtherNamespace = declare("unique nick of another namespace", "sign-in refused: unique nick of another namespace",
		because("the unique nick exists, but not in the namespace that the game signs in with",
			"Add the unique nick in the game's namespace: the player on the page /account, the operator with: respawnd account create --game NAME. If only one other namespace has the nick, accounts.nick_fallback lets the player in."))
	BadTicket = declare("ticket not good any more", "sign-in refused: ticket not valid any more",
		because("the ticket or token that the game kept is not valid: they end with the daemon, with a new password and with time",
			"Sign in with the password once."))
	NotKept = declare("password not kept", "statistics refused: password not kept",
		because("the statistics service needs the password or CD key itself as proof, and only its digest is kept",
			"Sign in once on the page /account; the operator can set the password: respawnd account passwd EMAIL. A CD key has to be registered by the game again. Both are kept with accounts.keep_passwords only."))
	AccountBanned = declare("account banned", "sign-in refused: account banned",
		because("the account is banned",
			"The operator can lift the ban: respawnd account unban EMAIL."))
	ServiceFull = declare("too many players", "sign-in refused: too many players",
		because("the maximum number of players is signed in",
			"The operator can raise gpcm.max_conns."))
	NeverSignedIn = declare("did not sign in in time", "connection closed: no sign-in in time",
		because("a client connected and did not sign in in time",
			"If it is a game, packets are lost on the way, or it waits for the player's password. The operator can raise gpcm.login_time."))
	AccountMade = declare("account made", "account made",
		Explanation{Good: true, Cause: "an account, or a profile of one, was created"})
	AccountRefused = declare("account not made or changed", "account not made or changed",
		because("the name, the e-mail address or a value of the account is in use or against the rules; the game got the reason",
			"Choose others. The operator can look up existing ones: respawnd account list."))
	Met = declare("reached the other player", "players reached each other",
		Explanation{Good: true, Cause: "two players reached each other"})
	NotMet = declare("did not reach the other player", "players did not reach each other",
		because("two players were introduced, and one or both could not reach the other",
			"Their routers prevent it. If they try again within 15 minutes they are relayed; if that fails too, check that relay.ports are open. With relay.first at its default few pairs fail before. The log has the kinds of routers."))
	Relayed = declare("reached the other player through the relay", "players reached each other through the relay",
		Explanation{Good: true, Cause: "two players whose routers prevent a direct connection, or may prevent it, were relayed"})
	Introduced = declare("introduced, no report came", "players introduced, no report came",
		Explanation{Good: true, Cause: "two players were introduced and did not report the result; old games never do"})
	Unconfirmed = declare("introduced, not confirmed by both", "players introduced, not confirmed by both",
		because("two players were introduced, and one or both did not confirm it",
			"Replies do not reach them: check their firewalls."))
	NoPartner = declare("the other player never came", "other player never came",
		because("no packets of the other player arrived",
			"Check that the other player's game finds natneg1 and natneg2 by name (respawnd hosts), and that no firewall on the way stops UDP 27901."))
	HalfWay = declare("packets stopped half-way", "packets of a player stopped half-way",
		because("the packets of one player stopped in the middle of the negotiation",
			"A firewall or router of that player drops some of them, or the game was closed."))
	ListSent = declare("list sent", "list sent",
		Explanation{Good: true, Cause: "the server browser got its list, which may be empty: its filter and its game decide that"})
	BadFilter = declare("filter refused", "list refused: bad filter",
		because("the filter of the server browser is too expensive or cannot be parsed",
			"Clear its filters. The log at level debug has their text."))
	InChat = declare("in chat", "player signed on to chat",
		Explanation{Good: true, Cause: "the client signed on to chat under a nick"})
	ChatBanned = declare("banned from chat", "player banned from chat",
		because("an operator banned the player or the address from chat, or from the room",
			"Ask the operator, who finds the reason with: respawnd chat bans."))
	ChatMuted = declare("muted in chat", "player muted in chat",
		because("an operator lets the player or the address read only, in chat or in the room",
			"Ask the operator, who finds the reason with: respawnd chat bans."))
	KeyAccepted = quiet("key accepted", "CD key accepted",
		Explanation{Good: true, Cause: "the CD key of the last player was accepted"})
	KeyUnknown = declare("key unknown", "CD key refused: unknown",
		because("the product's mode is strict (cdkey.mode), and the CD key of a player was not added",
			"The operator can add the key, or accept all of the product with cdkey.products: respawnd cdkey add --product N KEY."))
	KeyWrong = declare("key not proved", "CD key refused: wrong response",
		because("a player's game sent the hash of a known CD key, but its response to the server was not made with that key",
			"Enter the key again, with the same capitals and dashes as the operator added it."))
	KeyInUse = declare("key in use", "CD key refused: in use",
		because("another game server proved that a player with the same CD key is on it",
			"Leave the other server, or use another key. The key is free as soon as its player has left."))
	KeyBanned = declare("key banned", "CD key refused: banned",
		because("the CD key of a player is banned",
			"The operator finds the reason with respawnd cdkey list and lifts it: respawnd cdkey unban --product N KEY."))
	DataTooLarge = declare("data too large", "data of a player refused: too large",
		because("a game tried to store more for a player than is allowed",
			"The operator can raise gstats.max_block and gstats.max_per_profile."))
	UnknownRequest = quiet("unknown request", "request for something that is not here",
		because("the game asked for something that this server does not have",
			"If the game does not work, report its name and its request to the makers of this program."))
	MalformedRequest = declare("malformed request", "request refused: unreadable",
		because("the request cannot be read: it is cut off, too long, or of another protocol",
			"Check that the program is a game of this service, and that the port is the one of the service."))
	FileUploaded = declare("file uploaded", "file uploaded",
		Explanation{Good: true, Cause: "a file of the player was stored"})
	UploadUnproved = declare("upload refused: not signed in", "upload refused: not signed in",
		because("a game uploaded a file for a profile that is not signed in from this address and has shown no ticket from it",
			"Sign in with the game first. If the game signs in from another address than it uploads from, the operator can set webservices.unproved_uploads."))
	UploadTooLarge = declare("upload refused: too large", "upload refused: too large",
		because("the file, or all files of the player or of the service, would exceed a limit",
			"The operator sees the files with respawnd files list, and can delete some, or raise webservices.file_size, player_files, player_file_size, max_files or max_file_space."))
	UploadFailed = declare("upload refused", "upload refused",
		because("the upload was cut off, had no file or several, or named no profile or no known game",
			"Try again. If it is cut off each time, restart the game: its network library announces wrong lengths after it has reported a match."))
	StorageRefused = quiet("records refused", "request about records refused",
		because("a request of the game about its stored records was refused",
			"SecretKeyInvalid: add the game's secret. TableNotFound: declare the table in the games file. RecordLimitReached: see section webservices."))
	SearchTooLarge = quiet("search too large", "search in records refused",
		because("a search in stored records looked at more of them than one search may",
			"Raise webservices.scan_records if the game needs such searches."))
	RecordsLeftOut = quiet("records left out", "records left out of a reply",
		because("more records matched a request of the game than one reply may have, 1000 records or 4 MiB, so it lacks the last ones",
			"Games that ask in steps get them all. For others, see the records with respawnd sake show and delete old ones, or lower webservices.records_per_owner."))
	BadCertificate = declare("certificate refused", "certificate of a player refused",
		because("the game sent a certificate or a proof of its player that is not valid",
			"Sign in again: certificates expire, and those that were issued before webservices.key_file changed are not valid."))
	MatchRefused = declare("match refused", "report of a match refused",
		because("a request of the game about a match was refused",
			"A session ends some time after its last use. If the report is invalid each time, report the game to the makers of this program."))
	PortSame = quiet("port kept", "NAT helper: port kept",
		Explanation{Good: true, Cause: "the game asked how its port looks from outside, and the router of the player had not changed it"})
	PortChanged = quiet("port changed", "NAT helper: port changed",
		because("the game asked how its port looks from outside, and the router of the player had changed it",
			"If matches do not start, forward the UDP ports of the game in the router, or play behind another one: the router may use another port for each partner."))
	QuickWaiting = declare("waits for a match", "player waits for a quick match",
		Explanation{Good: true, Cause: "the game searches for a quick match, and no waiting player fits yet"})
	QuickMatched = declare("quick match", "player got a quick match",
		Explanation{Good: true, Cause: "the game was sent a quick match; the players now connect to each other"})
	QuickRefused = declare("search refused", "search for a quick match refused",
		because("the game searched for a quick match with a message that cannot be read",
			"The log at level debug has it: report it to the makers of this program."))
	RoundCounted = declare("round counted", "round of a game server counted",
		Explanation{Good: true, Cause: "the game server sent the results of a round, which are in the totals of its players"})
	RoundNotListed = declare("round refused: server not listed", "round of a game server refused: not listed",
		because("a game server sent the results of a round, but rounds of its address do not count",
			"If it is your server, or one that you trust, add its address to webservices.snapshot_servers."))
	RoundRefused = declare("round refused", "round of a game server refused",
		because("a game server sent the results of a round, which could not be read or stored",
			"The server keeps the list on its disk, from where it can be sent again. If it is refused each time, report the scripts of the server to the makers of this program."))
	UnlockUnproved = declare("choice refused: not signed in", "choice of a weapon refused: not signed in",
		because("a weapon was to be chosen for a player who is not signed in from this address",
			"Sign in with the game first, from the same address."))
	ConsoleTested = quiet("connection tested", "console tested its connection",
		Explanation{
			Good: true, Cause: "a console of Nintendo tested its connection, and the test passed",
			Advice: "If no sign-in follows when a game goes online, the game asks over https and insists on a certificate of the maker of the console: it needs a patch to http.",
		})
	ConsoleSignedIn = declare("console signed in", "console signed in",
		Explanation{Good: true, Cause: "a console of Nintendo signed in with its user id"})
	ConsoleRefused = declare("new console refused", "sign-in refused: new console",
		because("a console of Nintendo that has no account here signed in, and new ones are not accepted",
			"The operator can accept them: webservices.nas_new_consoles."))
	ListUnread = declare("list probably not read", "list probably not read: perhaps another secret key",
		Explanation{
			Cause: "the server browser stayed connected after several lists, sent nothing and did not return the keepalives. " +
				"Probably it and this master have different secret keys for the browser's game: then it cannot read the list, and refreshes for ever",
			Advice: "If the list in the game stays empty, check which game it claims to be. The operator can correct the key: respawnd game add NAME --secret KEY. " +
				"Nothing needs to be done for a program that reads the list and returns no keepalives.",
		})
	ListRead = declare("list read", "list read: the server browser answers now",
		Explanation{Good: true, Cause: "the server browser answered after its list: it can read it, unlike the lists before"})
	VersionAsked = quiet("asked for a newer version", "game asked for a newer version",
		Explanation{Good: true, Cause: "the game asked whether there is a newer version than its own"})
	SpeaksOther = declare("wrong port: speaks another protocol", "server not listed: speaks another protocol",
		Explanation{
			What: "packet", Cause: wrongPort + "of the protocol of another master",
			Advice: "No open service of this daemon accepts them. Give the server a master of its own protocol, or ask the operator whether this one can open the service.",
		})
)
