package mangler

import (
	"context"
	"fmt"
	"time"

	"github.com/respawnd/respawnd/internal/service"
)

// check asks how the port of a socket looks from the service. On one machine nothing
// changes it.
func check(ctx context.Context, t *service.Trial) error {
	c, err := Dial(ctx, t.Address("mangler"))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	seen, err := c.Seen(time.Now().Add(service.StepTimeout))
	if err == nil && seen.Port() != c.Local().Port() {
		err = fmt.Errorf("it saw port %d, and the socket has port %d", seen.Port(), c.Local().Port())
	}
	return err
}
