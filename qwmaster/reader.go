package qwmaster

import (
	"cmp"
	"context"

	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/q2master"
)

var (
	_ = service.DeclareReader(service.MasterForm{Protocol: "qw", Port: "27000", Options: []string{"game=GAME"}}, reader(quake2.World, ""))
	_ = service.DeclareReader(service.MasterForm{Protocol: "hw", Port: "26900", Options: []string{"game=GAME"}}, reader(quake2.Hexen, hexenGame))
)

// reader returns what reads the list of another master of a form, whose servers are of a game
// unless the entry names another.
func reader(f quake2.Form, game string) service.Reader {
	return func(ctx context.Context, r *service.Reading) error {
		return r.List(ctx, f.AppendQuery(nil), q2master.ListPackets(f.ParseList), "quakeworld", cmp.Or(r.Game, game))
	}
}
