package zanmaster

import (
	"context"
	"net/netip"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

var _ = service.DeclareReader(service.MasterForm{Protocol: "zandronum", Port: "15300"}, read)

// read reads the list for launchers from another master.
func read(ctx context.Context, r *service.Reading) error {
	list, err := r.Ask(ctx, func(ctx context.Context, p *netclient.Packets) ([]netip.AddrPort, error) {
		l := Launcher{Packets: p, Max: r.Most}
		return l.List(ctx)
	})
	return r.TellAll(list, "zandronum", "", err)
}
