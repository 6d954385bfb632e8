package valvemaster

import (
	"context"
	"time"

	"github.com/respawnd/respawnd/internal/service"
)

var _ = service.DeclareReader(service.MasterForm{Protocol: "valve", Port: "27011", Options: []string{`filter=\gamedir\GAME`}}, read)

const pageRetry = 2 * time.Second

// read reads the pages of a list from another master.
func read(ctx context.Context, r *service.Reading) error {
	p, err := r.Packets(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	b := Browser{Packets: p, Retry: pageRetry, Max: r.Most}
	list, err := b.List(ctx, r.Filter, r.Most)
	return r.TellAll(list, "a2s", "", err)
}
