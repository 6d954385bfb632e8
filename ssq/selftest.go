package ssq

import (
	"context"
	"crypto/rand"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
	wire "github.com/respawnd/respawnd/internal/ssq"
)

func findServer(ctx context.Context, t *service.Trial) error {
	if t.Server == nil {
		return service.ErrNotRegistered
	}
	conn, err := netclient.Dial(ctx, t.Address("ssq"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	var id [1]byte
	_, _ = rand.Read(id[:]) // never returns an error
	c := Client{Packets: conn, ID: id[0]}
	answer, err := c.Ask(netclient.Bound(ctx, service.StepTimeout), wire.Query{
		Verb: wire.Procedure, Name: "x-servers", Where: []wire.Comparison{{Column: "hostname", Op: wire.Equal, Value: t.Name}},
	})
	if err != nil {
		return err
	}
	if len(answer.Rows) != 1 || answer.Cell(0, "game") != t.Game {
		return service.ErrNotInList
	}
	return nil
}
