package zanmaster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	d := service.Descriptor{
		Title: "Zandronum", Nouns: []noun.Noun{noun.Zandronum}, Docs: []string{"protocols/zanmaster", "operators/zandronum"}, Shows: true, Origins: []*master.Origin{Origin}, Dialogue: dialogueOf(), Bans: storage.ScopeZandronum,
		Steps:   []service.Step{{Name: "zanmaster", Needs: []string{"zanmaster"}, Order: service.OrderAlone, Run: c.findServer}},
		Takes:   []verdicts.Verdict{verdicts.SpeaksZandronum},
		Connect: "Zandronum: in your launcher, enter `{address}:{port}` as the master server. To have your own server listed, add these lines to its settings:",
		// The host names that servers and launchers of Zandronum, and of its
		// predecessor, look up.
		Hosts: []string{"master.zandronum.com", "skulltag.servegame.com"},
		Files: c.files, Check: c.check,
		FileBans: func(dataDir string, a netip.Addr) ([]operator.FileBan, error) {
			return readFileBans(c.folder(dataDir), a)
		},
	}
	if c.Query {
		d.AskEvery = c.QueryEvery
	}
	return d
}

// files returns the paths of the ban files by name.
func (c *Config) files(dataDir string) map[string]string {
	files := make(map[string]string)
	for _, name := range FileNames() {
		files[name] = filepath.Join(c.folder(dataDir), name)
	}
	return files
}

// check returns the errors of the ban files.
func (c *Config) check(dataDir string, when service.Moment) error {
	err := c.checkFolder()
	switch when {
	case service.AtReload:
		err = errors.Join(err, checkReadable(c.folder(dataDir)))
	case service.OnCommand:
		err = errors.Join(err, checkFiles(c.folder(dataDir)))
	case service.AtStart:
	}
	return err
}

// Open opens the sockets of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	if err := c.checkFolder(); err != nil {
		return nil, err
	}
	conn, err := netserve.ListenPackets(ctx, "udp4", c.Listen, c.ListenOptions())
	if err != nil {
		return nil, err
	}
	s := New(Options{
		Config: *c, Self: env.Counted(dropNames()...), Peers: env.Peers(storage.ScopeZandronum, env.Verdicts.Servers), Listing: env.Listing,
		Bans:  env.Bans,
		Files: c.folder(env.DataDir),
	})
	r := service.OnSocket(conn, s)
	r.Reload = func(to service.Service) { s.reload(to.(*Config), env) }
	r.Files = func(put func(string, []byte)) {
		list, _ := s.lister.current()
		list, _ = list.givenTo(env.Addresses.Outside())
		uplink.PutPackets(put, "zanmaster", zandronum.Game, list.packets)
	}
	r.Callbacks = &service.Callbacks{
		Origin: Origin, Expired: s.Expired, Replaced: s.Replaced, Exempt: s.MultiServer, Unlisted: s.unlisted, FileBans: s.FileBans,
	}
	return r, nil
}

// unlisted returns the servers that verified their address and are in no list.
func (s *Server) unlisted() (list []service.Unlisted) {
	for _, h := range s.Hosts() {
		if h.Listed {
			continue
		}
		why := verdicts.Hidden
		if h.Enforces {
			why = verdicts.ListFull
		}
		list = append(list, service.Unlisted{Game: zandronum.Game, Address: h.Addr, Why: why, First: h.First, Seen: h.Seen})
	}
	return list
}

// reload applies the live keys and reads the ban files. Invalid lines are
// logged; the others take effect.
func (s *Server) reload(c *Config, env *service.Env) {
	s.Reload(c)
	err := s.readFiles()
	lines := []error{err}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		lines = several.Unwrap()
	}
	for _, err := range lines {
		if err != nil {
			env.Log.Warn().Err(err).Msg("line of a ban file not understood")
		}
	}
}

// folder returns the folder of the ban files, which is dataDir if ban_files is
// empty.
func (c *Config) folder(dataDir string) string {
	if c.BanFiles != "" {
		return c.BanFiles
	}
	return dataDir
}

// checkFolder returns an error for a folder of ban files that was given and is not
// there: a ban list that is silently empty bans no address.
func (c *Config) checkFolder() error {
	if c.BanFiles == "" {
		return nil
	}
	info, err := os.Stat(c.BanFiles)
	if err == nil && !info.IsDir() {
		err = errors.New("is not a folder")
	}
	if err != nil {
		return fmt.Errorf("zanmaster.ban_files: %w", err)
	}
	return nil
}

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "zandronum", Number: 3, Story: "It registered with the Zandronum master server; its address is verified.",
	Query: "zandronum", AtSource: true, Keeps: []string{zandronum.RuleEnforces, zandronum.RuleRevision, zandronum.RuleWarning},
	Catalogued: true, Colours: "doom",
}

var _ = games.Declare(games.Kind{Name: "zanmaster", Words: "the Zandronum master"})

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
