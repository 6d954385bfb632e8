package utmaster

import (
	"cmp"
	"context"
	"errors"
	"net/netip"

	"github.com/respawnd/respawnd/internal/service"
)

var _ = service.DeclareReader(service.MasterForm{
	Protocol: "utmaster", Port: "28902", Needs: []string{"game=GAME"}, Options: []string{"query=unreal2"},
}, read)

var errNoEpic = errors.New("the catalogue does not say how this game signs in at such a master: ut2 and ut2004 do")

// read reads the list of another master, as the newest version of a game.
func read(ctx context.Context, r *service.Reading) error {
	g, _ := r.Games.Lookup(r.Game)
	if len(g.Epic) == 0 {
		return errNoEpic
	}
	conn, err := r.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	b := Browser{Version: int32(g.Epic[0].Versions[1]), Word: g.Epic[0].Word, Max: r.Most}
	list, err := b.List(ctx, conn)
	for _, e := range list {
		r.Tell(netip.AddrPortFrom(e.Addr, e.QueryPort), cmp.Or(r.Query, "unreal2"), r.Game)
	}
	return err
}
