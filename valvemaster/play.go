package valvemaster

import (
	"context"
	"fmt"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

// play requests the first page of the list.
func play(ctx context.Context, g games.Game, address string) (string, error) {
	return service.PlayUDP(ctx, address, func(p *netclient.Packets) (string, error) {
		first, err := (&Browser{Packets: p}).Page(ctx, `\gamedir\`+g.Name, Start)
		return fmt.Sprintf("%s on the first page", service.PlayedList(len(first.Servers))), err
	})
}
