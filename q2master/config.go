package q2master

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/internal/uplink"
)

// Config is section q2master of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address. Servers and browsers expect port 27900, which is that of qr2 too: while
	// qr2 is on, their packets to it are answered there, and 27903 is one more port.
	Listen string `key:"listen" default:":27903" listen:"udp 27903"`
	// Game whose servers are in the lists at these two ports, as browsers name none: its name in the
	// catalogue, or all.
	Game string `key:"game" default:"quake2" as:"text" live:"true"`
	// Further ports on the same host, each for a game, such as [kingpin=27902, heretic2=27904]:
	// servers that report there run it, and it is in the lists there.
	Ports []string `key:"ports" as:"text"`
	uplink.Config
	uplink.ListConfig
}

// allGames is the value of Config.Game with which lists have all servers.
const allGames = "all"

// maxPorts bounds the key ports.
const maxPorts = 16

// places returns the further ports.
func (c *Config) places() (list []Place, err error) {
	if _, ok := games.ListedName(c.Game); !ok {
		return nil, fmt.Errorf("q2master.game: %.80q is not the name of a game", c.Game)
	}
	if len(c.Ports) > maxPorts {
		return nil, fmt.Errorf("q2master.ports: %d ports, at most %d are allowed", len(c.Ports), maxPorts)
	}
	for _, text := range c.Ports {
		said, number, _ := strings.Cut(text, "=")
		game, ok := games.ListedName(said)
		port, err := strconv.ParseUint(number, 10, 16)
		if !ok || err != nil || port == 0 {
			return nil, fmt.Errorf("q2master.ports: write %.80q as game=port, such as kingpin=27902", text)
		}
		list = append(list, Place{Port: uint16(port), Form: quake2.Two, Game: game})
	}
	return list, nil
}
