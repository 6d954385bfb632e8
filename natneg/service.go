package natneg

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/hostnet"
	"github.com/respawnd/respawnd/internal/meeting"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/storage"
)

// OutcomesFile is the file in the data folder that keeps the numbers of outcomes over a
// restart. It is not part of a backup: a new machine works without it.
const OutcomesFile = "natneg.outcomes"

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Connections through routers", Nouns: []noun.Noun{noun.Meetings, noun.Names}, Docs: []string{"protocols/natneg"}, Further: c.ExtraListen, Steps: steps(),
		Plays:    []service.Play{{Service: "natneg", Network: "UDP", Order: service.PlayMeets, Means: "games behind routers cannot be joined", Run: play}},
		Dialogue: dialogue.Public(dialogue.Leading(len(magic) + 2)), // with the version and the type
	}
}

// Open opens the address that clients know, a second socket on any port of it, and
// the further addresses. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	var sockets Sockets
	r := new(service.Running)
	var opened []*netserve.PacketConn
	r.Close = func() error { return service.ClosePackets(opened) }
	open := func(address string) (*netserve.PacketConn, error) {
		c, err := netserve.ListenPackets(ctx, "udp4", address, netserve.ListenOptions{})
		if err == nil {
			opened = append(opened, c)
			r.UDP = append(r.UDP, c.LocalAddr())
		}
		return c, err
	}
	var err error
	if sockets.Main, err = open(c.Listen); err != nil {
		return nil, err
	}
	r.Address = sockets.Main.LocalAddr()
	second := netip.AddrPortFrom(sockets.Main.LocalAddr().Addr(), 0)
	if sockets.Second, err = open(second.String()); err != nil {
		return nil, errors.Join(fmt.Errorf("second socket: %w", err), r.Close())
	}
	for _, extra := range c.ExtraListen {
		further, err := open(extra)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("natneg.extra_listen: %w", err), r.Close())
		}
		sockets.Extra = append(sockets.Extra, further)
	}
	s := New(Options{
		Config: *c, Self: env.Counted(reasons...), Peers: env.Peers(storage.ScopeAll, env.Verdicts.Players),
		Met: env.Met, Meetings: env.Meetings, Relay: env.Relay, Games: env.Games,
		Addresses: hostnet.Physical, Given: given(env), Cluster: env.Cluster,
	})
	file := meeting.File{Path: filepath.Join(env.DataDir, OutcomesFile), Log: env.Log}
	file.Load(env.Meetings)
	r.Serve = func(ctx context.Context) error {
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error { return s.Serve(ctx, sockets) })
		g.Go(func() error { file.Keep(ctx, env.Meetings); return nil })
		return g.Wait()
	}
	r.Reload = func(to service.Service) { s.Reload(to.(*Config)) }
	return r, nil
}

// given returns Options.Given by the addresses that servers are listed under.
func given(env *service.Env) func(player, partner netip.Addr) netip.Addr {
	return func(player, partner netip.Addr) netip.Addr {
		return env.Addresses.Browser(player, netip.Addr{}).Given(netip.AddrPortFrom(partner, 0)).Addr()
	}
}
