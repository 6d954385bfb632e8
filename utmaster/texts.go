package utmaster

import "github.com/respawnd/respawnd/internal/verdicts"

// These texts of verdicts are for game servers that keep a connection and are probed.
var _ = verdicts.Speak("utmaster", verdicts.Speaker{What: "connection of a game server", Texts: map[verdicts.Verdict]verdicts.Explanation{
	verdicts.UnknownGame: {
		Cause:  "no game of the catalogue has the version and the role with which the server signs in",
		Advice: "The operator finds both in the log at level debug, and can add them: key epic of a games file.",
	},
	verdicts.NoAnswer: {
		Cause:  "the server is connected, but none of its ports answered: they are filtered or rewritten",
		Advice: "Forward the game's UDP port, the next one and the tenth after it to the server, and allow them in its firewall. It is asked again with each report. The operator can list such servers: utmaster.list_unproved.",
	},
	verdicts.TooManyHere: {Advice: verdicts.RemoveServers + "The operator can raise utmaster.servers_per_addr, master.max_per_addr and master.max_per_net."},
	verdicts.Malformed: {
		Cause:  "a message of the server cannot be read, so that its connection was closed",
		Advice: "The log at level debug has its first bytes. Shorten long names of the server; it connects again.",
	},
	verdicts.TooLong:   {Cause: "a message of the server is too long, so that its connection was closed"},
	verdicts.Left:      {Cause: "the connection of the server ended"},
	verdicts.Expired:   {Cause: "the server sent nothing on its connection for too long, and was removed from the list", Advice: "Check that it still runs. It connects again."},
	verdicts.Restarted: {Cause: "the server has a new connection, which took the place of this one"},
	verdicts.KeyBanned: {
		Cause:  "the server signs in with a CD key that is banned",
		Advice: "Ask the operator, who finds the key with: respawnd cdkey list.",
	},
}})

// Browsers are clients of the same service, and verdicts on them are about players.
var _ = verdicts.Speak(browserName, verdicts.Speaker{What: "request for a list", Player: true, Texts: verdicts.ListTexts})
