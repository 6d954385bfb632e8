package verdicts

// Explanation puts a verdict into words for whoever runs the server.
type Explanation struct {
	// What came: "heartbeat", "registration".
	What string
	// Cause says what happened and what that means.
	Cause string
	// Advice says what to do now. Empty: nothing has to be done.
	Advice string
	// Good means that this is no reason for a server to be missing.
	Good bool
}

// The services whose verdicts read differently.
const (
	serviceZandronum = "zanmaster"
	serviceText      = "qr1"
	serviceLAN       = "lan"
	serviceProbe     = "probe"
)

// nothing is what came of a server that says nothing by itself and was asked, or
// could not be.
const nothing = "nothing"

// Explain puts the verdict into words. They hold nothing that a stranger sent.
func (e Entry) Explain() Explanation {
	x := reasons(e.Verdict)
	if packet := packetReasons(e.Verdict, e.Port); packet.Cause != "" {
		x = packet
	}
	switch e.Service {
	case serviceZandronum:
		x = zandronumReasons(e.Verdict, x)
	case serviceProbe:
		x = askedReasons(e.Verdict, x)
	case serviceText:
		x = textReasons(e.Verdict, x)
	case serviceSignIn, serviceAccounts, serviceNATNeg:
		x = visitReasons(e.Verdict, x)
	case serviceBrowsing, serviceOldLists:
		x = listReasons(e.Verdict, x)
	}
	if x.What == "" {
		x.What = what(e.Service)
	}
	return x
}

// what names what servers send to a service.
func what(service string) string {
	switch service {
	case serviceZandronum:
		return "registration"
	case serviceLAN:
		return "answer on the local network"
	case serviceProbe:
		return "answer to a query"
	case serviceSignIn, serviceAccounts, serviceNATNeg, serviceBrowsing, serviceOldLists:
		return whatOfPlayer(service)
	}
	return "heartbeat"
}

// reasons returns the words for a verdict, as they are right for most services.
func reasons(v Verdict) Explanation {
	switch v {
	case Heard:
		return Explanation{
			Cause: "the server was heard for the first time and is being asked to prove its address",
			Good:  true,
		}
	case UnknownGame:
		return Explanation{
			Cause:  "this master does not know the game that the server reports",
			Advice: "Check the spelling of the game's name. The operator can add a game: respawnd game add NAME --secret KEY.",
		}
	case NoSecret:
		return Explanation{
			Cause:  "the game is known, but not its secret key, and without that no server can prove itself",
			Advice: "The operator can give the key: respawnd game add NAME --secret KEY.",
		}
	case ChallengeSent:
		return Explanation{
			Cause:  "a challenge was sent, and its answer has not come yet",
			Advice: "Wait half a minute. If nothing follows, replies do not reach the server: look at its firewall and router.",
		}
	case NoAnswer:
		return Explanation{
			Cause:  "a challenge was sent, no answer came: the port is filtered or rewritten on the way back",
			Advice: "Allow UDP to the server's port in its firewall. Forward the port in the router, to the same number. In a container, use the host's network.",
		}
	case WrongResponse:
		return Explanation{
			Cause:  "the answer to the challenge was wrong: the server and this master have different secret keys for the game",
			Advice: "Check that the server runs the game that it names. The operator can correct the key: respawnd game add NAME --secret KEY.",
		}
	case Banned:
		return Explanation{
			Cause:  "the address is banned here",
			Advice: "Ask the operator, who sees why with: respawnd ban list.",
		}
	case Limited:
		return Explanation{
			Cause:  "too many packets came from this address before it proved itself, or too many servers are waiting at once",
			Advice: "Stop what else sends from this address and wait a minute. The operator can raise unproved_rate of that service or add the network to net.trusted.",
		}
	case ListFull:
		return Explanation{
			Cause:  "the list has as many servers as it may have",
			Advice: "The operator can raise master.max_servers.",
		}
	case TooManyHere:
		return Explanation{
			Cause:  "this address or its network has as many servers in the list as it may have",
			Advice: "Stop servers that are not needed. The operator can raise master.max_per_addr and master.max_per_net.",
		}
	case Replaced:
		return Explanation{
			Cause:  "the list is nearly full, and the newest server of the address or network with the most servers made room for one with fewer",
			Advice: "Stop servers that are not needed. The operator can raise master.max_servers or add the network to net.trusted.",
		}
	case Malformed:
		return Explanation{
			Cause:  "the report cannot be read: it is cut off, too long, or of another protocol",
			Advice: "Check that the server's master port points here and at no other service. Shorten long names and message-of-the-day texts.",
		}
	case Listed:
		return Explanation{Cause: "the server proved itself and is in the list", Good: true}
	case Restored:
		return Explanation{
			Cause:  "the server was listed before this master restarted and has not been heard since",
			Advice: "Wait a minute: its next report lists it again.",
			Good:   true,
		}
	case Left:
		return Explanation{
			Cause:  "the server said that it shuts down",
			Advice: "Start it again if that was not meant.",
		}
	case Expired:
		return Explanation{
			Cause:  "the server was silent for too long and left the list",
			Advice: "Check that it still runs and can send UDP to this master. A router that changes its port makes it look like another server.",
		}
	case Restarted:
		return Explanation{
			Cause: "the server was started again, or another one took over its address; its old entry is gone",
			Good:  true,
		}
	case Removed:
		return Explanation{
			Cause:  "an operator took the server off the list",
			Advice: "Ask the operator.",
		}
	case Concealed:
		return Explanation{
			Cause:  "an operator keeps the server out of what the list shows",
			Advice: "Ask the operator, who can show it again: respawnd server unhide ADDRESS.",
		}
	case OnlyHere:
		return Explanation{
			Cause:  "the server runs on the master's own machine and is in the list, but players outside are given an address that leads to their own machine",
			Advice: "The operator sets net.advertise_as to the address under which players reach this machine. Or start the server with a public address, so that it reports from there.",
		}
	case Advertised:
		return Explanation{
			Cause: "the server runs on the master's own machine, and players outside are given the address of net.advertise_as now",
			Good:  true,
		}
	case StaleChallenge:
		return Explanation{
			Cause:  "the heartbeat carries a challenge that is over, or that was given to another address or port: one is good for one heartbeat, within half a minute, and ends when this master restarts",
			Advice: "Wait for the next heartbeat. If this comes again and again, packets are held up on the way, or a router gives the server another port for each.",
		}
	case Reachable:
		return Explanation{Cause: "the server answers players that it never talked to", Good: true}
	case PerhapsReachable:
		return Explanation{
			Cause: "the server answers another port of this master; whether it answers players that it never talked to is not known",
			Good:  true,
		}
	case Negotiated:
		return Explanation{Cause: "players got to the server by NAT negotiation", Good: true}
	case Unreachable:
		return Explanation{
			Cause:  "the server is in the list, but did not answer a query from a new address: it is behind a router or a firewall",
			Advice: "Players need NAT negotiation, or forward the server's UDP port in the router and allow it in the firewall.",
		}
	case Hidden:
		return Explanation{
			Cause:  "the server does not enforce this master's ban list and is therefore hidden",
			Advice: "Set sv_enforcemasterbanlist 1 on the server. The operator can show such servers: zanmaster.not_enforcing.",
		}
	case Outdated:
		return Explanation{
			Cause:  "the server's version does not know the verification of addresses",
			Advice: "Update the server.",
		}
	case Blocked:
		return Explanation{
			Cause:  "the address may not host servers here",
			Advice: "Ask the operator, who finds it in blocklist.txt.",
		}
	case NotAllowed:
		return Explanation{
			Cause:  "this is a private list, and the address is not on its allow list",
			Advice: "Ask the operator to add it to zanmaster.allow_servers.",
		}
	case Asked:
		return Explanation{
			Cause: "the server's heartbeat was taken, and the server is being asked what it plays (A2S)",
			Good:  true,
		}
	case Unanswered:
		return Explanation{
			Cause:  "the server's heartbeats arrive, but it does not answer A2S queries: its query port is filtered or rewritten",
			Advice: "Allow UDP to the server's query port in its firewall, and forward it in the router, to the same number.",
		}
	case NeverAsked:
		return Explanation{
			Cause:  "the server is not asked what it plays: there is no room for more, or its address is one that is never asked",
			Advice: "A server must report from the port that it answers on, 1024 or above. The operator can raise probe.max_servers.",
		}
	case KeepsQuiet, BansUs, AskedTooSoon:
		return deniedReasons(v)
	default:
		return playerReasons(v)
	}
}

// deniedReasons returns the words for servers that an operator named, that answer
// and do not tell what they play.
func deniedReasons(v Verdict) Explanation {
	x := Explanation{What: "a refusal"}
	switch v {
	case BansUs:
		x.Cause = "the server answers that the address of this master is banned there"
		x.Advice = "Ask its operator to lift the ban. It is asked again."
	case AskedTooSoon:
		x.Cause = "the server answers that it was asked too soon after another query from this address"
		x.Advice = "Look for other programs at this address that query the server. It is asked again; the operator can raise probe.every."
	default:
		x.Cause = "the server answers, but refuses to tell what it plays, or answers for several servers at once"
		x.Advice = "Check its settings, and its address and protocol: respawnd query PROTOCOL HOST:PORT. It is asked again."
	}
	return x
}

// textReasons returns the words for servers of the text protocol, x if they are
// those of all.
func textReasons(v Verdict, x Explanation) Explanation {
	switch v {
	case NoAnswer:
		x.Cause = "the server was asked for its status, no answer came: its query port is filtered or rewritten"
		x.Advice = "Allow UDP to the server's query port in its firewall, and forward it in the router, to the same number."
	case Expired:
		x.Cause = "the server did not answer its queries for too long and left the list"
	default:
	}
	return x
}

// askedReasons returns the words for servers that report nothing and are asked, x
// if they are those of all.
func askedReasons(v Verdict, x Explanation) Explanation {
	switch v {
	case UnknownGame:
		x.Cause = "the game that the server names is none that can be listed"
		x.Advice = "The operator can add it: respawnd game add NAME, or raise probe.max_games."
	case Listed:
		x.Cause = "the server answers and is in the list"
	case Left:
		x.Cause = "nobody wants the server asked any more"
		x.Advice = "Register it again, or ask the operator to add it."
	case Expired:
		x.What = nothing
		x.Cause = "the server did not answer several queries in a row and left the list"
		x.Advice = "Check that it still runs and that its query port is open. It is asked again."
	case NoAnswer, Unanswered:
		x.What = nothing
		x.Cause = "an operator named the server, and it does not answer: it does not run, speaks another protocol, or its query port is filtered"
		if v == Unanswered {
			x.Cause = "an operator named the server, and it does not answer A2S queries: it does not run, speaks another protocol, or its query port is filtered"
		}
		x.Advice = "Check that it runs, and its address, port and protocol: respawnd query PROTOCOL HOST:PORT. It is asked again, ever more rarely."
	case NeverAsked:
		x.What = nothing
		x.Cause = "an operator named the server, and it is not asked: its address is one that is never asked, such as one of respawnd's own"
		x.Advice = "The operator can name it by another address, or take it off: respawnd server remove HOST:PORT, servers.static."
	default:
	}
	return x
}

// zandronumReasons returns the words for Zandronum's own way of registering, x
// if they are those of all.
func zandronumReasons(v Verdict, x Explanation) Explanation {
	switch v {
	case WrongResponse:
		x.Cause = "the server sent back another number than it was given: something else answers on its port"
		x.Advice = "Check that one server alone uses this port."
	case Limited:
		x.Advice = "Wait a minute. The operator can raise zanmaster.unproved_rate or add the network to net.trusted."
	case TooManyHere:
		x.Advice = "Stop servers that are not needed. The operator can raise zanmaster.servers_per_address or name the address in multiserver_whitelist.txt."
	case NoAnswer:
		x.Cause = "a verification was sent, no answer came: the port is filtered or rewritten on the way back"
	case Malformed:
		x.Cause = "the registration cannot be read"
		x.Advice = "Check that masterhostname points here (and -masterport, unless this master's port is 15300), and that the server's version is a current one."
	case Expired:
		x.Advice = "Check that it still runs, that sv_updatemaster is 1, and that it can send UDP to this master."
	case Banned:
		x.Advice = "Ask the operator, who finds it in banlist.txt or with: respawnd ban list."
	default:
	}
	return x
}
