package valvemaster

import (
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Config is section valvemaster of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address. The usual port is 27010.
	Listen string `key:"listen" default:":27010" listen:"udp 27010"`
	netserve.SocketConfig
	// Servers from one address, {range}. 0: no bound of its own.
	MaxPerAddr int `key:"max_per_addr" default:"32" range:"0 to 65535" live:"true"`
	// A server that sent no heartbeat for this long is no longer queried and
	// leaves, {range}. Servers send one every one to five minutes. One that no
	// longer answers A2S leaves earlier.
	Timeout time.Duration `key:"timeout" default:"15m" range:"6m to 24h" live:"true"`
	// Answers per second to an address that has not proved that it receives them,
	// {range}: challenges, and the first, small pages of the list.
	UnprovedRate int `key:"unproved_rate" default:"20" range:"1 to 1000000" live:"true"`
	// Answers that an unproved address may get at once before the rate applies,
	// {range}.
	UnprovedBurst int `key:"unproved_burst" default:"60" range:"1 to 1000000" live:"true"`
	// Pages of the list for one address in ten seconds, {range}. 0: no bound. A
	// page has up to 230 servers. A costly filter takes several.
	PagesPerAddr int `key:"pages_per_addr" default:"256" range:"0 to 10000000" live:"true"`
	// Pages for each network of 256 addresses (/24) in ten seconds, {range}. 0: no
	// bound.
	PagesPerNet int `key:"pages_per_net" default:"1024" range:"0 to 10000000" live:"true"`
	// Full pages in ten seconds in total, {range}, to the browsers of Xash3D,
	// which send one request and cannot prove their address. Beyond it they get
	// small ones of 7 servers.
	KeyedPages int `key:"keyed_pages" default:"200" range:"0 to 10000000" live:"true"`
}
