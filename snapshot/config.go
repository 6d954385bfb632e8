package snapshot

import "time"

// Config is section snapshot of the configuration. The comment of each field explains its key.
type Config struct {
	// Folder into which the list is written, for web servers and for mirrors on other machines,
	// which show it while this daemon is down. Made if missing. Files that others put there stay.
	// Empty: nothing is written.
	Dir string `key:"dir" as:"text"`
	// How often it is written, {range}.
	Every time.Duration `key:"every" default:"1m" range:"1s to 1h"`
}
