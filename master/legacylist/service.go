package legacylist

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

var _ = verdicts.Speak("legacylist", verdicts.Speaker{What: "request for a list", Player: true, Texts: verdicts.ListTexts})

// Describe implements service.Service.
func (*Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Server lists in games from before 2004", Nouns: []noun.Noun{noun.GameSpy, noun.Names, noun.Rooms}, Docs: []string{"protocols/legacylist"}, Shows: true, Steps: steps(),
		Plays:    []service.Play{{Service: "legacylist", Network: "TCP", Order: service.PlayLists, Means: "the server browser of the game stays empty", Run: play}},
		Dialogue: dialogueOf(),
	}
}

// Open opens the listener of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	return service.OpenConns(ctx, c.Listen, New(Options{
		Config: *c, Self: env.Counted(reasons...), Peers: env.Peers(storage.ScopeLists, env.Verdicts.Players), Listing: env.Listing,
		Rooms: env.Rooms, Waiting: env.Waiting,
	}))
}

// Config is section legacylist of the configuration. The comment of each field explains
// its key.
type Config struct {
	// TCP address. Games expect port 28900.
	Listen              string `key:"listen" default:":28900" listen:"tcp 28900"`
	netserve.ConnLimits `defaults:"max_conns=1024 max_per_addr=32 rate=10 burst=40"`
	// Time for a client to request its list, {range}. One that sends nothing at
	// all is disconnected after 10s even if this is longer.
	RequestTime time.Duration `key:"request_time" default:"30s" range:"1s to 1m"`
	// Requires proof for a list without encryption, true or false. true: only a client that proves
	// that it knows its game's key. false: any client, since tools such as qstat prove nothing. A
	// game's own policy has priority.
	StrictValidate bool `key:"strict_validate" default:"false"`
	// Ignores filters that cannot be read, true or false. true: the filter is ignored and logged,
	// and the client gets all servers. false: the client gets an error.
	LenientFilter bool `key:"lenient_filter" default:"true"`
}

// play requests the list.
func play(ctx context.Context, g games.Game, address string) (string, error) {
	if g.Secret() == "" {
		return "", service.ErrPlayNoKey
	}
	return service.PlayTCP(ctx, address, func(conn net.Conn) (string, error) {
		r := Request{Engine: g.Name, Secret: g.Secret(), Enctype: 2, Mode: Compact, Game: g.Name}
		servers, err := r.Ask(ctx, conn)
		return service.PlayedList(len(servers)), err
	})
}

// steps returns the step of the self-test that looks for the test server in the old
// list, as a game does whose list is encrypted with its secret.
func steps() []service.Step {
	return []service.Step{{
		Name: "legacylist list", Server: true, Needs: []string{"legacylist"}, Order: service.OrderLists, Run: findServer,
	}}
}

func findServer(ctx context.Context, t *service.Trial) error {
	if t.Server == nil {
		return service.ErrNotRegistered
	}
	conn, err := netclient.DialTCP(ctx, t.Address("legacylist"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	r := Request{Engine: t.Game, Secret: t.Secret, Enctype: 2, Mode: Compact, Game: t.Game, Filter: "hostname='" + t.Name + "'"}
	servers, err := r.Ask(netclient.Bound(ctx, service.StepTimeout), conn)
	if err != nil {
		return err
	}
	// The name of the test server is unique, so it is the only one.
	if !slices.ContainsFunc(servers, func(a netip.AddrPort) bool { return a.Port() == t.Server.Port() }) {
		return service.ErrNotInList
	}
	return nil
}
