package codmaster

import (
	"context"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/q3master"
)

// play requests the list of the game's first protocol.
func play(ctx context.Context, g games.Game, address string) (string, error) {
	return service.PlayUDP(ctx, address, func(p *netclient.Packets) (string, error) {
		servers, err := NewBrowser(p).List(ctx, q3master.RequestOf(g))
		return service.PlayedList(len(servers)), err
	})
}
