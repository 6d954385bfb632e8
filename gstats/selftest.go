package gstats

import (
	"context"
	"errors"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

// Errors of the self-test.
var (
	errPrivate = errors.New("private data are given to a stranger")
	errStored  = errors.New("data are stored for a player who is not authenticated")
)

// checkedProfile is the number of a profile whose data the self-test asks for. It need not
// exist.
const checkedProfile = 1

// check proves that it is a game, reads a public block and is refused a private one.
func check(ctx context.Context, t *service.Trial) error {
	ctx = netclient.Bound(ctx, service.StepTimeout)
	conn, err := netclient.DialTCP(ctx, t.Address(name))
	if err != nil {
		return err
	}
	c, err := Connect(ctx, conn)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return checkOn(ctx, c, t.Game, t.Secret)
}

// checkOn is check on a connection.
func checkOn(ctx context.Context, c *Client, game, secret string) error {
	if err := c.Authenticate(ctx, game, secret); err != nil {
		return err
	}
	if _, _, err := c.Get(ctx, checkedProfile, 3, 0); err != nil {
		return err
	}
	_, _, err := c.Get(ctx, checkedProfile, 1, 0)
	if err == nil {
		return errPrivate
	}
	if !errors.Is(err, ErrRefused) {
		return err
	}
	_, err = c.Set(ctx, checkedProfile, 3, 0, false, []byte("selftest"))
	switch {
	case err == nil:
		return errStored
	case !errors.Is(err, ErrRefused):
		return err
	}
	return nil
}
