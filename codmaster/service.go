package codmaster

import (
	"context"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/q3master"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Call of Duty server lists", Nouns: []noun.Noun{noun.Names}, Docs: []string{"protocols/codmaster"}, Shows: true, Origins: []*master.Origin{Origin}, AskEvery: c.AskEvery(),
		Dialogue: dialogueOf(),
		Plays:    []service.Play{{Service: "codmaster", Network: "UDP", Order: service.PlayLists, Family: true, Means: "the server browser of the game stays empty, and servers let no players in", Run: play}},
		Steps:    []service.Step{{Name: "codmaster", Needs: []string{name}, Order: service.OrderAlone, Run: try}},
	}
}

// Open opens the sockets of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	conns, err := netserve.Ports{Network: "udp4", Address: c.Listen, Usual: usualPort, Further: env.Games.MasterNames(name).Ports()}.Open(ctx, c.ListenOptions(), env.Log)
	if err != nil {
		return nil, err
	}
	s := New(q3master.Options{Config: c.options(), Registration: env.Registers(storage.ScopeLists, uplink.DropNames()...)}, env.BannedFrom(storage.ScopePresence))
	return service.OnSockets(conns, s, func(to service.Service) { o := to.(*Config).options(); s.Reload(&o) }), nil
}

func (c *Config) options() q3master.Config {
	return q3master.Config{Config: c.Config, ListConfig: c.ListConfig}
}

// Config is section codmaster of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address. Call of Duty expects port 20510. The other games and the checks of
	// keys have ports of their own, 20500, 20600, 20610, 20700, 20710, 20800 and 20810:
	// they are opened at the same distance from this one as from 20510.
	Listen string `key:"listen" default:":20510" listen:"udp 20510"`
	uplink.Config
	uplink.ListConfig
}

// usualPort is the port of the first game.
const usualPort = 20510

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "callofduty", Number: 11, Story: "It registered with the Call of Duty master server; its address is verified.",
	Query: "quake3", Keeps: q3master.Keeps(), Colours: "quake",
}

var _ = games.Declare(games.Kind{Name: name, Words: "the Call of Duty master", Names: true})

// play requests the list of the game's first protocol.
func play(ctx context.Context, g games.Game, address string) (string, error) {
	return service.PlayUDP(ctx, address, func(p *netclient.Packets) (string, error) {
		servers, err := NewBrowser(p).List(ctx, q3master.RequestOf(g))
		return service.PlayedList(len(servers)), err
	})
}
