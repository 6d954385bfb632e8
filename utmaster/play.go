package utmaster

import (
	"context"
	"errors"
	"net"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/service"
)

// play requests the list as the newest version of the game does.
func play(ctx context.Context, g games.Game, address string) (string, error) {
	if len(g.Epic) == 0 {
		return "", errors.New("the catalogue does not have the version of the game")
	}
	return service.PlayTCP(ctx, address, func(conn net.Conn) (string, error) {
		b := Browser{Version: int32(g.Epic[0].Versions[1]), Word: g.Epic[0].Word}
		servers, err := b.List(ctx, conn)
		return service.PlayedList(len(servers)), err
	})
}
