package mangler

import (
	"context"
	"fmt"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/service"
)

// play asks the NAT helper for the port of this computer.
func play(ctx context.Context, _ games.Game, address string) (string, error) {
	c, err := Dial(ctx, address)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	at, err := c.Seen(time.Now().Add(service.PlayTimeout))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("it sees this computer at %s (port %d here)", at, c.Local().Port()), nil
}
