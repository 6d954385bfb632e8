package nwmaster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/nwn"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Neverwinter Nights accounts and servers", Nouns: []noun.Noun{noun.Accounts, noun.Names}, Docs: []string{"protocols/nwmaster"}, Origins: []*master.Origin{Origin}, AskEvery: c.AskEvery(),
		Dialogue: dialogueOf(),
		Plays:    []service.Play{{Service: "nwmaster", Network: "UDP", Order: service.PlayLists, Family: true, Means: "your account and CD keys are not accepted", Run: play}},
		Steps:    []service.Step{{Name: name, Needs: []string{name}, Order: service.OrderAlone, Run: try}},
		Check:    func(string, service.Moment) error { return c.check() },
	}
}

// check returns the first mistake in texts.
func (c *Config) check() error {
	for _, t := range []struct {
		key, text string
		most      int
	}{{"motd", c.Motd, maxMotd}, {"version", c.Version, maxVersion}} {
		if len(t.text) > t.most {
			return fmt.Errorf("nwmaster.%s: %d bytes, at most %d are allowed", t.key, len(t.text), t.most)
		}
		for _, b := range []byte(t.text) {
			if b < ' ' || b > '~' {
				return fmt.Errorf("nwmaster.%s: %q is not a visible character of ASCII", t.key, b)
			}
		}
	}
	return nil
}

// Open opens the sockets of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	conns, err := netserve.Ports{Network: "udp4", Address: c.Listen, Usual: usualPort, Further: env.Games.MasterNames(name).Ports()}.Open(ctx, c.ListenOptions(), env.Log)
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(c.Listen) // the address was checked
	asking, err := netserve.ListenPackets(ctx, "udp4", net.JoinHostPort(host, "0"), netserve.ListenOptions{})
	if err != nil {
		return nil, errors.Join(err, conns.Close())
	}
	s := New(Options{
		Config: *c, Registration: env.Registers(storage.ScopeLists, uplink.DropNames()...),
		Players: env.BannedFrom(storage.ScopePresence), Asking: asking.LocalAddr().Port(),
		Profile: env.Accounts.Profiles.ByUniqueNick, CheckProof: env.Accounts.SignIn.CheckProof,
	})
	r := service.OnSockets(conns, &s.Master, func(to service.Service) { s.Reload(to.(*Config)) })
	r.UDP = append(r.UDP, asking.LocalAddr())
	r.Serve = func(ctx context.Context) error { return s.Serve(ctx, conns.First, asking, conns.Further...) }
	r.Close = func() error { return errors.Join(conns.Close(), asking.Close()) }
	return r, nil
}

// Values of Config.Accounts.
const (
	// Open admits all players, but the name of an account needs its password.
	Open = "open"
	// Strict admits only players with an account here.
	Strict = "strict"
	// Off admits all players.
	Off = "off"
)

// Config is section nwmaster of the configuration. The comment of each field explains
// its key.
type Config struct {
	// UDP address. Neverwinter Nights expects port 5121. The port of Neverwinter Nights 2,
	// 6121, is opened at the same distance from this one.
	Listen string `key:"listen" default:":5121" listen:"udp 5121"`
	// Which players are let in: {words}. open: all, but a player who uses the unique nick of an
	// account here must know its password. strict: only players with an account here. off: all, and
	// no account is looked at.
	Accounts string `key:"accounts" default:"open" words:"open, strict, off" live:"true"`
	// Checks of players that may wait for the store, {range}. Further ones are dropped;
	// games ask again.
	MaxChecks int `key:"max_checks" default:"256" range:"1 to 65536"`
	// Message of the day, at most 32 bytes of ASCII: a longer one would be more than
	// players send. Empty: none.
	Motd string `key:"motd" as:"text" live:"true"`
	// Version that is announced to players as the newest. Later ones are not asked to
	// update.
	Version string `key:"version" default:"8109" as:"text" live:"true"`
	uplink.Config
}

// maxMotd and maxVersion bound the keys motd and version.
const (
	maxMotd    = 32
	maxVersion = 4
)

// usualPort is the port of the first game.
const usualPort = 5121

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "nwn", Number: 12, Story: "It registered with the Neverwinter Nights master server, and answered a question to another port.",
	Query: "nwn",
}

var _ = games.Declare(games.Kind{Name: name, Words: "BioWare's account check", Names: true, Query: Origin.Query})

var errNotAccepted = errors.New("a player without an account is not accepted: nwmaster.accounts is strict there, so players need an account")

// play signs in with a name that has no account.
func play(ctx context.Context, _ games.Game, address string) (string, error) {
	return service.PlayUDP(ctx, address, func(p *netclient.Packets) (string, error) {
		result, err := SignIn(ctx, p, "respawnd playtest", "x")
		if err == nil && result != 0 {
			err = errNotAccepted
		}
		return "players are accepted", err
	})
}

var errNotAsked = errors.New("no question came for a report (respawnd doctor may say why)")

func try(ctx context.Context, t *service.Trial) error {
	return service.TryHost(ctx, t.Address(name), errNotAsked, func(p *netclient.Packets) service.TrialHost {
		return NewHost(p, "respawnd selftest", nwn.Rules{Port: usualPort, Game: nwn.Game1, Most: 8, Module: []byte("selftest")})
	}, tryPlayer, nil)
}

// tryPlayer asks as servers and players do.
func tryPlayer(ctx context.Context, p *netclient.Packets) error {
	if err := Status(ctx, p); err != nil {
		return fmt.Errorf("no answer to a status: %w", err)
	}
	list, err := CheckKeys(ctx, p, nwn.KeyCheck{
		Player: netip.MustParseAddrPort("192.0.2.1:5120"), Salt: []byte("salt"), Keys: []nwn.Key{{Public: []byte("SELFTEST"), Hash: []byte(HashOf("", ""))}},
		Account: []byte("selftest"),
	})
	switch {
	case err != nil:
		return fmt.Errorf("no answer about the keys of a player: %w", err)
	case len(list) != 1 || list[0].Result != nwn.Good:
		return errors.New("the key of a player was refused")
	}
	return nil
}
