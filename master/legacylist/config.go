package legacylist

import "time"

// Config is section legacylist of the configuration. The comment of each field explains
// its key.
type Config struct {
	// TCP address. Games expect port 28900.
	Listen string `key:"listen" default:":28900" listen:"tcp 28900"`
	// Connections at a time, {range}. Each ends when the list is sent.
	MaxConns int `key:"max_conns" default:"1024" range:"1 to 1000000" live:"true"`
	// Connections at a time from one address, {range}.
	MaxPerAddr int `key:"max_per_addr" default:"32" range:"1 to 1000000" live:"true"`
	// New connections per second from one address, {range}. More wait, for up to
	// 10s.
	Rate int `key:"rate" default:"10" range:"1 to 1000000" live:"true"`
	// New connections from one address at once before the rate applies, {range}.
	Burst int `key:"burst" default:"40" range:"1 to 1000000" live:"true"`
	// Time for a client to request its list, {range}. One that sends nothing at
	// all is disconnected after 10s even if this is longer.
	RequestTime time.Duration `key:"request_time" default:"30s" range:"1s to 1m"`
	// Requires proof for a list without encryption, true or false. true: only a client that proves
	// that it knows its game's key. false: any client, since tools such as qstat prove nothing. A
	// game's own policy has priority.
	StrictValidate bool `key:"strict_validate" default:"false"`
	// Ignores filters that cannot be read, true or false. true: the filter is ignored and logged,
	// and the client gets all servers. false: the client gets an error.
	LenientFilter bool `key:"lenient_filter" default:"true"`
}
