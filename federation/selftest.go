package federation

import (
	"context"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/web/api"
)

// readOwn looks for the test server in the list that this daemon offers to others.
func readOwn(ctx context.Context, t *service.Trial) error {
	if t.Server == nil {
		return service.ErrNotRegistered
	}
	ctx, cancel := context.WithTimeout(ctx, service.StepTimeout)
	defer cancel()
	c := &api.Client{HTTP: netclient.HTTP(), Base: "http://" + t.Address("web"), Game: t.Game, Full: true}
	found := false
	_, err := c.List(ctx, func(r *api.Remote) {
		found = found || r.Rules["hostname"] == t.Name && r.Address.Port() == t.Server.Port()
	})
	if err == nil && !found {
		err = service.ErrNotInList
	}
	return err
}
