package idmaster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/respawnd/respawnd/internal/idtech4"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

// doom3 is the protocol of Doom 3 after its last patch.
const doom3 = 1<<16 + 41

var errNotAsked = errors.New("no getInfo came for a heartbeat (respawnd doctor may say why)")

func try(ctx context.Context, t *service.Trial) error {
	open := func(p *netclient.Packets) service.TrialHost {
		return NewHost(p, InfoOf(doom3, "si_name", "respawnd selftest", "si_map", "selftest", "si_maxPlayers", "8"))
	}
	return service.TryHost(ctx, t.Address(name), errNotAsked, open, join, func(ctx context.Context, p *netclient.Packets) ([]netip.AddrPort, error) {
		return List(ctx, p, idtech4.Request{Protocol: doom3}, 1)
	})
}

// join sends a key, then asks about the player that it names.
func join(ctx context.Context, p *netclient.Packets) error {
	server := netip.MustParseAddrPort("192.0.2.1:27666")
	guid, err := SendKeys(ctx, p, idtech4.Keys{Protocol: doom3, Server: server, Key: []byte("SELFTESTSELFTEST")})
	if err != nil {
		return fmt.Errorf("no answer to a key: %w", err)
	}
	v, err := Check(ctx, p, idtech4.Check{Protocol: doom3, Player: server, Client: 1, GUID: []byte(guid)})
	switch {
	case err != nil:
		return fmt.Errorf("no answer about a player: %w", err)
	case v.Reply != idtech4.Accepted || string(v.GUID) != guid:
		return errors.New("a player was not let in")
	}
	return nil
}
