package q2master

import (
	"context"
	"net/netip"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/internal/service"
)

var _ = service.DeclareReader(service.MasterForm{Protocol: "q2", Port: "27900", Options: []string{"game=GAME"}}, read)

// read reads the list of another master of Quake 2's family.
func read(ctx context.Context, r *service.Reading) error {
	return r.List(ctx, quake2.AppendQuery(nil), ListPackets(quake2.ParseList), "quake2", r.Game)
}

// ListPackets returns a parser of lists without end marks, as netclient.List has it.
func ListPackets(parse func([]netip.AddrPort, []byte) ([]netip.AddrPort, bool, error)) func([]netip.AddrPort, []byte) ([]netip.AddrPort, netclient.Part, error) {
	return func(list []netip.AddrPort, p []byte) ([]netip.AddrPort, netclient.Part, error) {
		list, ok, err := parse(list, p)
		if !ok {
			return list, netclient.NoPart, nil
		}
		return list, netclient.SomePart, err
	}
}
