package admin

import (
	"context"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

func ready(ctx context.Context, t *service.Trial) error {
	ctx, cancel := context.WithTimeout(ctx, service.StepTimeout)
	defer cancel()
	_, err := netclient.Get(ctx, t.Address("admin"), "/readyz")
	return err
}
