package serverbrowse

import (
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Config is section serverbrowse of the configuration. The comment of each field explains
// its key.
type Config struct {
	// TCP address. Games expect port 28910.
	Listen              string `key:"listen" default:":28910" listen:"tcp 28910"`
	netserve.ConnLimits `defaults:"max_conns=4096 max_per_addr=32 rate=10 burst=40"`
	// Time for the first byte of a new connection, {range}.
	FirstByte time.Duration `key:"first_byte" default:"10s" range:"1s to 5m"`
	// A connection on which nothing arrives for this long is closed, {range}.
	Idle time.Duration `key:"idle" default:"120s" range:"5s to 24h"`
	// Time for a client to read data sent to it, {range}.
	Write time.Duration `key:"write" default:"15s" range:"1s to 5m"`
	// How often a keepalive is sent on a quiet connection, {range}. After two
	// without an answer it is closed. Keep it well below serverbrowse.idle. One more
	// is sent a tenth of this time after the first list.
	KeepAlive time.Duration `key:"keepalive" default:"30s" range:"5s to 1h"`
	// Longest filter of a request in bytes, {range}.
	MaxFilter int `key:"max_filter" default:"1024" range:"16 to 1024"`
	// Push updates, true or false. true: a client that requested them is
	// informed of servers that come, change or go while it stays connected.
	Push bool `key:"push" default:"true"`
	// Different lists whose changes clients follow at a time, {range}; clients
	// that request the same game, filter and fields share one. A client that
	// requests one more gets the list, and no updates until its next request.
	MaxFollowed int `key:"max_followed" default:"8192" range:"1 to 1000000"`
	// Messages per second from one connection that are passed on to game hosts,
	// {range}.
	MessageRate int `key:"message_rate" default:"5" range:"1 to 10000"`
	// Messages that one connection may send at once before the rate applies,
	// {range}.
	MessageBurst int `key:"message_burst" default:"20" range:"1 to 10000"`
	// Ignores filters that cannot be read, true or false. true: the filter is ignored and logged,
	// and the client gets all servers. false: the client gets an error.
	LenientFilter bool `key:"lenient_filter" default:"true"`
}
