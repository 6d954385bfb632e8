package gstats

import "github.com/respawnd/respawnd/internal/verdicts"

// These texts of verdicts are for games that keep data of players and report matches.
var _ = verdicts.Speak("gstats", verdicts.Speaker{What: "statistics", Player: true, Texts: map[verdicts.Verdict]verdicts.Explanation{
	verdicts.UnknownGame: {
		Cause:  "a game that is not known here connected to the statistics service",
		Advice: "The operator can add it: respawnd game add NAME --secret KEY.",
	},
	verdicts.NoSecret: {Cause: "the game is known, but not its secret key, and it cannot prove itself without it", Advice: "The operator can set the key: respawnd game add NAME --secret KEY."},
	verdicts.WrongResponse: {
		Cause:  "the game and this service have different secret keys",
		Advice: "Check which game it claims to be. The operator can correct the key: respawnd game add NAME --secret KEY.",
	},
	verdicts.Banned: {Cause: "the address is banned from signing in"},
	verdicts.Limited: {
		Cause:  "too many connections or wrong passwords came from this address, or for this account",
		Advice: "Wait some minutes. The operator can raise gstats.max_per_addr and gstats.rate, or add the network to net.trusted.",
	},
	verdicts.ServiceFull:      {Cause: "the maximum number of games is connected", Advice: "The operator can raise gstats.max_conns."},
	verdicts.NeverSignedIn:    {Cause: "a client connected and did not prove in time that it is a game", Advice: "If it is a game, packets are lost on the way. The operator can raise gstats.login_time."},
	verdicts.MalformedRequest: {Advice: "Check that the game's statistics host and port point here."},
}})
