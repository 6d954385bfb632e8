package natneg

import "github.com/respawnd/respawnd/internal/verdicts"

// These texts of verdicts are for players who negotiate with others.
var _ = verdicts.Speak("natneg", verdicts.Speaker{What: "NAT negotiation", Player: true, Texts: map[verdicts.Verdict]verdicts.Explanation{
	verdicts.Banned: {Cause: "the address is banned from signing in"},
	verdicts.Limited: {
		Cause:  "too many packets came from this address",
		Advice: "Wait some minutes. The operator can raise natneg.rate or add the network to net.trusted.",
	},
	verdicts.MalformedRequest: {
		Cause:  "packets of a NAT negotiation arrive, but cannot be read: they are cut off, or of a version that is not known here",
		Advice: "Check that no router or firewall changes or divides UDP packets. If the game never gets through, report it to the makers of this program.",
	},
	verdicts.NotUnderstood: {
		Cause:  "packets arrive at the port of the NAT negotiation, but are of another protocol",
		Advice: "Check the ports of the program that sends them: the game's servers and sign-in use others.",
	},
}})
