package zanmaster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

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
		Title: "Zandronum", Nouns: []noun.Noun{noun.Zandronum}, Docs: []string{"protocols/zanmaster", "operators/zandronum"}, Shows: true, Origins: []*master.Origin{Origin}, Bans: storage.ScopeZandronum,
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
