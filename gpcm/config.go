package gpcm

import (
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Config is section gpcm of the configuration. The comment of each field explains
// its key.
type Config struct {
	// TCP address. Games expect port 29900.
	Listen              string `key:"listen" default:":29900" listen:"tcp 29900"`
	netserve.ConnLimits `defaults:"max_conns=32768 max_per_addr=64 rate=10 burst=40"`
	// Time from the connection to the login, {range}.
	LoginTime time.Duration `key:"login_time" default:"30s" range:"5s to 10m"`
	// How often a quiet connection is sent a keepalive, {range}. Clients speak up
	// after two minutes of silence.
	KeepAlive time.Duration `key:"keepalive" default:"90s" range:"5s to 1m55s"`
	// Time for a client to read data sent to it, {range}.
	Write time.Duration `key:"write" default:"60s" range:"1s to 10m"`
	// Time for a client's system to acknowledge data sent to it, {range}. A
	// player whose line breaks is offline after it. Linux supports it, macOS
	// and Windows approximately, others not at all.
	UserTimeout time.Duration `key:"user_timeout" default:"75s" range:"10s to 10m"`
	// How often a client that is signed in gets a new login ticket, {range}.
	TicketRenewal time.Duration `key:"ticket_renewal" default:"24h" range:"1m to 47h"`
	// Accounts and profiles that one address may create per minute, {range}. 0: no
	// bound.
	Registrations int `key:"registrations" default:"60" range:"0 to 1000000" live:"true"`
	// Sessions that a second login of the same player ends: {words}. profile: the session
	// of that profile, user: those of all profiles of the account, allow: none.
	// This and the next three can be set for single games in their policy
	// (games.file).
	SecondLogin string `key:"second_login" default:"profile" words:"profile, user, allow" live:"true"`
	// Two players who asked each other become buddies without an answer, true or
	// false. Games with friend codes need it.
	AutoAccept bool `key:"auto_accept" default:"false" live:"true"`
	// Removing a buddy also removes the player from that buddy's list, true or false.
	SymmetricDelete bool `key:"symmetric_delete" default:"false" live:"true"`
	// Reports the user id as 0 at login, true or false. Some games of handhelds
	// want that.
	NoUserID bool `key:"no_user_id" default:"false" live:"true"`
}
