package serverbrowse

import (
	"cmp"
	"context"
	"errors"
	"net"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

var _ = service.DeclareReader(service.MasterForm{
	Protocol: "serverbrowse", Port: "28910", Needs: []string{"game=GAME"}, Options: []string{"as=GAME", "filter=TEXT", "query=gs3"},
}, read)

// readTime is the time for a list of another master.
const readTime = 12 * time.Second

// read reads a list of another master: with the names of servers, as some masters answer
// nothing to a request without fields, and without them if that gives nothing.
func read(ctx context.Context, r *service.Reading) error {
	as := cmp.Or(r.As, r.Game)
	g, _ := r.Games.Lookup(as)
	if g.Secret() == "" {
		return service.ErrNoSecret
	}
	q := NewRequest(r.Game, r.Filter, `\hostname`, FieldsForAll)
	q.From = as
	list, err := ask(ctx, r, &q, g.Secret())
	if len(list) == 0 && ctx.Err() == nil && !errors.Is(err, netclient.ErrTooLong) {
		q.Fields, q.Options = "", 0
		list, err = ask(ctx, r, &q, g.Secret())
	}
	for i := range list {
		r.Tell(list[i].Public, cmp.Or(r.Query, "gs3"), r.Game)
	}
	return err
}

// ask requests a list on a new connection.
func ask(ctx context.Context, r *service.Reading, q *ListRequest, secret string) ([]Entry, error) {
	conn, err := r.Conn(ctx)
	if err != nil {
		return nil, err
	}
	// An entry has less than 32 bytes before the name of its server.
	c := NewClient(&limitedConn{conn, (32+128)*r.Most + 1<<16}, secret)
	defer func() { _ = c.Close() }()
	c.SetMax(r.Most)
	reply, err := c.List(netclient.Bound(ctx, readTime), *q)
	return reply.Entries, err
}

// limitedConn is a connection of which a number of bytes is read.
type limitedConn struct {
	net.Conn
	left int
}

func (c *limitedConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, netclient.ErrTooLong
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
