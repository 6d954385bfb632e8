package ssq

import "github.com/respawnd/respawnd/internal/verdicts"

// These texts of verdicts are for clients that query the list with Standard Server Queries.
var _ = verdicts.Speak("ssq", verdicts.Speaker{What: "query", Player: true, Texts: map[verdicts.Verdict]verdicts.Explanation{
	verdicts.Banned: {Cause: "the address is banned from the lists"},
	verdicts.Limited: {
		Cause:  "the address used up its budget of answers, or tried too many passwords",
		Advice: "Ask less often, or for fewer columns. The operator can raise ssq.bytes_per_addr and ssq.bytes_per_net or add the network to net.trusted.",
	},
	verdicts.MalformedRequest: {
		Cause:  "the query cannot be read, lacks some of its packets, or is shorter than the proof of the address that answers it",
		Advice: "Check that the client sends Standard Server Queries to this port, and fills up short ones as the protocol demands.",
	},
	verdicts.TooLong: {
		What:   "query",
		Cause:  "the query is longer than the longest one",
		Advice: "Ask for fewer columns and conditions at once.",
	},
}})
