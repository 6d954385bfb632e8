package idmaster

import (
	"context"
	"net/netip"

	"github.com/respawnd/respawnd/internal/idtech4"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

var _ = service.DeclareReader(service.MasterForm{
	Protocol: "idmaster", Port: "27650", Needs: []string{"protocol=1.41"}, Options: []string{"game=GAME"}, Version: true,
}, read)

// read reads the list of a protocol of Doom 3's engine from another master.
func read(ctx context.Context, r *service.Reading) error {
	q := idtech4.Request{Protocol: idtech4.Protocol(r.Number)}
	return r.List(ctx, q.AppendTo(nil), func(list []netip.AddrPort, p []byte) ([]netip.AddrPort, netclient.Part, error) {
		kind, rest, _ := idtech4.Cut(p)
		if kind != idtech4.KindServers {
			return list, netclient.NoPart, nil
		}
		list, err := idtech4.ParseList(list, rest)
		return list, netclient.SomePart, err
	}, "idtech4", r.Game)
}
