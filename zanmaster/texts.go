package zanmaster

import "github.com/respawnd/respawnd/internal/verdicts"

// These texts of verdicts are for Zandronum's own way of registering.
var _ = verdicts.Speak("zanmaster", verdicts.Speaker{What: "registration", Texts: map[verdicts.Verdict]verdicts.Explanation{
	verdicts.WrongResponse: {
		Cause:  "the server returned another number than the one that it was sent: another program answers on its port",
		Advice: "Check that one server alone uses this port.",
	},
	verdicts.Limited: {
		Advice:  "Wait a minute. The operator can raise zanmaster.unproved_rate or add the network to net.trusted.",
		Lasting: "Stop other servers and programs on its address. The operator can raise zanmaster.unproved_rate or add the network to net.trusted.",
	},
	verdicts.TooManyHere: {Advice: verdicts.RemoveServers + "The operator can raise zanmaster.servers_per_address or add the address to multiserver_whitelist.txt."},
	verdicts.NoAnswer:    {Cause: "a verification was sent, and no answer arrived: the port is filtered or rewritten on the way back"},
	verdicts.Malformed: {
		Cause:  "the registration cannot be read",
		Advice: "Check that masterhostname points here (and -masterport, unless this master's port is 15300), and that the server's version is a current one.",
	},
	verdicts.Expired: {Advice: "Check that it still runs, that sv_updatemaster is 1, and that it can send UDP to this master."},
	verdicts.Banned:  {Advice: "Ask the operator, who finds the reason in banlist.txt or with: respawnd ban list."},
}})
