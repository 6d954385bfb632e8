package utmaster

import (
	"context"
	"errors"
	"net"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/service"
)

// plays is the step of the trial game.
var plays = []service.Play{
	{Service: "utmaster", Network: "TCP", Order: service.PlayLists, Family: true, Means: "the server browser of the game stays empty", Run: play},
}

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
