package q3master

import (
	"context"

	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/service"
)

var _ = service.DeclareReader(service.MasterForm{
	Protocol: "q3", Port: "27950", Needs: []string{"protocol=NUMBER"}, Options: []string{"game=NAME"},
}, read)

// read reads the list of a game and protocol from another master.
func read(ctx context.Context, r *service.Reading) error {
	q := quake3.Request{Game: []byte(r.Game), Protocol: r.Number, Empty: true, Full: true}
	return r.List(ctx, q.AppendTo(nil), ListPackets(false, nil), "quake3", "")
}
