package zanmaster

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Config is section zanmaster of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address. Servers and launchers expect port 15300.
	Listen string `key:"listen" default:":15300" listen:"udp 15300"`
	netserve.SocketConfig
	// Folder of banlist.txt, whitelist.txt, blocklist.txt and
	// multiserver_whitelist.txt, which need not exist. They stand beside the bans
	// of `respawnd ban`. Empty: data_dir.
	BanFiles string `key:"ban_files" as:"text"` // as configured, may be empty: use Folder
	// How often the ban files are looked at for changes, {range}. 0s: only at the
	// start and on SIGHUP. Less than 1s counts as 1s.
	BanFilesPoll time.Duration `key:"ban_files_poll" default:"2s" range:"0s to 1h"` // 0: never
	// Treatment of servers that do not enforce the ban list: {words}. mark:
	// they are listed, and carry a warning on our own pages.
	NotEnforcing string `key:"not_enforcing" default:"hide" words:"hide, show, mark" live:"true"`
	// Servers from one address, {range}. 0: no bound of its own. Addresses in
	// multiserver_whitelist.txt are exempt.
	ServersPerAddress int `key:"servers_per_address" default:"10" range:"0 to 65535" live:"true"`
	// A server that was silent for this long leaves the list, {range}. Servers
	// speak every 30 seconds.
	Timeout time.Duration `key:"timeout" default:"70s" range:"1m1s to 10m" live:"true"`
	// Servers kept in memory at a time that have not yet verified their address,
	// {range}.
	MaxPending int `key:"max_pending" default:"8192" range:"1 to 10000000" live:"true"`
	// Verification requests per second to one address that are longer than the
	// challenge before them, {range}. Only servers of old builds get such.
	UnprovedRate int `key:"unproved_rate" default:"20" range:"1 to 1000000" live:"true"`
	// Such requests to one address at once before the rate applies, {range}.
	UnprovedBurst int `key:"unproved_burst" default:"60" range:"1 to 1000000" live:"true"`
	// Answers requests for the old form of the list, true or false.
	OldList bool `key:"old_list" default:"true" live:"true"`
	// How long an address waits for its next list, {range}. 0s: it does not. Lists
	// are larger than requests, so this keeps others from being flooded.
	ListWindow time.Duration `key:"list_window" default:"10s" range:"0s to 10m" live:"true"`
	// Lists for each network of 256 addresses (/24) in ten seconds, {range}. 0: no
	// bound.
	ListsPerNet int `key:"lists_per_net" default:"256" range:"0 to 10000000" live:"true"`
	// Lists in ten seconds for all addresses that have proved nothing, {range}. 0:
	// no bound. Their requests may be forged. Addresses of listed servers and those
	// in net.trusted do not count.
	ListsTotal int `key:"lists_total" default:"2000" range:"0 to 10000000" live:"true"`
	// Address under which servers with a private or loopback address are listed
	// for all clients, including those in their own network. It also replaces
	// an empty net.advertise_as. Empty: net.advertise_as decides.
	AdvertiseAs netip.Addr `key:"advertise_as" live:"true"` // zero: off
	// Networks whose servers are listed, at most 256. Empty: all.
	AllowServers []netip.Prefix `key:"allow_servers" live:"true"`
	// Networks that get the list, at most 256. Empty: all.
	AllowLaunchers []netip.Prefix `key:"allow_launchers" live:"true"`
	// Asks listed servers for their name, map and players, true or false.
	Query bool `key:"query" default:"true" live:"true"`
	// How often each listed server is asked, {range}.
	QueryEvery time.Duration `key:"query_every" default:"60s" range:"1m to 1h" live:"true"`
}
