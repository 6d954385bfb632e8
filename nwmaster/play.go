package nwmaster

import (
	"context"
	"errors"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

var errNotAccepted = errors.New("a player without an account is not accepted: nwmaster.accounts is strict there, so players need an account")

// play signs in with a name that has no account.
func play(ctx context.Context, _ games.Game, address string) (string, error) {
	return service.PlayUDP(ctx, address, func(p *netclient.Packets) (string, error) {
		result, err := SignIn(ctx, p, "respawnd playtest", "x")
		if err == nil && result != 0 {
			err = errNotAccepted
		}
		return "players are accepted", err
	})
}
