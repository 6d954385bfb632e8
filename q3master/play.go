package q3master

import (
	"context"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/service"
)

// play requests the list.
func play(ctx context.Context, g games.Game, address string) (string, error) {
	return service.PlayUDP(ctx, address, func(p *netclient.Packets) (string, error) {
		servers, err := (&Browser{Packets: p}).List(ctx, RequestOf(g))
		return service.PlayedList(len(servers)), err
	})
}

// RequestOf returns the request of a game of Quake III's family: by protocol alone
// where the game is known by a tag.
func RequestOf(g games.Game) quake3.Request {
	r := quake3.Request{Ext: true, Game: []byte(g.Name), Empty: true, Full: true}
	if len(g.Quake3) == 0 {
		return r
	}
	q := &g.Quake3[0]
	if len(q.Protocols) > 0 {
		r.Protocol = q.Protocols[0]
	}
	if q.Tag != "" {
		r.Ext, r.Game = false, nil
		return r
	}
	r.Game = []byte(q.Name)
	return r
}
