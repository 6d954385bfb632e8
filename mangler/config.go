package mangler

// Config is section mangler of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address. Games expect port 4321.
	Listen string `key:"listen" default:":4321" listen:"udp 4321"`
	// Packets per second from one address, {range}. More are dropped. A game sends up
	// to four at once, and repeats one every 300ms while a match begins.
	Rate int `key:"rate" default:"50" range:"1 to 1000000" live:"true"`
	// Packets that may come at once from one address, {range}.
	Burst int `key:"burst" default:"400" range:"1 to 1000000" live:"true"`
}
