package uplink

import (
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Config are the keys of game servers that all masters of this kind have.
type Config struct {
	netserve.SocketConfig
	// Servers from one address, {range}. 0: no bound of its own.
	MaxPerAddr int `key:"max_per_addr" default:"32" range:"0 to 65535" live:"true"`
	// Servers kept in memory at a time that have not yet answered, {range}.
	MaxPending int `key:"max_pending" default:"8192" range:"1 to 10000000" live:"true"`
	// A server that has not answered for this long leaves the list, {range}.
	// Servers send a heartbeat every five minutes, and are asked then.
	Timeout time.Duration `key:"timeout" default:"15m" range:"6m to 24h" live:"true"`
	// Answers per second to an address that are longer than its request, {range}. Real heartbeats
	// are longer.
	UnprovedRate int `key:"unproved_rate" default:"20" range:"1 to 1000000" live:"true"`
	// Such answers to one address at once before the rate applies, {range}.
	UnprovedBurst int `key:"unproved_burst" default:"60" range:"1 to 1000000" live:"true"`
	// Asks listed servers for their rules and players, true or false.
	Query bool `key:"query" default:"true" live:"true"`
	// How often each listed server is asked, {range}.
	QueryEvery time.Duration `key:"query_every" default:"60s" range:"1m to 1h" live:"true"`
}

// AskEvery returns QueryEvery, 0 if servers are not queried.
func (c *Config) AskEvery() time.Duration {
	if c.Query {
		return c.QueryEvery
	}
	return 0
}

// ListConfig are the keys of masters that send lists to browsers.
type ListConfig struct {
	// Lists that an address gets at once, {range}: browsers request several games
	// and protocols.
	ListBurst int `key:"list_burst" default:"16" range:"1 to 10000" live:"true"`
	// How long an address waits for each further list, {range}. 0s: it does not.
	ListWindow time.Duration `key:"list_window" default:"2s" range:"0s to 10m" live:"true"`
	// Lists for each network of 256 addresses (/24) in ten seconds, {range}. 0: no
	// bound.
	ListsPerNet int `key:"lists_per_net" default:"256" range:"0 to 10000000" live:"true"`
	// Lists in ten seconds for all addresses that have proved nothing, {range}. 0:
	// no bound. Their requests may be forged. Addresses of listed servers and those
	// in net.trusted do not count.
	ListsTotal int `key:"lists_total" default:"2000" range:"0 to 10000000" live:"true"`
}
