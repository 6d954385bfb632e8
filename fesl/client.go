package fesl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/netclient"
)

// Client is a game on a connection to the sign-in service. It is used by one goroutine at
// a time.
type Client struct {
	conn   net.Conn
	r      *bufio.Reader // of conn
	in     wire.Inbox
	parts  wire.Parts
	number uint32
}

// NewClient returns a client on a connection, which it takes ownership of.
func NewClient(conn net.Conn) *Client { return &Client{conn: conn, r: bufio.NewReader(conn)} }

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Error is an error that the service sent as the answer to a request.
type Error struct {
	Code int
	Text string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Text) }

// ErrGoodbye reports that the service ended the session.
var ErrGoodbye = errors.New("the service ended the session")

// Ask sends a request, keys and values in turn, and returns its answer. It answers the service's
// requests for signs of life meanwhile. An error that the service sends is an *Error.
func (c *Client) Ask(ctx context.Context, service, txn string, fields ...string) (answer wire.Text, err error) {
	c.number++
	t := wire.Text{{Key: "TXN", Value: txn}}
	for i := 0; i+1 < len(fields); i += 2 {
		t.Add(fields[i], fields[i+1])
	}
	if err := c.write(ctx, wire.Header{Service: service, Kind: wire.Request, Number: c.number}, t); err != nil {
		return nil, err
	}
	for {
		h, t, err := c.Next(ctx)
		switch {
		case err != nil:
			return nil, fmt.Errorf("no answer to %s %s: %w", service, txn, err)
		case h.Number != c.number:
			continue
		case h.Service != service || t.TXN() != txn:
			return nil, netclient.Unexpected(service+" "+txn, h.Service+" "+t.TXN())
		}
		if text, refused := t.Look("errorCode"); refused {
			n, _ := strconv.Atoi(text) // 0: not a number
			return t, &Error{n, t.Get("localizedMessage")}
		}
		return t, nil
	}
}

func (c *Client) write(ctx context.Context, h wire.Header, t wire.Text) error {
	b := wire.AppendMessage(nil, h, t.Append(nil, wire.ClientEnd), wire.MaxFragment)
	return netclient.During(ctx, c.conn, func() error {
		_, err := c.conn.Write(b)
		return err
	})
}

// Next returns the next message of the service, which it answers if that is a request for a
// sign of life. The error is ErrGoodbye if the service ends the session.
func (c *Client) Next(ctx context.Context) (h wire.Header, t wire.Text, err error) {
	f, err := c.whole(ctx)
	if err != nil {
		return h, nil, err
	}
	if t, err = wire.ParseText(f.Payload, wire.MaxLongLines); err != nil {
		return h, nil, err
	}
	if f.Number != 0 || f.Service != "fsys" {
		return f.Header, t, nil
	}
	switch alive := (wire.Header{Service: "fsys", Kind: wire.Reply}); t.TXN() {
	case "MemCheck":
		err = c.write(ctx, alive, wire.Text{{Key: "TXN", Value: "MemCheck"}, {Key: "result"}})
	case "Ping":
		err = c.write(ctx, alive, wire.Text{{Key: "TXN", Value: "Ping"}})
	case "Goodbye":
		err = fmt.Errorf("%w: %s", ErrGoodbye, t.Get("message"))
	}
	return f.Header, t, err
}

// whole returns the next frame, or long message as one frame.
func (c *Client) whole(ctx context.Context) (f wire.Frame, err error) {
	err = netclient.During(ctx, c.conn, func() error {
		for done := false; !done; {
			if f, err = c.in.Next(c.r, maxFrame); err != nil {
				return err
			}
			if !f.Kind.IsPart() {
				return nil
			}
			if f, done, err = c.parts.Add(f); err != nil {
				return err
			}
		}
		return nil
	})
	return f, err
}

// Hello begins the session of a game, by the name that it has for itself.
func (c *Client) Hello(ctx context.Context, game string) (wire.Text, error) {
	return c.Ask(ctx, "fsys", "Hello", "clientString", game, "sku", "15299", "locale", "en_US", "clientPlatform", "PC", "clientVersion", "1.0",
		"SDKVersion", "4.3.4.0.0", "protocolVersion", "2.0", "fragmentSize", strconv.Itoa(wire.MaxFragment), "clientType", "")
}

// Ticket lets a game sign in to the presence service, which wants to see that it knows the
// challenge. Key is the key of the session, for the list of games.
type Ticket struct{ Value, Challenge, Key string }

// Query says Hello to a service, and returns its answer.
func Query(ctx context.Context, address string) (wire.Text, error) {
	conn, err := netclient.DialTCP(ctx, address)
	if err != nil {
		return nil, err
	}
	c := NewClient(conn)
	defer func() { _ = c.Close() }()
	return c.Hello(ctx, clientOf(trialGame))
}

// Play signs in to an account as the persona with a name, and returns a ticket.
func (c *Client) Play(ctx context.Context, email, password, persona string) (Ticket, error) {
	if _, err := c.Ask(ctx, "acct", "NuLogin", "returnEncryptedInfo", "0", "nuid", email, "password", password, "macAddr", "$001122334455"); err != nil {
		return Ticket{}, err
	}
	entered, err := c.Ask(ctx, "acct", "NuLoginPersona", "name", persona)
	if err != nil {
		return Ticket{}, err
	}
	t, err := c.Ask(ctx, "acct", "GameSpyPreAuth")
	return Ticket{t.Get("ticket"), t.Get("challenge"), entered.Get("lkey")}, err
}

// Register makes an account with one persona. The client has said Hello.
func (c *Client) Register(ctx context.Context, email, password, persona string) error {
	if _, err := c.Ask(ctx, "acct", "NuAddAccount", "nuid", email, "password", password, "country", "US", "language", "en"); err != nil {
		return err
	}
	if _, err := c.Ask(ctx, "acct", "NuLogin", "returnEncryptedInfo", "0", "nuid", email, "password", password, "macAddr", "$001122334455"); err != nil {
		return err
	}
	_, err := c.Ask(ctx, "acct", "NuAddPersona", "name", persona, "namespace", "")
	return err
}
