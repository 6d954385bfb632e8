package codmaster

import (
	"context"
	"io"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/q3master"
)

var (
	_ = service.DeclareReader(service.MasterForm{Protocol: "codmaster", Port: "20510", Needs: []string{"game=GAME", "protocol=NUMBER"}}, read)
	_ = service.DeclareReader(service.MasterForm{Protocol: "cod4x", Port: "20810", Needs: []string{"game=GAME"}}, readCod4X)
)

// read reads the list of a protocol of Call of Duty from another master. Its servers do not
// name their game.
func read(ctx context.Context, r *service.Reading) error {
	q := quake3.Request{Protocol: r.Number, Empty: true, Full: true}
	return r.List(ctx, q.AppendTo(nil), q3master.ListPackets(false, quake3.ParseCodList), "quake3", r.Game)
}

// readCod4X reads the list of CoD4X.
func readCod4X(ctx context.Context, r *service.Reading) error {
	answer, whole, err := exchange(ctx, r, quake3.AppendCod4XRequest(nil), quake3.Cod4XEntry*r.Most+1<<10)
	if err != nil && len(answer) == 0 {
		return err
	}
	list, err := quake3.ParseCod4XList(answer)
	if !whole || len(list) > r.Most {
		list, err = list[:min(len(list), r.Most)], netclient.ErrTooLong
	}
	return r.TellAll(list, "quake3", r.Game, err)
}

// exchange connects to a master, and reads what answers a request up to a number of bytes.
// whole reports that this was all.
func exchange(ctx context.Context, r *service.Reading, request []byte, most int) (answer []byte, whole bool, err error) {
	conn, err := r.Conn(ctx)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = conn.Close() }()
	err = netclient.During(ctx, conn, func() error {
		if _, err := conn.Write(request); err != nil {
			return err
		}
		answer, err = io.ReadAll(io.LimitReader(conn, int64(most)+1))
		return err
	})
	return answer[:min(len(answer), most)], len(answer) <= most, err
}
