package legacylist

import (
	"context"
	"net"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/service"
)

// play requests the list.
func play(ctx context.Context, g games.Game, address string) (string, error) {
	if g.Secret() == "" {
		return "", service.ErrPlayNoKey
	}
	return service.PlayTCP(ctx, address, func(conn net.Conn) (string, error) {
		r := Request{Engine: g.Name, Secret: g.Secret(), Enctype: 2, Mode: Compact, Game: g.Name}
		servers, err := r.Ask(ctx, conn)
		return service.PlayedList(len(servers)), err
	})
}
