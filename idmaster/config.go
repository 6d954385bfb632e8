package idmaster

import "github.com/respawnd/respawnd/internal/uplink"

// Config is section idmaster of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address. Doom 3 and Quake 4 expect port 27650. Prey's, 27655, is opened
	// at the same distance from this one.
	Listen string `key:"listen" default:":27650" listen:"udp 27650"`
	uplink.Config
	uplink.ListConfig
}

// usualPort is the port of the first game.
const usualPort = 27650
