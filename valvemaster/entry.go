package valvemaster

import (
	"net/netip"
	"strconv"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/master"
)

// The rules of a record that lists use, as package probe writes them for A2S
// servers. Hidden tags are not part of A2S; some servers send them as a rule.
const (
	ruleName       = "hostname"
	ruleMap        = "mapname"
	ruleGameDir    = "gamename"
	ruleAppID      = master.RuleAppID
	ruleVersion    = "gamever"
	rulePlayers    = "numplayers"
	ruleMaxPlayers = "maxplayers"
	ruleBots       = "numbots"
	ruleType       = master.RuleServerType
	ruleOS         = "os" // linux, windows or mac
	rulePassword   = "password"
	ruleSecure     = "secure"
	ruleTags       = "keywords"
	ruleHidden     = "gamedata"
)

// maxText bounds the bytes of a name that filters look at.
const maxText = 256

// entry is a server of the list with the values for filters, in lower case. It
// is immutable.
type entry struct {
	record              *master.Server // that it was made from
	addr                netip.AddrPort
	regions             regions
	flags               flag
	players, maxPlayers int // without bots
	appID               uint64
	gameDir, mapName    string
	tags, hidden        string
	name, version       []byte
}

// newEntry returns the entry of a record; ok is false if it is not for
// browsers. said is the region of its heartbeat.
func newEntry(srv *master.Server, said byte) (e *entry, ok bool) {
	if !srv.Public.Addr().Is4() || srv.Public == Start || !srv.SpeaksA2S() {
		return nil, false
	}
	get := func(rule string) string {
		v, _ := srv.Rules.Get(rule)
		return ascii.ToLower(v[:min(len(v), maxText)])
	}
	e = &entry{
		record:     srv,
		addr:       srv.Public,
		regions:    regionsOf(said, srv.Country, srv.Region),
		players:    max(number(get(rulePlayers))-number(get(ruleBots)), 0),
		maxPlayers: number(get(ruleMaxPlayers)),
		gameDir:    get(ruleGameDir),
		mapName:    get(ruleMap),
		tags:       get(ruleTags),
		hidden:     get(ruleHidden),
		name:       []byte(get(ruleName)),
		version:    []byte(get(ruleVersion)),
	}
	e.appID, _ = strconv.ParseUint(get(ruleAppID), 10, 64)
	set := func(f flag, on bool) {
		if on {
			e.flags |= f
		}
	}
	set(flagDedicated, get(ruleType) == "dedicated")
	set(flagProxy, get(ruleType) == "proxy")
	set(flagLinux, get(ruleOS) == "linux")
	set(flagPassword, get(rulePassword) == "1")
	set(flagSecure, get(ruleSecure) == "1")
	set(flagVouched, srv.Origin == master.Static)
	return e, true
}

func number(text string) int {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}
