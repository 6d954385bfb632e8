package cdkey

// Config is section cdkey of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address. Games expect port 29910, on the address of qr2.listen.
	Listen string `key:"listen" default:":29910" listen:"udp 29910"`
	// Accepted keys: {words}. permissive: all that are not banned. strict:
	// those that were added with `respawnd cdkey`, each on one server at a
	// time.
	Mode string `key:"mode" default:"permissive" words:"permissive, strict" live:"true"`
	// Products with a mode of their own, such as 461=strict, at most 256. Game servers
	// name their product by its number.
	Products []string `key:"products" as:"text" live:"true"`
	// Requests per second from one address, {range}. More are dropped; a game server
	// repeats them, and lets the player in after six seconds.
	Rate int `key:"rate" default:"50" range:"1 to 1000000" live:"true"`
	// Requests that may come at once from one address, {range}.
	Burst int `key:"burst" default:"400" range:"1 to 1000000" live:"true"`
}

// The modes of Config.Mode.
const (
	Permissive = "permissive"
	Strict     = "strict"
)
