package gpcm

import "time"

// Config is section gpcm of the configuration. The comment of each field explains
// its key.
type Config struct {
	// TCP address. Games expect port 29900.
	Listen string `key:"listen" default:":29900" listen:"tcp 29900"`
	// Open connections, {range}. A player who is signed in needs one.
	MaxConns int `key:"max_conns" default:"32768" range:"1 to 1000000" live:"true"`
	// Open connections from one address, {range}. A LAN party is one address.
	MaxPerAddr int `key:"max_per_addr" default:"64" range:"1 to 1000000" live:"true"`
	// New connections per second from one address, {range}. More wait, for up to
	// 10s.
	Rate int `key:"rate" default:"10" range:"1 to 1000000" live:"true"`
	// New connections that one address may open at once before the rate applies,
	// {range}.
	Burst int `key:"burst" default:"40" range:"1 to 1000000" live:"true"`
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
