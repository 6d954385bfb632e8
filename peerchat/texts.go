package peerchat

import "github.com/respawnd/respawnd/internal/verdicts"

// These texts of verdicts are for players who sign on to chat.
var _ = verdicts.Speak("peerchat", verdicts.Speaker{What: "chat sign-on", Player: true, Texts: map[verdicts.Verdict]verdicts.Explanation{
	verdicts.Banned: {
		Cause:  "the address is banned from signing in, or banned from chat like the player",
		Advice: "Ask the operator, who finds the reason with: respawnd ban list, or respawnd chat bans.",
	},
	verdicts.UnknownGame: {
		Cause:  "the client enciphers with the key of a game that is not known here, or has no key",
		Advice: "The operator can add the key: respawnd game add NAME --secret KEY.",
	},
	verdicts.Limited: {
		Cause:  "too many connections came from this address, or its lines came too fast for too long",
		Advice: "Wait a minute. The operator can raise peerchat.max_per_addr, peerchat.rate or peerchat.pace_per_addr, or add the network to net.trusted.",
	},
	verdicts.ServiceFull:      {Cause: "the maximum number of clients is connected", Advice: "The operator can raise peerchat.max_conns."},
	verdicts.NeverSignedIn:    {Cause: "a client connected and did not sign on in time", Advice: "If it is a game, packets are lost on the way. The operator can raise peerchat.login_time."},
	verdicts.MalformedRequest: {Advice: "Check that the program is a game or an IRC client, without TLS."},
}})
