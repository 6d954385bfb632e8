package qwmaster

import (
	"context"

	"github.com/respawnd/respawnd/internal/quake2"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/q2master"
)

var _ = service.DeclareReader(service.MasterForm{Protocol: "qw", Port: "27000", Options: []string{"game=GAME"}}, read)

// read reads the list of another master of QuakeWorld.
func read(ctx context.Context, r *service.Reading) error {
	return r.List(ctx, []byte(quake2.AskWorld), q2master.ListPackets(quake2.ParseWorldList), "quakeworld", r.Game)
}
