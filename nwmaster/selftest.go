package nwmaster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/nwn"
	"github.com/respawnd/respawnd/internal/service"
)

// steps returns the step of the self-test in which a server reports and is asked, and the
// keys of a player are good.
func steps() []service.Step {
	return []service.Step{{Name: name, Needs: []string{name}, Order: service.OrderAlone, Run: try}}
}

func try(ctx context.Context, t *service.Trial) error {
	conn, err := netclient.Listen(ctx, t.Address(name))
	if err != nil {
		return err
	}
	h := NewHost(conn, "respawnd selftest", nwn.Rules{Port: usualPort, Game: nwn.Game1, Most: 8, Module: []byte("selftest")})
	var serving sync.WaitGroup
	serving.Go(h.Serve)
	defer func() { _ = conn.Close(); serving.Wait() }()
	if err := h.Report(netclient.Bound(ctx, service.StepTimeout)); err != nil {
		return fmt.Errorf("no question came for a report (respawnd doctor may say why): %w", err)
	}
	defer func() { _ = h.Leave() }()
	dial, err := netclient.Dial(ctx, t.Address(name))
	if err != nil {
		return err
	}
	defer func() { _ = dial.Close() }()
	bound := netclient.Bound(ctx, service.StepTimeout)
	if err := Status(bound, dial); err != nil {
		return fmt.Errorf("no answer to a status: %w", err)
	}
	list, err := CheckKeys(bound, dial, nwn.KeyCheck{
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
