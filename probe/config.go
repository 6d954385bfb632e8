package probe

import "time"

// Config is section probe of the configuration. The comment of each field explains
// its key.
type Config struct {
	// How often each game server is queried, {range}. One that does not answer
	// leaves the list after three times.
	Every time.Duration `key:"every" default:"1m" range:"10s to 1h" live:"true"`
	// Game servers that are queried per second, {range}. If there are more than
	// it allows, each is queried less often.
	Rate int `key:"rate" default:"200" range:"1 to 10000" live:"true"`
	// Game servers that are queried at all, {range}. Those that an operator
	// named are not counted.
	MaxServers int `key:"max_servers" default:"50000" range:"1 to 10000000" live:"true"`
	// Games named by servers that are not in the catalogue, {range}. Servers of
	// further ones are not listed.
	MaxGames int `key:"max_games" default:"1024" range:"1 to 1000000" live:"true"`
}
