package gstats

import (
	"context"
	"net"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/service"
)

// plays is the step of the trial game.
var plays = []service.Play{
	{Service: "gstats", Network: "TCP", Order: service.PlayKeeps, Means: "statistics and ranks are not kept", Run: play},
}

// play proves the key of the game.
func play(ctx context.Context, g games.Game, address string) (string, error) {
	if g.Secret() == "" {
		return "", service.ErrPlayNoKey
	}
	return service.PlayTCP(ctx, address, func(conn net.Conn) (string, error) {
		c, err := Connect(ctx, conn)
		if err != nil {
			return "", err
		}
		return "the game is accepted", c.Authenticate(ctx, g.Name, g.Secret())
	})
}
