package lan

import "github.com/respawnd/respawnd/internal/verdicts"

// These texts of verdicts are for servers on the local network, which are queried there.
var _ = verdicts.Speak("lan", verdicts.Speaker{What: "answer on the local network", Texts: map[verdicts.Verdict]verdicts.Explanation{
	verdicts.NotUnderstood: {
		What:   "answer on the local network",
		Cause:  "the server answers the query to its port, but the answer cannot be read, or is of another protocol",
		Advice: "Check that no other program uses the game's query port. The operator can add the server with its protocol: respawnd server add.",
	},
}})
