package legacylist

import (
	"cmp"
	"context"
	"errors"

	"github.com/respawnd/respawnd/internal/service"
)

var (
	_ = service.DeclareReader(service.MasterForm{
		Protocol: "gamespy", Port: "28900", Needs: []string{"game=GAME"}, Options: []string{"enctype=0", "list=cmp", "filter=TEXT", "query=gs1"},
	}, read)
	_ = service.DeclareReader(service.MasterForm{Protocol: "333sync", Port: "28900", Options: []string{"game=GAME", "query=gs1"}}, readSync)
)

// read reads the list of another master.
func read(ctx context.Context, r *service.Reading) error {
	g, _ := r.Games.Lookup(r.Game)
	if g.Secret() == "" && r.Enctype > 0 {
		return service.ErrNoSecret
	}
	conn, err := r.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	q := Request{Engine: r.Game, Secret: g.Secret(), Enctype: r.Enctype, Mode: Plain, Game: r.Game, Filter: r.Filter, Max: r.Most}
	if r.CMP {
		q.Mode = Compact
	}
	list, err := q.Ask(ctx, conn)
	return r.TellAll(list, cmp.Or(r.Query, "gs1"), r.Game, err)
}

// readSync reads the servers that a master of 333networks shares with other masters. Such a
// master recognizes itself by the identity.
func readSync(ctx context.Context, r *service.Reading) error {
	conn, err := r.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	shared, err := Sync{Games: r.Game, ID: identity(r.Self), Max: r.Most}.Ask(ctx, conn)
	for _, g := range shared {
		err = errors.Join(r.TellAll(g.Servers, cmp.Or(r.Query, sharedQuery), g.Game, nil), err)
	}
	return err
}
