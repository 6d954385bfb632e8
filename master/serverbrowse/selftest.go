package serverbrowse

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/service"
)

// steps returns the steps of the self-test: a list with the test server, and a
// message to it.
func steps() []service.Step {
	needs := []string{"serverbrowse"}
	return []service.Step{
		{Name: "serverbrowse list", Server: true, Needs: needs, Order: service.OrderLists, Run: findServer},
		{Name: "serverbrowse message", Server: true, Needs: needs, Order: service.OrderMessages, Run: sendMessage},
	}
}

// dialTrial connects for the self-test.
func dialTrial(ctx context.Context, t *service.Trial) (*Client, error) {
	if t.Server == nil {
		return nil, service.ErrNotRegistered
	}
	conn, err := netclient.DialTCP(ctx, t.Address("serverbrowse"))
	if err != nil {
		return nil, err
	}
	return NewClient(conn, t.Secret), nil
}

// findServer looks for the test server in the list.
func findServer(ctx context.Context, t *service.Trial) error {
	c, err := dialTrial(ctx, t)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	reply, err := c.List(netclient.Bound(ctx, service.StepTimeout),
		NewRequest(t.Game, "hostname='"+t.Name+"'", `\hostname\numplayers`, FieldsForAll))
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(reply.Entries, func(e Entry) bool {
		return len(e.Values) > 0 && e.Values[0] == t.Name && e.Public.Port() == t.Server.Port()
	}) {
		return service.ErrNotInList
	}
	return nil
}

// sendMessage sends the test server a message as a player does.
func sendMessage(ctx context.Context, t *service.Trial) error {
	c, err := dialTrial(ctx, t)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(ctx, service.StepTimeout)
	defer cancel()
	reply, err := c.List(ctx, NewRequest(t.Game, "", `\hostname\numplayers`, NoServerList))
	if err != nil {
		return err
	}
	// The master sees the test server under the same address as this client.
	server := netip.AddrPortFrom(reply.Client, t.Server.Port())
	if err := c.Message(ctx, server, []byte("respawnd selftest")); err != nil {
		return err
	}
	if err := t.Server.AwaitMessage(ctx); err != nil {
		return fmt.Errorf("the message did not arrive: %w", err)
	}
	return nil
}
