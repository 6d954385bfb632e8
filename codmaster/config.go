package codmaster

import "github.com/respawnd/respawnd/internal/uplink"

// Config is section codmaster of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address. Call of Duty expects port 20510. The other games and the checks of
	// keys have ports of their own, 20500, 20600, 20610, 20700, 20710, 20800 and 20810:
	// they are opened at the same distance from this one as from 20510.
	Listen string `key:"listen" default:":20510" listen:"udp 20510"`
	uplink.Config
	uplink.ListConfig
}

// usualPort is the port of the first game.
const usualPort = 20510
