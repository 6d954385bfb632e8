package qr2

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/respawnd/respawnd/internal/dialogue"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

// Describe implements service.Service.
func (c *Config) Describe() service.Descriptor {
	return service.Descriptor{
		Title: "Game servers report here", Nouns: []noun.Noun{noun.GameSpy, noun.Names}, Docs: []string{"protocols/qr2"}, Origins: master.Origins{Origin, OldOrigin}, Decoder: NewDecoder,
		Plays:    []service.Play{{Service: "qr2", Network: "UDP", Order: service.PlayReports, Means: "the game says that its online service is not available, and your own server is not listed", Run: play}},
		Steps:    []service.Step{{Name: "qr2", Needs: []string{"qr2"}, Order: service.OrderRegister, Run: register}},
		Takes:    []verdicts.Verdict{verdicts.SpeaksQR2, verdicts.SpeaksQR1},
		Expire:   c.Expire,
		Check:    func(string, service.Moment) error { return c.checkAnnounce() },
		Dialogue: dialogue.Protocol{Blot: blot, Shape: shape},
	}
}

// Open opens the sockets of the service. It implements service.Service.
func (c *Config) Open(ctx context.Context, env *service.Env) (*service.Running, error) {
	conn, err := netserve.ListenPackets(ctx, "udp4", c.Listen, c.ListenOptions())
	if err != nil {
		return nil, err
	}
	probes, err := c.openProbes(ctx, conn.LocalAddr().Addr(), env.Further)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("socket of the reachability probe: %w", err), conn.Close())
	}
	if got, _ := conn.Buffers(); got > 0 && got < c.ReadBuffer {
		env.Log.Info().Int("wanted", c.ReadBuffer).Int("granted", got).
			Msg("the system caps the receive buffer (net.core.rmem_max on Linux); bursts may lose packets")
	}
	s := New(Options{
		Config: *c, Self: env.Counted(dropNames()...), Peers: env.Peers(storage.ScopeLists, env.Verdicts.Servers), Listing: env.Listing, Guests: env.Guests,
	})
	s.use(conn, nil) // players may send messages from "ready" on, when Serve may not have run yet
	opened := append([]*netserve.PacketConn{conn}, probes...)
	return &service.Running{
		Address: conn.LocalAddr(), UDP: service.PacketAddrs(opened),
		Serve: func(ctx context.Context) error {
			if len(probes) == 0 {
				return s.Serve(ctx, conn, nil)
			}
			return s.Serve(ctx, conn, probes[0], probes[1:]...)
		},
		Reload: func(to service.Service) { s.Reload(to.(*Config)) },
		Close:  func() error { return service.ClosePackets(opened) },
		Callbacks: &service.Callbacks{
			Origin: Origin, Messenger: s, Expired: s.Expired, Replaced: s.Replaced, Met: s.Negotiated, Relayed: s.Relayed, Recheck: s.Recheck,
		},
	}, nil
}

// openProbes opens the sockets of the reachability probe, on any ports: one on the
// address of the intake, since hosts may not reach others, and one on each further
// address. None are opened if hosts are not probed.
func (c *Config) openProbes(ctx context.Context, intake netip.Addr, further []string) (opened []*netserve.PacketConn, err error) {
	if !c.Probe {
		return nil, nil
	}
	addresses := []netip.Addr{intake}
	for _, extra := range further {
		a, err := netip.ParseAddrPort(extra)
		if err == nil && a.Addr().Is4() && !a.Addr().IsUnspecified() && !slices.Contains(addresses, a.Addr()) {
			addresses = append(addresses, a.Addr())
		}
	}
	for _, a := range addresses {
		conn, err := netserve.ListenPackets(ctx, "udp4", netip.AddrPortFrom(a, 0).String(), netserve.ListenOptions{})
		if err != nil {
			return nil, errors.Join(err, service.ClosePackets(opened))
		}
		opened = append(opened, conn)
	}
	return opened, nil
}
