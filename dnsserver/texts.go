package dnsserver

import "github.com/respawnd/respawnd/internal/verdicts"

// These texts of verdicts are for clients that look up host names.
var _ = verdicts.Speak("dns", verdicts.Speaker{What: "DNS question", Player: true, Texts: map[verdicts.Verdict]verdicts.Explanation{
	verdicts.Banned: {Cause: "the address is banned from signing in"},
	verdicts.Limited: {
		Cause:  "too many questions came from this address",
		Advice: "Wait a moment. The operator can raise dns.rate and dns.burst or add the network to net.trusted.",
	},
	verdicts.NotAllowed: {
		Cause:  "the name service answers private networks and those of dns.allow, and the address is in neither",
		Advice: "Ask the operator to add the network to dns.allow, or use the hosts file of the game's page.",
	},
	verdicts.MalformedRequest: {
		Cause:  "the question cannot be read, or is an answer",
		Advice: "Check that a DNS client sends here, over UDP or TCP without encryption.",
	},
	verdicts.TooLong: {
		What:   "DNS question",
		Cause:  "the question is longer than the longest one",
		Advice: "Check that a DNS client sends here, over UDP or TCP without encryption.",
	},
}})
