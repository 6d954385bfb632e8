package gpsp

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netclient"
)

// Client is a game that asks account search, on one connection. It is used by one
// goroutine at a time.
type Client struct{ *netclient.Text }

// NewClient returns a client on a connection, which it takes ownership of.
func NewClient(conn net.Conn) Client { return Client{netclient.NewText(conn)} }

// Ask sends a request, given as keys and values in turn, and returns the answer.
func (c Client) Ask(ctx context.Context, fields ...string) (string, error) {
	if err := c.Send(fields...); err != nil {
		return "", err
	}
	return c.Next(ctx)
}

// Exists reports whether there is an account with an e-mail address, as the service
// answers.
func (c Client) Exists(ctx context.Context, email, game string) (bool, error) {
	m, err := c.Ask(ctx, "valid", "", "email", email, "partnerid", "0", "gamename", game)
	switch {
	case err != nil:
		return false, err
	case !strings.HasPrefix(m, `\vr\`):
		return false, netclient.Unexpected("a look-up", m)
	}
	return netclient.Field(m, "vr") == "1", nil
}

// Account is an account for Register, with a profile whose unique nick is its
// nick.
type Account struct{ Email, Nick, Password, Game string }

// Register makes an account and returns the ID of its profile.
func (c Client) Register(ctx context.Context, a Account) (profile string, err error) {
	m, err := c.Ask(ctx, "newuser", "", "nick", a.Nick, "email", a.Email, "passenc", gamespy.EncodePassword(a.Password),
		"productID", "1", "namespaceid", "1", "uniquenick", a.Nick, "partnerid", "0", "gamename", a.Game)
	if err != nil {
		return "", fmt.Errorf("no answer to a registration: %w", err)
	}
	if profile = netclient.Field(m, "pid"); !strings.HasPrefix(m, `\nur\0\`) || profile == "" {
		return "", netclient.Unexpected("a registration", m)
	}
	return profile, nil
}
