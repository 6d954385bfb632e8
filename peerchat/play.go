package peerchat

import (
	"context"
	"crypto/rand"
	"net"
	"strings"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/service"
)

// play signs on as games do, and leaves.
func play(ctx context.Context, g games.Game, address string) (string, error) {
	return service.PlayTCP(ctx, address, func(conn net.Conn) (string, error) {
		c := NewClient(conn)
		if secret := g.Secret(); secret != "" {
			if err := c.Encrypt(ctx, g.Name, secret); err != nil {
				return "", err
			}
		}
		if err := c.SignOn(ctx, "test-"+strings.ToLower(rand.Text()[:10])); err != nil {
			return "", err
		}
		return "signed on as " + c.Nick, c.Quit("")
	})
}
