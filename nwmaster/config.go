package nwmaster

import "github.com/respawnd/respawnd/internal/uplink"

// Values of Config.Accounts.
const (
	// Open admits all players, but the name of an account needs its password.
	Open = "open"
	// Strict admits only players with an account here.
	Strict = "strict"
	// Off admits all players.
	Off = "off"
)

// Config is section nwmaster of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address. Neverwinter Nights expects port 5121. The port of Neverwinter Nights 2,
	// 6121, is opened at the same distance from this one.
	Listen string `key:"listen" default:":5121" listen:"udp 5121"`
	// Which players are let in: {words}. open: all, but a player who uses the unique nick of an
	// account here must know its password. strict: only players with an account here. off: all, and
	// no account is looked at.
	Accounts string `key:"accounts" default:"open" words:"open, strict, off" live:"true"`
	// Checks of players that may wait for the store, {range}. Further ones are dropped;
	// games ask again.
	MaxChecks int `key:"max_checks" default:"256" range:"1 to 65536"`
	// Message of the day, at most 32 bytes of ASCII: a longer one would be more than
	// players send. Empty: none.
	Motd string `key:"motd" as:"text" live:"true"`
	// Version that is announced to players as the newest. Later ones are not asked to
	// update.
	Version string `key:"version" default:"8109" as:"text" live:"true"`
	uplink.Config
}

// maxMotd and maxVersion bound the keys motd and version.
const (
	maxMotd    = 32
	maxVersion = 4
)

// usualPort is the port of the first game.
const usualPort = 5121
