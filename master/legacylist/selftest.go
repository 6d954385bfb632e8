package legacylist

import (
	"context"
	"net/netip"
	"slices"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

// steps returns the step of the self-test that looks for the test server in the old
// list, as a game does whose list is encrypted with its secret.
func steps() []service.Step {
	return []service.Step{{
		Name: "legacylist list", Server: true, Needs: []string{"legacylist"}, Order: service.OrderLists, Run: findServer,
	}}
}

func findServer(ctx context.Context, t *service.Trial) error {
	if t.Server == nil {
		return service.ErrNotRegistered
	}
	conn, err := netclient.DialTCP(ctx, t.Address("legacylist"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	r := Request{Engine: t.Game, Secret: t.Secret, Enctype: 2, Mode: Compact, Game: t.Game, Filter: "hostname='" + t.Name + "'"}
	servers, err := r.Ask(netclient.Bound(ctx, service.StepTimeout), conn)
	if err != nil {
		return err
	}
	// The name of the test server is unique, so it is the only one.
	if !slices.ContainsFunc(servers, func(a netip.AddrPort) bool { return a.Port() == t.Server.Port() }) {
		return service.ErrNotInList
	}
	return nil
}
