package q3master

import "time"

// Config is section q3master of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address. Servers and browsers expect port 27950.
	Listen string `key:"listen" default:":27950" listen:"udp 27950"`
	// Sockets that share the address, {range}.
	Sockets int `key:"sockets" default:"1" range:"1 to 64"`
	// Goroutines that read from each socket, {range}.
	Readers int `key:"readers" default:"1" range:"1 to 64"`
	// Kernel receive buffer of each socket, {range}. The system may cap it.
	ReadBuffer int `key:"read_buffer" default:"4MiB" range:"4KiB to 1GiB"`
	// Games whose servers are listed, such as [openarena, Xonotic]: their names in
	// the catalogue or in the protocol. Empty: all.
	Games []string `key:"games" as:"text" live:"true"`
	// Servers from one address, {range}. 0: no bound of its own.
	MaxPerAddr int `key:"max_per_addr" default:"32" range:"0 to 65535" live:"true"`
	// Games that are not in the catalogue, {range}. Servers of further ones are not
	// listed.
	MaxGames int `key:"max_games" default:"1024" range:"1 to 1000000" live:"true"`
	// Servers kept in memory at a time that have not yet answered, {range}.
	MaxPending int `key:"max_pending" default:"8192" range:"1 to 10000000" live:"true"`
	// A server that has not answered for this long leaves the list, {range}.
	// Servers send a heartbeat every five minutes, and are asked then.
	Timeout time.Duration `key:"timeout" default:"15m" range:"6m to 24h" live:"true"`
	// Answers per second to an address that are longer than its heartbeats,
	// {range}. Real heartbeats are longer.
	UnprovedRate int `key:"unproved_rate" default:"20" range:"1 to 1000000" live:"true"`
	// Such answers to one address at once before the rate applies, {range}.
	UnprovedBurst int `key:"unproved_burst" default:"60" range:"1 to 1000000" live:"true"`
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
	// Asks listed servers for their rules and players, true or false.
	Query bool `key:"query" default:"true" live:"true"`
	// How often each listed server is asked, {range}.
	QueryEvery time.Duration `key:"query_every" default:"60s" range:"1m to 1h" live:"true"`
}
