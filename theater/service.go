package theater

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// Config is section theater of the configuration. The comment of each field explains its key.
type Config struct {
	// UDP address, and TCP with the same port. Games learn it when they sign in at fesl,
	// at its address. Mercenaries 2 used port 18715.
	Listen              string `key:"listen" default:":18715" listen:"udp+tcp 18715"`
	netserve.ConnLimits `defaults:"max_conns=16384 max_per_addr=64 rate=10 burst=40"`
	// Games that players at one address may offer, {range}. 0: no bound of its own.
	GamesPerAddr int `key:"games_per_addr" default:"10" range:"0 to 65535" live:"true"`
	// How often a player is asked for a sign of life, {range}. One that is silent for five
	// times that is disconnected.
	Ping time.Duration `key:"ping" default:"60s" range:"5s to 3m"`
	// Time for a client to read data sent to it, {range}.
	Write time.Duration `key:"write" default:"30s" range:"1s to 10m"`
}

// Origin is that of the games that players offer here.
var Origin = &master.Origin{
	Name: name, Story: "A player of EA's service offers it; the address is that of the player, the port was not tested.", Catalogued: true, Profiles: true,
}

var _ = games.Declare(games.Kind{Name: name, Words: "EA's server lists"})

var _ = verdicts.Speak(name, verdicts.Speaker{What: "game of a player", Texts: map[verdicts.Verdict]verdicts.Explanation{
	verdicts.TooManyHere: {Advice: verdicts.RemoveServers + "The operator can raise theater.games_per_addr, master.max_per_addr and master.max_per_net."},
	verdicts.Expired:     {Cause: "the connection of the host was silent for too long, and the game was removed from the list", Advice: "Check that the game still runs."},
}})

var _ = verdicts.Speak(playerName, verdicts.Speaker{What: "entry into EA's game list", Player: true, Texts: verdicts.SignInTexts})

// Describe implements service.Service.
func (*Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "EA's server lists", Nouns: []noun.Noun{noun.Accounts, noun.Names}, Docs: []string{"protocols/theater"}, Shows: true, Origins: []*master.Origin{Origin}, Dialogue: dialogueOf(),
		Plays: []service.Play{{Service: name, Network: "TCP", Order: service.PlayMeets, Family: true, Means: "players cannot find each other's games", Run: play}},
		Steps: []service.Step{{Name: name, Needs: []string{name}, Order: service.OrderAlone, Run: try}},
	}
}

// Open opens the sockets of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	conn, ln, err := service.ListenBoth(ctx, c.Listen)
	if err != nil {
		return nil, err
	}
	s := New(Options{
		Config: *c, Self: env.Counted(DropReasons()...), Peers: env.Peers(storage.ScopeLists, env.Verdicts.Servers), Listing: env.Listing,
		Lobby: env.Lobby, Attach: env.Hub.Attach, Players: env.Verdicts.Players, Cluster: env.Cluster,
	})
	env.Lobby.Open(conn.LocalAddr().Port(), s.search)
	r := service.OnListener(ln, func(ctx context.Context, ln net.Listener) error { return s.Serve(ctx, conn, ln) })
	r.UDP = service.PacketAddrs([]*netserve.PacketConn{conn})
	r.Reload = func(to service.Service) { s.Reload(to.(*Config)) }
	r.Callbacks = &service.Callbacks{Origin: Origin, Expired: s.gone(verdicts.Expired), Replaced: s.gone(verdicts.Replaced)}
	closeListener := r.Close
	r.Close = func() error { return errors.Join(conn.Close(), closeListener()) }
	return r, nil
}

// play greets the service as the game does.
func play(ctx context.Context, g games.Game, address string) (string, error) {
	return service.PlayTCP(ctx, address, func(conn net.Conn) (string, error) {
		_, err := NewClient(conn).Hello(ctx, g.Name)
		return "it answers", err
	})
}
