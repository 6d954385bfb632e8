package verdicts

// The services that players deal with. Their verdicts are about people and not
// about servers, so they belong into a book of their own, which they cannot
// crowd out of the other, and on no page that strangers see.
const (
	serviceSignIn   = "gpcm"
	serviceAccounts = "gpsp"
	serviceNATNeg   = "natneg"
	serviceBrowsing = "serverbrowse"
	serviceOldLists = "legacylist"
)

// OfPlayer reports whether a service notes what players did and not servers.
func OfPlayer(service string) bool {
	switch service {
	case serviceSignIn, serviceAccounts, serviceNATNeg, serviceBrowsing, serviceOldLists:
		return true
	}
	return false
}

// whatOfPlayer names what players send to a service.
func whatOfPlayer(service string) string {
	switch service {
	case serviceNATNeg:
		return "NAT negotiation"
	case serviceAccounts:
		return "request for an account"
	case serviceBrowsing, serviceOldLists:
		return "request for a list"
	}
	return "sign-in"
}

// playerReasons returns the words for verdicts that only players get.
func playerReasons(v Verdict) Explanation {
	switch v {
	case SignedIn:
		return Explanation{Cause: "the name and the proof of the password are right", Good: true}
	case AccountMade:
		return Explanation{Cause: "an account, or a profile of one, was made", Good: true}
	case AccountRefused:
		return Explanation{
			Cause:  "the name, the e-mail or a value of the account is taken or against the rules; the player was told which",
			Advice: "Choose others. The operator can look at what there is: respawnd account list.",
		}
	case WrongPassword:
		return Explanation{
			Cause:  "the account is there, the password is another",
			Advice: "The player can change it on the page /account, the operator with: respawnd account passwd EMAIL.",
		}
	case NoSuchAccount:
		return Explanation{
			Cause:  "no account or profile has that name or e-mail, or it was deleted",
			Advice: "Check the spelling, and whether the account was made here: respawnd account list.",
		}
	case BadTicket:
		return Explanation{
			Cause:  "the ticket or token that the game kept is not good: they end with the daemon, with a new password and with time",
			Advice: "Sign in with the password once.",
		}
	case AccountBanned:
		return Explanation{
			Cause:  "the account is banned",
			Advice: "The operator can lift it: respawnd account unban EMAIL.",
		}
	case ServiceFull:
		return Explanation{
			Cause:  "as many players are signed in as may be",
			Advice: "The operator can raise gpcm.max_conns.",
		}
	case NeverSignedIn:
		return Explanation{
			Cause:  "somebody connected and did not sign in in time",
			Advice: "If it is a game, packets are lost on the way, or it asks for its password meanwhile. The operator can raise gpcm.login_time.",
		}
	case ListSent:
		return Explanation{Cause: "the server browser got its list, which may be empty: its filter and its game decide that", Good: true}
	case BadFilter:
		return Explanation{
			Cause:  "what the server browser wants of servers is too much work or not understood",
			Advice: "Clear its filters. The log at level debug has their text.",
		}
	default:
		return negotiationReasons(v)
	}
}

// negotiationReasons returns the words for how the introduction of two players
// ended.
func negotiationReasons(v Verdict) Explanation {
	switch v {
	case Met:
		return Explanation{Cause: "two players reached each other", Good: true}
	case NotMet:
		return Explanation{
			Cause:  "both players came and were introduced, and one or both could not reach the other",
			Advice: "Their routers do not let them: one of the two has to forward the game's UDP port. The log names the kinds of routers.",
		}
	case Introduced:
		return Explanation{Cause: "two players were introduced and did not tell how it ended; old games never do", Good: true}
	case Unconfirmed:
		return Explanation{
			Cause:  "two players were introduced, and one or both did not confirm it",
			Advice: "Replies do not reach them: look at their firewalls.",
		}
	case NoPartner:
		return Explanation{
			Cause:  "the other player never came",
			Advice: "His packets do not arrive here. Check that his game finds natneg1 and natneg2 by name (respawnd hosts), and that no firewall on the way stops UDP 27901.",
		}
	case HalfWay:
		return Explanation{
			Cause:  "the packets of one player stopped half-way",
			Advice: "His firewall or router drops some of them, or his game was closed.",
		}
	default:
		return Explanation{Cause: "nothing more is known"}
	}
}

// listReasons returns the words for who asks for lists, x if they are those of
// all.
func listReasons(v Verdict, x Explanation) Explanation {
	switch v {
	case UnknownGame:
		x.Cause = "this master does not know the game that the browser asks about, or says that it is"
	case NoSecret:
		x.Cause = "the game of the browser is known, but not its secret key, without which it cannot read a list"
	case WrongResponse:
		x.Cause = "the browser has another secret key for its game than this master"
		x.Advice = "Check which game it says that it is. The operator can correct the key: respawnd game add NAME --secret KEY."
	case Banned:
		x.Cause = "the address is banned from the lists"
	case Limited:
		x.Cause = "too many connections came from this address at once, or more lists were asked for on one connection than the service gives"
		x.Advice = "Wait a moment between two lists. The operator can raise max_per_addr of that service or add the network to net.trusted."
	case Malformed:
		x.Cause = "the request makes no sense: it is cut off, too long, or of another protocol"
		x.Advice = "Check that the game's master port points here and at no other service."
	default:
	}
	return x
}

// visitReasons returns the words for verdicts that servers get too, x if they are
// those of all.
func visitReasons(v Verdict, x Explanation) Explanation {
	switch v {
	case Banned:
		x.Cause = "the address is banned from signing in"
	case Limited:
		x.Cause = "too many connections, wrong passwords or requests came from this address, or for this account"
		x.Advice = "Wait some minutes. The operator can raise gpcm.max_per_addr or gpsp.max_per_addr, or add the network to net.trusted."
	case Malformed:
		x.Cause = "the request makes no sense: it is cut off, too long, or of another protocol"
		x.Advice = "Check that the game's sign-in and search ports point at the right services."
	default:
	}
	return x
}
