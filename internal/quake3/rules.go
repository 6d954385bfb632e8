package quake3

import (
	"iter"
	"strconv"
)

// Names of rules that a master adds to the record of a server.
const (
	RuleGame = "q3game" // name of the game in the protocol
	RuleTag  = "q3tag"  // tag of its heartbeats
)

// Names of rules that Rules translates to.
const (
	RuleName       = "hostname"
	RuleMap        = "mapname"
	RuleGameType   = "gametype"
	RuleProtocol   = "protocol"
	RulePlayers    = "numplayers"
	RuleMaxPlayers = "maxplayers"
	RuleBots       = "numbots"
	RulePassword   = "password"
	RuleVersion    = "gamever"
)

// ruleOf returns the name of a key among rules, "" for one that is none.
func ruleOf(key []byte) string {
	switch string(key) {
	case "challenge":
		return ""
	case "sv_hostname", "hostname":
		return RuleName
	case "g_gametype", "gametype":
		return RuleGameType
	case "clients":
		return RulePlayers
	case "sv_maxclients":
		return RuleMaxPlayers
	case "g_needpass", "needpass":
		return RulePassword
	case "bots":
		return RuleBots
	case "version":
		return RuleVersion
	default:
		return string(key)
	}
}

// Rules returns the pairs of an infoResponse or statusResponse under the names that
// other protocols have for them, without the challenge. The number of bots follows
// if the pairs include the number of human players.
func Rules(pairs iter.Seq2[[]byte, []byte]) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		clients, humans := 0, -1
		for key, value := range pairs {
			name := ruleOf(key)
			switch {
			case name == "":
				continue
			case name == RulePlayers:
				clients = number(value)
			case string(key) == "g_humanplayers":
				humans = number(value)
			}
			if !yield(name, string(value)) {
				return
			}
		}
		if humans >= 0 && humans <= clients {
			yield(RuleBots, strconv.Itoa(clients-humans))
		}
	}
}
