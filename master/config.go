package master

import "time"

// Config is section master of the configuration. The comment of each field explains
// its key.
type Config struct {
	// Servers in the list, {range}. From 90 % of it on, a server of an address with
	// few replaces one of the address with the most; beyond it new ones are refused.
	MaxServers int `key:"max_servers" default:"200000" range:"1 to 10000000" live:"true"`
	// Servers from one address, {range}.
	MaxPerAddr int `key:"max_per_addr" default:"256" range:"1 to 10000000" live:"true"`
	// Servers from one network of 256 addresses (/24), {range}.
	MaxPerNet int `key:"max_per_net" default:"4096" range:"1 to 10000000" live:"true"`
	// How often the list is saved in data_dir, {range}. A crash loses at most
	// the changes since then.
	SaveEvery time.Duration `key:"save_every" default:"1m" range:"1s to 1h" live:"true"`
	// After a start, servers from the saved list stay listed for this long
	// without a report, {range}. 0s: start with an empty list.
	RestoreFor time.Duration `key:"restore_for" default:"90s" range:"0s to 1h"`
	// Lists no server that reports here, only those of federation.masters and of
	// servers.static, true or false. `respawnd mirror` sets it.
	Mirror bool `key:"mirror" default:"false"`
}
