package qwmaster

import "github.com/respawnd/respawnd/internal/uplink"

// Config is section qwmaster of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address. QuakeWorld expects port 27000. HexenWorld's, 26900, is opened at the
	// same distance from this one.
	Listen string `key:"listen" default:":27000" listen:"udp 27000"`
	uplink.Config
	uplink.ListConfig
}

// The ports of the games.
const (
	worldPort = 27000
	hexenPort = 26900
)
