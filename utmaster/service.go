package utmaster

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (*Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Unreal Tournament server lists", Nouns: []noun.Noun{noun.Keys, noun.Names, noun.News}, Docs: []string{"protocols/utmaster"}, Shows: true, Origins: []*master.Origin{Origin}, Dialogue: dialogueOf(),
		Plays:   []service.Play{{Service: "utmaster", Network: "TCP", Order: service.PlayLists, Family: true, Means: "the server browser of the game stays empty", Run: play}},
		Steps:   []service.Step{{Name: serviceName, Needs: []string{serviceName}, Order: service.OrderAlone, Run: findServer}},
		Connect: "Unreal Tournament 2004: the lines of the game, or `MasterServerList=(Address=\"{address}\",Port={port})` in the section `IpDrv.MasterServerLink` of `UT2004.ini`. Game servers: `MasterServerAddress={address}` in the section `IpDrv.MasterServerUplink`.",
	}
}

// Open opens the listener and the socket of the service. It implements
// service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	conn, ln, err := service.ListenBoth(ctx, c.Listen)
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(c.Listen) // it was checked
	ask, err := netserve.ListenPackets(ctx, "udp4", net.JoinHostPort(host, "0"), netserve.ListenOptions{})
	if err != nil {
		return nil, errors.Join(err, conn.Close(), ln.Close())
	}
	s := New(Options{
		Config: *c, Self: env.Counted(reasons...), Peers: env.Peers(storage.ScopeLists, env.Verdicts.Servers), Listing: env.Listing,
		MOTD: env.News.Motd, KeyBanned: env.Keys.Banned, KeyMark: env.Keys.Mark,
		Players: env.Verdicts.Players,
	})
	r := service.OnListener(ln, func(ctx context.Context, ln net.Listener) error { return s.Serve(ctx, conn, ask, ln) })
	r.UDP = service.PacketAddrs([]*netserve.PacketConn{conn, ask})
	r.Reload = func(to service.Service) { s.Reload(to.(*Config)) }
	closeListener := r.Close
	r.Close = func() error {
		return errors.Join(service.ClosePackets([]*netserve.PacketConn{conn, ask}), closeListener())
	}
	return r, nil
}

// Config is section utmaster of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address, and TCP with the same port. Games expect port 28902.
	Listen              string `key:"listen" default:":28902" listen:"udp+tcp 28902"`
	netserve.ConnLimits `defaults:"max_conns=4096 max_per_addr=64 rate=10 burst=40"`
	// Game servers from one address, {range}. 0: no bound of its own.
	ServersPerAddr int `key:"servers_per_addr" default:"32" range:"0 to 65535" live:"true"`
	// Time for a client to sign in and request something, and for a server to sign in,
	// {range}. One that sends nothing at all is disconnected after 10s even if this is
	// longer.
	RequestTime time.Duration `key:"request_time" default:"30s" range:"1s to 1m" live:"true"`
	// A game server that was silent for this long is disconnected and leaves the list,
	// {range}. Servers report every minute.
	Timeout time.Duration `key:"timeout" default:"5m" range:"2m to 1h" live:"true"`
	// Asks game servers to send a datagram from each of their ports, true or false. It
	// proves the ports, also behind routers.
	Probe bool `key:"probe" default:"true" live:"true"`
	// How long the datagrams are waited for, {range}. After that a server gets the usual
	// ports.
	ProbeWait time.Duration `key:"probe_wait" default:"5s" range:"100ms to 30s" live:"true"`
	// Lists servers none of whose ports has answered, true or false. Players can most
	// probably not join them.
	ListUnproved bool `key:"list_unproved" default:"false" live:"true"`
	// Sends the ports to game servers before Unreal Tournament 2004 in a short form, as
	// one other master does, true or false. false: in the long form of all versions.
	ShortPorts bool `key:"short_ports" default:"false" live:"true"`
	// Sends a byte of flags with each server in lists for Unreal 2 XMP, true or false:
	// the masters that are known differ.
	XMPFlags bool `key:"xmp_flags" default:"true" live:"true"`
	// Pause between the number of servers in a list and the servers, {range}, for tools
	// only: the browser of qstat loses servers that arrive together with the number.
	ListPause time.Duration `key:"list_pause" default:"20ms" range:"0s to 1s" live:"true"`
	// Asks game servers for the key digests of their players, true or false, and has
	// them disconnect players whose keys are banned with `respawnd cdkey ban`.
	AskKeys bool `key:"ask_keys" default:"false" live:"true"`
}

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "epic", Number: 9, Story: "It registered with the Unreal Tournament master server; its address is verified.",
	Query: "gs1", QueryRule: ruleGameSpyPort, Catalogued: true,
}

// ruleGameSpyPort is the port on which a server answers GameSpy's queries.
const ruleGameSpyPort = "gsqueryport"

var _ = games.Declare(games.Kind{Name: "utmaster", Words: "Epic's master"})

// play requests the list as the newest version of the game does.
func play(ctx context.Context, g games.Game, address string) (string, error) {
	if len(g.Epic) == 0 {
		return "", errors.New("the catalogue does not have the version of the game")
	}
	return service.PlayTCP(ctx, address, func(conn net.Conn) (string, error) {
		b := Browser{Version: int32(g.Epic[0].Versions[1]), Word: g.Epic[0].Word}
		servers, err := b.List(ctx, conn)
		return service.PlayedList(len(servers)), err
	})
}
