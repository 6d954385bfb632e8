package idmaster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/idtech4"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Doom 3, Quake 4 and Prey server lists", Nouns: []noun.Noun{noun.Names}, Docs: []string{"protocols/idmaster"}, Shows: true, Origins: []*master.Origin{Origin},
		Plays:    []service.Play{{Service: "idmaster", Network: "UDP", Order: service.PlayLists, Family: true, Means: "the server browser of the game stays empty, and your key is not accepted", Run: play}},
		Steps:    []service.Step{{Name: name, Needs: []string{name}, Order: service.OrderAlone, Run: try}},
		Connect:  "Doom 3, Quake 4 and Prey: the lines of the game, or `net_master0 {address}:{port}` in the console, of servers and of players’ games.",
		AskEvery: c.AskEvery(), Dialogue: dialogueOf(),
	}
}

// Open opens the sockets of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	conns, err := netserve.Ports{Network: "udp4", Address: c.Listen, Usual: usualPort, Further: env.Games.MasterNames(name).Ports()}.Open(ctx, c.ListenOptions(), env.Log)
	if err != nil {
		return nil, err
	}
	s := New(Options{Config: *c, Registration: env.Registers(storage.ScopeLists, uplink.DropNames()...), Players: env.BannedFrom(storage.ScopePresence)})
	return service.OnSockets(conns, s, func(to service.Service) { s.Reload(to.(*Config)) }), nil
}

// Config is section idmaster of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address. Doom 3 and Quake 4 expect port 27650. Prey's, 27655, is opened
	// at the same distance from this one.
	Listen string `key:"listen" default:":27650" listen:"udp 27650"`
	uplink.Config
	uplink.ListConfig
}

// usualPort is the port of the first game.
const usualPort = 27650

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "idtech4", Number: 10, Story: "It registered with the master server of Doom 3, Quake 4 and Prey; its address is verified.",
	Query: "idtech4", Keeps: []string{idtech4.RuleProtocol}, Colours: "quake",
}

var _ = games.Declare(games.Kind{Name: name, Words: "id Software's master", Names: true, Query: Origin.Query})

// play sends a key, which needs no real one, and requests the list.
func play(ctx context.Context, g games.Game, address string) (string, error) {
	return service.PlayUDP(ctx, address, func(p *netclient.Packets) (string, error) {
		var protocol idtech4.Protocol // of all versions
		k := idtech4.Keys{Protocol: protocol, Server: netip.MustParseAddrPort("192.0.2.1:27666"), Key: []byte("TESTTESTTESTTEST")}
		if _, err := SendKeys(ctx, p, k); err != nil {
			return "", err
		}
		servers, err := List(ctx, p, idtech4.Request{Protocol: protocol}, 1)
		return service.PlayedList(len(servers)), err
	})
}

// doom3 is the protocol of Doom 3 after its last patch.
const doom3 = 1<<16 + 41

var errNotAsked = errors.New("no getInfo came for a heartbeat (respawnd doctor may say why)")

func try(ctx context.Context, t *service.Trial) error {
	open := func(p *netclient.Packets) service.TrialHost {
		return NewHost(p, InfoOf(doom3, "si_name", "respawnd selftest", "si_map", "selftest", "si_maxPlayers", "8"))
	}
	return service.TryHost(ctx, t.Address(name), errNotAsked, open, join, func(ctx context.Context, p *netclient.Packets) ([]netip.AddrPort, error) {
		return List(ctx, p, idtech4.Request{Protocol: doom3}, 1)
	})
}

// join sends a key, then asks about the player that it names.
func join(ctx context.Context, p *netclient.Packets) error {
	server := netip.MustParseAddrPort("192.0.2.1:27666")
	guid, err := SendKeys(ctx, p, idtech4.Keys{Protocol: doom3, Server: server, Key: []byte("SELFTESTSELFTEST")})
	if err != nil {
		return fmt.Errorf("no answer to a key: %w", err)
	}
	v, err := Check(ctx, p, idtech4.Check{Protocol: doom3, Player: server, Client: 1, GUID: []byte(guid)})
	switch {
	case err != nil:
		return fmt.Errorf("no answer about a player: %w", err)
	case v.Reply != idtech4.Accepted || string(v.GUID) != guid:
		return errors.New("a player was not let in")
	}
	return nil
}
