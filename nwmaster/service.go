package nwmaster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

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
		Title: "Neverwinter Nights accounts and servers", Nouns: []noun.Noun{noun.Accounts, noun.Names}, Docs: []string{"protocols/nwmaster"}, Origins: []*master.Origin{Origin}, AskEvery: c.AskEvery(),
		Plays: []service.Play{{Service: "nwmaster", Network: "UDP", Order: service.PlayLists, Family: true, Means: "your account and CD keys are not accepted", Run: play}},
		Steps: []service.Step{{Name: name, Needs: []string{name}, Order: service.OrderAlone, Run: try}},
		Check: func(string, service.Moment) error { return c.check() },
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
	listen := c.ListenOptions()
	conn, err := netserve.ListenPackets(ctx, "udp4", c.Listen, listen)
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(c.Listen) // the address was checked
	asking, err := netserve.ListenPackets(ctx, "udp4", net.JoinHostPort(host, "0"), netserve.ListenOptions{})
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	further := uplink.OpenFurther(ctx, "udp4", c.Listen, usualPort, env.Games.MasterNames(name).Ports(), listen, env.Log)
	s := New(Options{
		Config: *c, Self: env.Counted(uplink.DropNames()...), Peers: env.Peers(storage.ScopeLists, env.Verdicts.Servers), Listing: env.Listing,
		Players: env.BannedFrom(storage.ScopePresence), Asking: asking.LocalAddr().Port(),
		Profile: env.Accounts.Profiles.ByUniqueNick, CheckProof: env.Accounts.SignIn.CheckProof,
	})
	return &service.Running{
		Address: conn.LocalAddr(), UDP: append([]netip.AddrPort{asking.LocalAddr()}, uplink.Addresses(conn, further)...),
		Ports:     uplink.Ports(c.Listen, further),
		Serve:     func(ctx context.Context) error { return s.Serve(ctx, conn, asking, further...) },
		Reload:    func(to service.Service) { s.Reload(to.(*Config)) },
		Close:     func() error { return errors.Join(conn.Close(), asking.Close(), uplink.Close(further)) },
		Callbacks: &service.Callbacks{Origin: Origin, Expired: s.keeper.Expired, Replaced: s.keeper.Replaced},
	}, nil
}
