package qr2

import "github.com/respawnd/respawnd/internal/verdicts"

// These texts of verdicts are for servers of the text protocol, which are queried and
// have no challenge.
var _ = verdicts.Speak("qr1", verdicts.Speaker{Texts: map[verdicts.Verdict]verdicts.Explanation{
	verdicts.NoAnswer: {
		Cause:  "the server was asked for its status, and no answer arrived: its query port is filtered or rewritten",
		Advice: verdicts.OpenQueryPort,
	},
	verdicts.Expired: {Cause: "the server did not answer its queries for too long and was removed from the list"},
}})
