package probe

import "github.com/respawnd/respawnd/internal/verdicts"

const checkNamed = "Check that it runs, and its address, port and protocol: respawnd query PROTOCOL HOST:PORT. It is queried again, less and less often."

// These texts of verdicts are for servers that do not report and are queried.
var _ = verdicts.Speak("probe", verdicts.Speaker{What: "answer to a query", Texts: map[verdicts.Verdict]verdicts.Explanation{
	verdicts.UnknownGame: {
		Cause:  "the game that the server reports cannot be listed",
		Advice: "The operator can add it: respawnd game add NAME, or raise probe.max_games.",
	},
	verdicts.Banned: {What: "nothing", Cause: "the address is banned, so the server is neither asked nor listed"},
	verdicts.Listed: {Cause: "the server answers and is in the list"},
	verdicts.Left: {
		Cause:  "the server was removed from the watch list",
		Advice: "Register it again, or ask the operator to add it.",
	},
	verdicts.Expired: {
		What:   "nothing",
		Cause:  "the server did not answer several queries in a row and was removed from the list",
		Advice: "Check that it still runs and that its query port is open. It is queried again.",
	},
	verdicts.NoAnswer: {
		What:   "nothing",
		Cause:  "an operator added the server, and it does not answer: it does not run, speaks another protocol, or its query port is filtered",
		Advice: checkNamed,
	},
	verdicts.Unanswered: {
		What:   "nothing",
		Cause:  "an operator added the server, and it does not answer A2S queries: it does not run, speaks another protocol, or its query port is filtered",
		Advice: checkNamed,
	},
	verdicts.TooLong: {
		What:   "answer to a query",
		Cause:  "the server's answer has more packets or bytes than are accepted",
		Advice: "Shorten long names, rules and message-of-the-day texts of the server. It is queried again, less and less often.",
	},
	verdicts.NeverAsked: {
		What:   "nothing",
		Cause:  "an operator added the server, and it is not queried: its address is one that is never queried, such as one of respawnd's own",
		Advice: "The operator can add it under another address, or remove it: respawnd server remove HOST:PORT, servers.static.",
	},
}})
