package gpsp

import (
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Config is section gpsp of the configuration. The comment of each field explains
// its key.
type Config struct {
	// TCP address. Games expect port 29901.
	Listen              string `key:"listen" default:":29901" listen:"tcp 29901"`
	netserve.ConnLimits `defaults:"max_conns=8192 max_per_addr=32 rate=20 burst=400"`
	// A connection on which no whole question arrives for this long is closed,
	// {range}.
	Idle time.Duration `key:"idle" default:"60s" range:"5s to 10m"`
	// Time for a client to read data sent to it, {range}.
	Write time.Duration `key:"write" default:"30s" range:"1s to 10m"`
	// Questions about players that one address may ask per minute, {range}. 0: no
	// bound. It keeps names and addresses from being collected.
	Lookups int `key:"lookups" default:"200" range:"0 to 1000000" live:"true"`
	// Questions whether an e-mail address has an account that one network (IPv4
	// /24, IPv6 /48) may ask per minute, {range}. 0: no bound.
	ValidPerNet int `key:"valid_per_net" default:"1000" range:"0 to 1000000" live:"true"`
	// Accounts that one address may create per minute, {range}. 0: no bound.
	Registrations int `key:"registrations" default:"60" range:"0 to 1000000" live:"true"`
	// Reveals less, true or false. true: whether an e-mail address has an account
	// cannot be found out, and its nicks are returned only for its password.
	Private bool `key:"private" default:"false" live:"true"`
}
