package serverbrowse

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/netip"

	"github.com/respawnd/respawnd/internal/netclient"
)

// Client is a server browser on one connection: it requests a list, then
// details of single servers, sends them messages and follows changes. It is
// used by one goroutine at a time.
type Client struct {
	conn      net.Conn
	secret    string
	challenge [8]byte
	decoder   *Decoder // nil: nothing has been received
	max       int
}

// NewClient returns a client on a connection, which it takes ownership of.
// secret is that of the client's game.
func NewClient(conn net.Conn, secret string) *Client {
	c := &Client{conn: conn, secret: secret}
	_, _ = rand.Read(c.challenge[:]) // never returns an error
	return c
}

// SetChallenge sets the challenge of the client's first request, which is
// random otherwise.
func (c *Client) SetChallenge(challenge [8]byte) { c.challenge = challenge }

// SetMax bounds the entries of lists that are read from now on. Before the first list.
func (c *Client) SetMax(entries int) { c.max = entries }

// NewRequest returns a request for the servers of a game by that game. filter and
// fields may be empty.
func NewRequest(game, filter, fields string, o Option) ListRequest {
	return ListRequest{Protocol: 1, Encoding: 3, For: game, From: game, Filter: filter, Fields: fields, Options: o}
}

// RefusedError is the text of the master's refusal of a list.
type RefusedError string

func (e RefusedError) Error() string { return string(e) }

// List requests a list and reads it. The error is a RefusedError if the master
// refuses.
func (c *Client) List(ctx context.Context, r ListRequest) (reply Reply, err error) {
	r.Challenge = c.challenge
	b, err := r.AppendTo(nil)
	if err != nil {
		return reply, err
	}
	if err := c.Send(ctx, b); err != nil {
		return reply, err
	}
	reply, err = c.Reply(ctx, r.Options)
	if err == nil && reply.Error != "" {
		err = RefusedError(reply.Error)
	}
	return reply, err
}

// Send sends a request as it is.
func (c *Client) Send(ctx context.Context, b []byte) error {
	return netclient.During(ctx, c.conn, func() error {
		_, err := c.conn.Write(b)
		return err
	})
}

// Reply reads the answer to a list request with these options.
func (c *Client) Reply(ctx context.Context, o Option) (r Reply, err error) {
	err = netclient.During(ctx, c.conn, func() error {
		if c.decoder == nil {
			if c.decoder, err = NewDecoder(c.conn, c.secret, c.challenge); err != nil {
				return err
			}
			c.decoder.most = cmp.Or(min(c.max, maxDecoded), maxDecoded)
		}
		r, err = c.decoder.Reply(o)
		return err
	})
	return r, err
}

// Info requests all data of a server. The answer is a push.
func (c *Client) Info(ctx context.Context, server netip.AddrPort) error {
	return c.Send(ctx, AppendInfoRequest(nil, server))
}

// Message sends a message to a listed server. There is no answer.
func (c *Client) Message(ctx context.Context, server netip.AddrPort, data []byte) error {
	b, err := AppendMessage(nil, server, data)
	if err != nil {
		return err
	}
	return c.Send(ctx, b)
}

// Next returns the next push that is not a keepalive. A list must have been read before.
// Keepalives are answered.
func (c *Client) Next(ctx context.Context) (p Push, err error) {
	err = netclient.During(ctx, c.conn, func() error {
		for {
			if p, err = c.decoder.Push(); err != nil || p.Kind != PushKeepalive {
				return err
			}
			if _, err = c.conn.Write([]byte{0, minMessage, byte(KindKeepalive)}); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return Push{}, fmt.Errorf("updates: %w", err)
	}
	return p, nil
}

// NextOf returns the next push of a kind, skipping others.
func (c *Client) NextOf(ctx context.Context, kind PushKind) (Push, error) {
	for {
		if p, err := c.Next(ctx); err != nil || p.Kind == kind {
			return p, err
		}
	}
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }
