package legacylist

import (
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Config is section legacylist of the configuration. The comment of each field explains
// its key.
type Config struct {
	// TCP address. Games expect port 28900.
	Listen              string `key:"listen" default:":28900" listen:"tcp 28900"`
	netserve.ConnLimits `defaults:"max_conns=1024 max_per_addr=32 rate=10 burst=40"`
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
