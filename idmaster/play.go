package idmaster

import (
	"context"
	"net/netip"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/idtech4"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

// play sends a key, which needs no real one, and requests the list.
func play(ctx context.Context, g games.Game, address string) (string, error) {
	return service.PlayUDP(ctx, address, func(p *netclient.Packets) (string, error) {
		var protocol idtech4.Protocol // of all versions
		k := idtech4.Keys{Protocol: protocol, Server: netip.MustParseAddrPort("192.0.2.1:27666"), Key: []byte("TESTTESTTESTTEST")}
		if _, err := SendKeys(ctx, p, k); err != nil {
			return "", err
		}
		servers, err := List(ctx, p, idtech4.Request{Protocol: protocol}, 1)
		return service.PlayedList(len(servers)), err
	})
}
