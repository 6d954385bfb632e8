package peerchat

import (
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Config is section peerchat of the configuration. The comment of each field
// explains its key.
type Config struct {
	// TCP address. Games expect port 6667.
	Listen              string `key:"listen" default:":6667" listen:"tcp 6667"`
	netserve.ConnLimits `defaults:"max_conns=32768 max_per_addr=256 rate=20 burst=256"`
	// Time from the connection to the end of the sign-on, {range}.
	LoginTime time.Duration `key:"login_time" default:"60s" range:"5s to 10m"`
	// Silence after which a client is disconnected, {range}. After two fifths
	// of it a ping is sent.
	Idle time.Duration `key:"idle" default:"5m" range:"10s to 1h"`
	// Time for a client to read data sent to it, {range}.
	Write time.Duration `key:"write" default:"30s" range:"1s to 10m"`

	// Channels with members at a time, {range}.
	MaxChannels int `key:"max_channels" default:"20000" range:"1 to 1000000" live:"true"`
	// Channels that one client may be in, {range}. Games need three.
	MaxJoined int `key:"max_joined" default:"16" range:"3 to 1000" live:"true"`
	// Members of one channel, {range}.
	MaxMembers int `key:"max_members" default:"2000" range:"2 to 100000" live:"true"`

	// Budget of a client per second for commands, {range}. A client over it
	// waits. Each command has a weight.
	Pace int `key:"pace" default:"10" range:"1 to 1000000" live:"true"`
	// Budget that a client may use at once before the pace applies, {range}. If
	// a profile uses ten times as much on several connections, it is
	// disconnected.
	PaceBurst int `key:"pace_burst" default:"200" range:"10 to 1000000" live:"true"`
	// Costs that all clients of one address may cause per second, {range}.
	PacePerAddr int `key:"pace_per_addr" default:"200" range:"1 to 1000000" live:"true"`
	// Costs that all clients of one address may cause at once, {range}.
	PacePerAddrBurst int `key:"pace_per_addr_burst" default:"20000" range:"10 to 10000000" live:"true"`
	// Weight of a message to a channel or player, {range}.
	WeightMessage int `key:"weight_message" default:"1" range:"0 to 1000" live:"true"`
	// Weight of joining or leaving a channel, and of changing a nick, topic or mode,
	// {range}.
	WeightChange int `key:"weight_change" default:"2" range:"0 to 1000" live:"true"`
	// Weight of setting or reading keys, {range}.
	WeightKeys int `key:"weight_keys" default:"1" range:"0 to 1000" live:"true"`
	// Weight of lists of channels and members, {range}.
	WeightList int `key:"weight_list" default:"5" range:"0 to 1000" live:"true"`

	// Words that are replaced by asterisks in messages, topics and the texts of
	// players who are away, without regard to the case of ASCII letters, at most
	// 256. Messages between games are not changed.
	WordFilter []string `key:"word_filter" as:"text" live:"true"`
	// File with the message of the day, which IRC programs show, at most 64 lines of
	// 400 bytes. Empty: none.
	MotdFile string `key:"motd_file" as:"text"`
	// Lines of each channel that are kept in memory for operators, {range}. 0: none.
	History int `key:"history" default:"0" range:"0 to 1000" live:"true"`
}
