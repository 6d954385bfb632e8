package admin

import (
	"context"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

// steps returns the step of the self-test that checks that every socket of the
// daemon is open.
func steps() []service.Step {
	return []service.Step{{Name: "admin", Needs: []string{"admin"}, Order: service.OrderPages, Run: ready}}
}

func ready(ctx context.Context, t *service.Trial) error {
	ctx, cancel := context.WithTimeout(ctx, service.StepTimeout)
	defer cancel()
	_, err := netclient.Get(ctx, t.Address("admin"), "/readyz")
	return err
}
