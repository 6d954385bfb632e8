package webservices

// Config is section webservices of the configuration. The comment of each field
// explains its key.
type Config struct {
	// TCP address. Games expect port 80. Where the daemon has no right to open it,
	// it starts without web services and logs what to do.
	Listen string `key:"listen" default:":80" listen:"tcp 80"`
	// Open connections, {range}. Each needs a file descriptor.
	MaxConns int `key:"max_conns" default:"4096" range:"1 to 1000000"`
	// Open connections from one address, {range}.
	MaxPerAddr int `key:"max_per_addr" default:"256" range:"1 to 1000000"`
	// Requests per second from one address, {range}. 0: no bound.
	Rate int `key:"rate" default:"50" range:"0 to 1000000" live:"true"`
	// Requests that one address may send at once before the rate applies, {range}.
	Burst int `key:"burst" default:"500" range:"1 to 1000000" live:"true"`
}
