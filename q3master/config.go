package q3master

import "github.com/respawnd/respawnd/internal/uplink"

// Config is section q3master of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address. Servers and browsers expect port 27950.
	Listen string `key:"listen" default:":27950" listen:"udp 27950"`
	// Games whose servers are listed, such as [openarena, Xonotic]: their names in
	// the catalogue or in the protocol. Empty: all.
	Games []string `key:"games" as:"text" live:"true"`
	// Games that are not in the catalogue, {range}. Servers of further ones are not
	// listed.
	MaxGames int `key:"max_games" default:"1024" range:"1 to 1000000" live:"true"`

	uplink.Config
	uplink.ListConfig
}
