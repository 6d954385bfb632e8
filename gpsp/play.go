package gpsp

import (
	"context"
	"crypto/rand"
	"net"
	"strings"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/service"
)

// play asks for an account that does not exist.
func play(ctx context.Context, g games.Game, address string) (string, error) {
	return service.PlayTCP(ctx, address, func(conn net.Conn) (string, error) {
		_, err := NewClient(conn).Exists(ctx, strings.ToLower(rand.Text())+"@example.invalid", g.Name)
		return "it answers", err
	})
}
