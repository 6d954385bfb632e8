package zandronum

// Game is the name of the game in the catalogue and in the list of servers.
const Game = "zandronum"

// Rules that the master writes into the record of a server. A package that adds
// the server's own rules must keep them.
const (
	// RuleEnforces is "1" if the server claims to enforce the ban list.
	RuleEnforces = "enforcesbanlist"
	// RuleRevision is the revision that the server announced.
	RuleRevision = "revision"
	// RuleWarning is a text for the readers of the list.
	RuleWarning = "warning"
)
