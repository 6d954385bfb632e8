package gpcm

import (
	"context"
	"net"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/service"
)

// greet waits for the greeting of the presence service.
func greet(ctx context.Context, _ games.Game, address string) (string, error) {
	return service.PlayTCP(ctx, address, func(conn net.Conn) (string, error) {
		c, err := Connect(ctx, conn)
		if err != nil {
			return "", err
		}
		return "it greets", c.Close()
	})
}
