package selftest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"

	"github.com/respawnd/respawnd/gstats"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/storage"
)

// saveData creates an account as games do, stores private data for its player, and reads
// them on another connection. It deletes the account, and the data with it.
func saveData(ctx context.Context, t *service.Trial) (err error) {
	all, err := t.Accounts(ctx)
	if err != nil {
		return err
	}
	a, profile, err := makeAccount(ctx, t, all)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, deleteAccount(ctx, all, a.Email)) }()
	id, err := strconv.ParseUint(profile, 10, 32)
	if err != nil {
		return fmt.Errorf("gpsp: %w", err)
	}
	data := []byte("hello " + rand.Text())
	err = onStats(ctx, t, storage.ProfileID(id), a.Password, func(ctx context.Context, c *gstats.Client) error {
		_, err := c.Set(ctx, storage.ProfileID(id), int(storage.StatPrivateWrite), 0, false, data)
		return err
	})
	if err == nil {
		err = onStats(ctx, t, storage.ProfileID(id), a.Password, func(ctx context.Context, c *gstats.Client) error {
			got, _, err := c.Get(ctx, storage.ProfileID(id), int(storage.StatPrivateWrite), 0)
			if err == nil && !bytes.Equal(got, data) {
				err = fmt.Errorf("the data came as %q, want %q", got, data)
			}
			return err
		})
	}
	if errors.Is(err, errNotKept) {
		t.Remark("passwords are not kept, so no player can prove one: accounts.keep_passwords")
		return nil
	}
	if err != nil {
		return fmt.Errorf("gstats: %w", err)
	}
	return nil
}

// errNotKept reports that the service refuses a player because the password is not kept.
var errNotKept = errors.New("the password is not kept")

// onStats calls use with a connection at which a player is authenticated.
func onStats(ctx context.Context, t *service.Trial, id storage.ProfileID, password string, use func(context.Context, *gstats.Client) error) error {
	ctx = netclient.Bound(ctx, service.StepTimeout)
	conn, err := netclient.DialTCP(ctx, t.Address("gstats"))
	if err != nil {
		return err
	}
	c, err := gstats.Connect(ctx, conn)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if err := c.Authenticate(ctx, t.Game, t.Secret); err != nil {
		return err
	}
	err = c.AuthenticatePlayer(ctx, id, password)
	if refused, ok := errors.AsType[*gstats.Refused](err); ok && refused.Text == accounts.ErrNotKept.Error() {
		return errNotKept
	}
	if err != nil {
		return err
	}
	return use(ctx, c)
}
