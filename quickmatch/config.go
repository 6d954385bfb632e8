package quickmatch

import "time"

// Config is section quickmatch of the configuration. The comment of each field explains
// its key.
type Config struct {
	// Quick matches, true or false: a program in a chat room of each game that has
	// them. It needs peerchat.
	Enabled bool `key:"enabled" default:"true"`
	// Interval at which players are matched, {range}.
	Interval time.Duration `key:"interval" default:"2s" range:"100ms to 1m" live:"true"`
	// Interval at which a room learns how many players wait, {range}.
	Announce time.Duration `key:"announce" default:"30s" range:"1s to 10m" live:"true"`
	// Players of one game that may wait at a time, {range}. More are refused.
	MaxPlayers int `key:"max_players" default:"1000" range:"2 to 5000" live:"true"`
}
