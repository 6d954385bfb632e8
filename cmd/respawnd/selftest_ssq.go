package main

import (
	"context"
	"crypto/rand"
	"net"
	"time"

	wire "github.com/respawnd/respawnd/internal/ssq"
)

// maxQueryPacket is larger than the packets of any Standard Server Query.
const maxQueryPacket = 4096

// standardQuery looks for the test server with a Standard Server Query.
func (t *selfTest) standardQuery(ctx context.Context) error {
	if t.host == nil || t.secret == "" {
		return errNotRegistered
	}
	answer, err := askStandard(ctx, dialable(t.cfg.SSQ.Listen), wire.Query{
		Verb: wire.Procedure, Name: "x-servers", Where: []wire.Comparison{{Column: "hostname", Op: wire.Equal, Value: t.name}},
	})
	if err != nil {
		return err
	}
	if len(answer.Rows) != 1 || answer.Cell(0, "game") != testGame {
		return errNotInList
	}
	return nil
}

// askStandard asks one question and waits for the whole answer.
func askStandard(ctx context.Context, address string, q wire.Query) (wire.Table, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp4", address)
	if err != nil {
		return wire.Table{}, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(stepTimeout)); err != nil {
		return wire.Table{}, err
	}
	var id [1]byte
	_, _ = rand.Read(id[:]) // never returns an error
	e := wire.NewExchange(q, id[0])
	buf := make([]byte, maxQueryPacket)
	for step := wire.Ask; step != wire.Done; {
		if step == wire.Ask {
			if _, err := conn.Write(e.Question()); err != nil {
				return wire.Table{}, err
			}
		}
		n, err := conn.Read(buf)
		if err != nil {
			return wire.Table{}, err
		}
		// Packets that are none of the answer are passed over.
		if step, err = e.Take(buf[:n]); step == wire.Done && err != nil {
			return wire.Table{}, err
		}
	}
	return e.Answer(), nil
}
