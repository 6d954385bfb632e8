package nwmaster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/nwn"
	"github.com/respawnd/respawnd/internal/service"
)

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
