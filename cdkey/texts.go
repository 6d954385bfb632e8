package cdkey

import "github.com/respawnd/respawnd/internal/verdicts"

// These texts of verdicts are for game servers that ask whether a CD key is good.
var _ = verdicts.Speak("cdkey", verdicts.Speaker{What: "CD key check", Player: true, Texts: map[verdicts.Verdict]verdicts.Explanation{
	verdicts.MalformedRequest: {Advice: "Check that the server's port for CD keys points here and at no other service."},
	verdicts.Banned:           {Cause: "the address is banned from asking for CD keys"},
	verdicts.Limited: {
		Cause:  "too many CD keys were asked for from this address",
		Advice: "The operator can raise cdkey.rate and cdkey.burst or add the network to net.trusted.",
	},
}})
