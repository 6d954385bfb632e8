package gstats

import (
	"context"
	"net"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Statistics and saved data", Nouns: []noun.Noun{noun.Accounts, noun.Stats}, Docs: []string{"protocols/gstats"},
		Steps:    []service.Step{{Name: name, Needs: []string{name}, Order: service.OrderAlone, Run: check}},
		Plays:    []service.Play{{Service: "gstats", Network: "TCP", Order: service.PlayKeeps, Means: "statistics and ranks are not kept", Run: play}},
		Dialogue: dialogueOf(),
	}
}

// Open opens the listener of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	s := New(Options{
		Config: *c, Self: env.Counted(reasons...), Peers: env.Peers(storage.ScopePresence, env.Verdicts.Players),
		Book: env.Stats, SignIn: env.Accounts.SignIn, ByCDKey: env.Accounts.Profiles.ByCDKeyHash, Players: env.Store, Games: env.Games,
		Attach: env.Hub.Attach, Present: env.Hub.SignedInFrom,
	})
	r, err := service.OpenConns(ctx, c.Listen, s)
	if err != nil {
		return nil, err
	}
	env.Stats.SetLimits(c.limits())
	r.Reload = func(to service.Service) {
		c := to.(*Config)
		env.Stats.SetLimits(c.limits())
		s.Reload(c)
	}
	return r, nil
}

// limits returns the limits of the data of games.
func (c *Config) limits() stats.Limits {
	return stats.Limits{MaxBlock: c.MaxBlock, MaxPerProfile: int64(c.MaxPerProfile), KeepGames: c.KeepGames, KeepFor: c.KeepFor}
}

// Config is section gstats of the configuration. The comment of each field explains
// its key.
type Config struct {
	// TCP address. Games expect port 29920.
	Listen              string `key:"listen" default:":29920" listen:"tcp 29920"`
	netserve.ConnLimits `defaults:"max_conns=16384 max_per_addr=256 rate=20 burst=256"`
	// Time for a game to prove that it has its secret key, {range}.
	LoginTime time.Duration `key:"login_time" default:"30s" range:"5s to 10m"`
	// How often a quiet connection is sent a keepalive, {range}. Clients ignore
	// it; routers keep the connection open.
	KeepAlive time.Duration `key:"keepalive" default:"90s" range:"5s to 1h"`
	// Silence after which a client is disconnected, {range}. Games are silent
	// between the start of a match and its end.
	Idle time.Duration `key:"idle" default:"2h" range:"10s to 48h"`
	// Time for a client to read data sent to it, {range}.
	Write time.Duration `key:"write" default:"30s" range:"1s to 10m"`
	// Time for a client's system to acknowledge data sent to it, {range}.
	UserTimeout time.Duration `key:"user_timeout" default:"75s" range:"10s to 10m"`

	// Blocks that the clients of one address may store per second, {range}. More
	// wait, for up to 10s, or are refused.
	Writes int `key:"writes" default:"500" range:"1 to 1000000" live:"true"`
	// Blocks that one address may store at once before the rate applies, {range}.
	WritesBurst int `key:"writes_burst" default:"10000" range:"1 to 1000000" live:"true"`
	// Reports of games per minute on one connection, {range}. More are dropped.
	Reports int `key:"reports" default:"120" range:"1 to 1000000" live:"true"`
	// Reports of games per minute from one address, {range}. More are dropped.
	ReportsPerAddr int `key:"reports_per_addr" default:"2400" range:"1 to 1000000" live:"true"`

	// Accepts a player whose password is not kept, and cannot be checked, while
	// the same player is signed in to gpcm from the same address, true or false.
	Unproven bool `key:"unproven" default:"false" live:"true"`
	// Length of one block, {range}.
	MaxBlock int `key:"max_block" default:"64KiB" range:"1KiB to 1MiB" live:"true"`
	// Length of all blocks of one profile, {range}.
	MaxPerProfile int `key:"max_per_profile" default:"1MiB" range:"1KiB to 8MiB" live:"true"`
	// Reported games that are kept of each game, {range}. The oldest are removed
	// first.
	KeepGames int `key:"keep_games" default:"1000" range:"1 to 1000000" live:"true"`
	// How long a reported game is kept, {range}.
	KeepFor time.Duration `key:"keep_for" default:"2160h" range:"1m to 87600h" live:"true"`
}

// play proves the key of the game.
func play(ctx context.Context, g games.Game, address string) (string, error) {
	if g.Secret() == "" {
		return "", service.ErrPlayNoKey
	}
	return service.PlayTCP(ctx, address, func(conn net.Conn) (string, error) {
		c, err := Connect(ctx, conn)
		if err != nil {
			return "", err
		}
		return "the game is accepted", c.Authenticate(ctx, g.Name, g.Secret())
	})
}
