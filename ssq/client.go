package ssq

import (
	"context"
	"errors"
	"net/netip"

	"github.com/respawnd/respawnd/internal/netclient"
	wire "github.com/respawnd/respawnd/internal/ssq"
)

// Client asks questions.
type Client struct {
	*netclient.Packets

	ID    byte   // of the last question; the next one has another
	Token string // sent with questions, if the server gave one earlier

	// Received is the number of packets of the last answer.
	Received int
}

// idStep is the difference between the IDs of consecutive questions.
const idStep = 4

// Ask asks a question and waits for the whole answer. The error may be
// ssq.ErrRefused of package internal/ssq. Packets of other answers are passed over.
func (c *Client) Ask(ctx context.Context, q wire.Query) (wire.Table, error) {
	c.ID += idStep
	q.Token = c.Token
	e := wire.NewExchange(q, c.ID)
	for step := wire.Ask; step != wire.Done; {
		if err := c.Send(e.Question()); err != nil {
			return wire.Table{}, err
		}
		c.Received = 0
		err := c.Await(ctx, func(p []byte, _ netip.AddrPort) (bool, error) {
			c.Received++
			var err error
			if step, err = e.Take(p); errors.Is(err, wire.ErrForeign) {
				err = nil
			}
			return step != wire.Wait, err
		})
		if err != nil {
			return wire.Table{}, err
		}
	}
	return e.Answer(), nil
}
