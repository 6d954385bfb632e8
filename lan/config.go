package lan

import "time"

// Config is section lan of the configuration. The comment of each field explains
// its key.
type Config struct {
	// Searches, true or false. true: broadcasts on these networks query
	// the ports of all known games, and servers that answer are listed.
	// Servers of Zandronum that announce themselves (UDP 15101) or answer on UDP
	// 10666 to 10673 are listed as well.
	Discover bool `key:"discover" default:"false"`
	// How often these networks are searched, {range}. A server that was
	// found leaves the list after three times without an answer.
	Every time.Duration `key:"every" default:"30s" range:"5s to 1h"`
}
