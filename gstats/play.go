package gstats

import (
	"context"
	"net"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/service"
)

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
