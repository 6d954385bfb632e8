package q3master

import (
	"context"
	"errors"
	"net/netip"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/service"
)

var errNotAsked = errors.New("no getinfo came for a heartbeat (respawnd doctor may say why)")

func findServer(ctx context.Context, t *service.Trial) error {
	pairs := []string{
		"gamename", t.Game, "protocol", "1", "hostname", "respawnd selftest", "mapname", "selftest",
		"clients", "0", "sv_maxclients", "8", "gametype", "0",
	}
	return Try(ctx, t.Address("q3master"), named, pairs, func(p *netclient.Packets) *Browser { return &Browser{Packets: p} },
		quake3.Request{Game: []byte(t.Game), Protocol: 1, Empty: true}, nil)
}

// Try lets a server send a heartbeat and answer, then calls with if it is not nil, and
// looks for the server in a list.
func Try(ctx context.Context, address, tag string, pairs []string, browser func(*netclient.Packets) *Browser, r quake3.Request, with func(*Host) error) error {
	var h *Host
	open := func(p *netclient.Packets) service.TrialHost {
		h = NewHost(p, tag, pairs...)
		return h
	}
	return service.TryHost(ctx, address, errNotAsked, open, func(context.Context, *netclient.Packets) error {
		if with == nil {
			return nil
		}
		return with(h)
	}, func(ctx context.Context, p *netclient.Packets) ([]netip.AddrPort, error) {
		return browser(p).List(ctx, r)
	})
}
