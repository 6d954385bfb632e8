package mangler

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
)

// ErrAnswer reports an answer that is not to the question.
var ErrAnswer = errors.New("the answer is not one to the request")

// Client asks a service as games do: for the self-test, load and tests.
type Client struct {
	conn net.Conn
	id   [2]byte
}

// Dial returns a client of the service at an address.
func Dial(ctx context.Context, address string) (*Client, error) {
	conn, err := netclient.Connect(ctx, "udp4", address)
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, id: [2]byte{0x7F, 0}}, nil
}

// Close closes the socket.
func (c *Client) Close() error { return c.conn.Close() }

// Local returns the address of the socket.
func (c *Client) Local() netip.AddrPort { return c.conn.LocalAddr().(*net.UDPAddr).AddrPort() }

// Seen returns the address and the port of the client as the service sees them. It
// waits until a time for the answer.
func (c *Client) Seen(by time.Time) (netip.AddrPort, error) {
	if err := c.conn.SetDeadline(by); err != nil {
		return netip.AddrPort{}, err
	}
	c.id[1]++
	request := NewRequest(c.id, c.Local().Port())
	if _, err := c.conn.Write(request.AppendTo(nil)); err != nil {
		return netip.AddrPort{}, err
	}
	var buf [2 * PacketLen]byte
	n, err := c.conn.Read(buf[:])
	if err != nil {
		return netip.AddrPort{}, err
	}
	p, err := Parse(buf[:n])
	want := request
	want.Command, want.Seen = Answer, p.Seen
	if err != nil || p != want {
		return netip.AddrPort{}, ErrAnswer
	}
	return p.Seen, nil
}
